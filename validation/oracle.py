"""What a good and a bad dispatcher score on the plan of `runtime.json`: the room between floor and oracle.

    python validation/oracle.py [--seeds 5]

Prints one JSON object: mean total reward of `greedy_counting` (the strong honest heuristic, which any agent can
play from the same observation) and of `always_defer` (the floor), and their gap.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np

from ev_grid_oracle import make_policy, make_session
from ev_grid_oracle.city.packed import packed
from ev_grid_oracle.policies.base import PolicyContext
from ev_grid_oracle.schema import rows as r


def total_reward(policy_name: str, seed: int, scenario: str) -> float:
    """Sum of rewards of one episode of 48 ticks under a policy of the registry."""
    session = make_session()
    city = packed(session.city)
    observation = session.reset(seed=seed, scenario=scenario)
    policy = make_policy(policy_name)
    policy.begin(PolicyContext(city, seed))
    out = np.zeros((city.layout.dims["MP"], r.N_DCOL), np.int32)
    total = 0.0
    while not observation.done:
        n = policy.answer(observation.row, out)
        observation = session.step(out[:n].copy())
        total += float(observation.reward or 0.0)
    return total


def main() -> None:
    """Play and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=5)
    seeds = range(parser.parse_args().seeds)
    plan = json.loads((Path(__file__).parent / "runtime.json").read_text(encoding="utf-8"))
    scenario = plan["reset"]["options"]["scenario"]
    means = {
        name: float(np.mean([total_reward(name, seed, scenario) for seed in seeds]))
        for name in ("greedy_counting", "always_defer")
    }
    gap = means["greedy_counting"] - means["always_defer"]
    print(json.dumps({"scenario": scenario, "seeds": len(seeds), **means, "gap": gap}))


if __name__ == "__main__":
    main()
