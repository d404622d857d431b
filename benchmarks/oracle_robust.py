"""What must not matter to the small oracle: order, city, and what runs its weights.

    python benchmarks/oracle_robust.py
    python benchmarks/oracle_robust.py --model runs/oracle/model-0

Shuffled stations and cars (`oracle_order`), shuffled lines of a question (what the network alone sees), cities it never
saw (`toy`, and 40 stations of `oracle_city`), and 1,000 prompts answered by onnxruntime and by torch. Writes artifacts/oracle_robust.json.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from oracle_city import write_city
from oracle_order import FIRST_EVENING, order_changes

from ev_grid_oracle.city import load_city
from ev_grid_oracle.city.model import CityPack
from ev_grid_oracle.city.packed import packed
from ev_grid_oracle.episode.batch import Batch
from ev_grid_oracle.episode.options import resolve
from ev_grid_oracle.evaluation.players import policy_seed
from ev_grid_oracle.evaluation.provenance import provenance
from ev_grid_oracle.evaluation.seeds import episode_seed
from ev_grid_oracle.evaluation.writing import to_json, write_atomic
from ev_grid_oracle.policies.base import F64, I32, PolicyContext
from ev_grid_oracle.policies.llm import small_words as w
from ev_grid_oracle.policies.llm.small import SmallOracle
from ev_grid_oracle.policies.llm.small_look import CarQuestion
from ev_grid_oracle.policies.llm.small_net import FOLDER, Net
from ev_grid_oracle.schema import rows as r

SEED = 1
PROMPTS = 1000


def oracle_block(city: CityPack, policy: SmallOracle, worlds: list[Any]) -> tuple[Any, Any, int]:
    """Accounts, terms and answers of a block of evenings under the model."""
    pack = packed(city)
    batch = Batch(city, len(worlds), max_answers=pack.layout.dims["MP"])
    batch.reset(worlds)
    policy.begin_batch([PolicyContext(pack, policy_seed(o.seed)) for o in worlds])
    rows, answers = np.zeros((batch.n, pack.layout.sizes["o"])), 0
    for _ in range(worlds[0].ticks):
        for e in range(batch.n):
            batch.world.observe(e, rows[e])
        batch.answers[:] = 0
        batch.counts[:] = policy.answer_batch(list(rows), list(batch.answers), range(batch.n))
        answers += int(batch.counts.sum())
        batch.step()
    return batch.world.view("EP"), batch.world.view("TSUM"), answers


def states(city: CityPack, policy: SmallOracle, every: int, times: int) -> Iterator[tuple[int, F64]]:
    """Observations of an evening of each scenario under greedy_counting, every `every` ticks."""
    pack = packed(city)
    batch = Batch(city, len(city.scenarios), max_answers=pack.layout.dims["MP"])
    batch.reset(
        [
            resolve(city, seed=episode_seed(SEED, FIRST_EVENING + k), scenario=s.name).world
            for k, s in enumerate(city.scenarios)
        ]
    )
    policy.begin_batch([PolicyContext(pack, 0)] * batch.n)
    for _ in range(times):
        batch.play("greedy_counting", every)
        yield from ((e, batch.world.observe(e)) for e in range(batch.n) if not batch.done[e])


def car_questions(policy: SmallOracle, e: int, o: F64) -> Iterator[CarQuestion]:
    """Every pending car's question, as if it were the first."""
    none = np.zeros((0, r.N_DCOL), np.int32)
    for k in range(len(policy.eyes(e).pending(o))):
        question = policy.eyes(e).car(o, k, none)
        if len(question.stations):
            yield question


def shuffled_lines(city: CityPack, policy: SmallOracle) -> dict[str, float]:
    """Share of the network's own car decisions that change when a question's lines are shuffled."""
    rng = np.random.default_rng(np.random.SeedSequence(SEED, spawn_key=(9,)))
    head, width = w.CAR.head_words, w.CAR.line_words
    asked = changed = 0
    for e, o in states(city, policy, 8, 6):
        for question in car_questions(policy, e, o):
            n = len(question.stations)
            if n < 2:
                continue
            order = rng.permutation(n)
            other = question.ids.copy()
            other[head:-1] = question.ids[head:-1].reshape(n, width)[order].reshape(-1)
            tokens = [*range(w.POINTER, w.POINTER + n), *([w.DEFER_ID] if question.may_defer else [])]
            first, second = (int(policy.net.last([ids])[0, tokens].argmax()) for ids in (question.ids, other))
            asked += 1
            changed += first != (n if second == n else int(order[second]))
    return {"decisions": asked, "changed_share": changed / asked}


def unseen(city: CityPack, policy: SmallOracle, evenings: int) -> dict[str, float]:
    """Answers, refused and invalid ones, of `evenings` evenings a scenario in a city."""
    worlds = [
        resolve(city, seed=episode_seed(SEED, k), scenario=s.name).world
        for k in range(evenings)
        for s in city.scenarios
    ]
    accounts, _, answers = oracle_block(city, policy, worlds)
    return {
        "stations": len(city.stations.ids), "evenings": len(worlds), "answers": answers,
        "refused": float(accounts[:, r.A_REFUSED].sum()), "invalid": float(accounts[:, r.A_INVALID].sum()),
    }  # fmt: skip


def prompts(city: CityPack, policy: SmallOracle, count: int) -> list[tuple[I32, list[int]]]:
    """`count` different questions, cars' and feeders', with their legal answers."""
    found: dict[bytes, tuple[I32, list[int]]] = {}
    for e, o in states(city, policy, 1, 48):
        eyes = policy.eyes(e)
        for question in car_questions(policy, e, o):
            n = len(question.stations)
            defer = [w.DEFER_ID] if question.may_defer else []
            found[question.ids.tobytes()] = (question.ids, [*range(w.POINTER, w.POINTER + n), *defer])
        for feeder in eyes.near_feeders(o):
            relief = eyes.relief(o, int(feeder))
            n = len(relief.stations)
            if n:
                found[relief.ids.tobytes()] = (relief.ids, [*range(w.POINTER, w.POINTER + n), w.NONE_ID])
        if len(found) >= count:
            break
    return list(found.values())[:count]


def equal_copies(city: CityPack, policy: SmallOracle) -> dict[str, float] | None:
    """Answers of the ONNX copy and of the torch model on `PROMPTS` prompts; None without torch."""
    try:
        from transformers import Qwen2ForCausalLM

        from ev_grid_oracle.training.small_export import torch_logits
    except ImportError:
        return None
    asked = prompts(city, policy, PROMPTS)
    model = Qwen2ForCausalLM.from_pretrained(str(policy.net.folder)).eval()
    theirs = torch_logits(model, [ids for ids, _ in asked])
    ours = np.concatenate([policy.net.last([ids]) for ids, _ in asked])
    same = sum(
        int(a[legal].argmax() == b[legal].argmax())
        for a, b, (_, legal) in zip(ours, theirs, asked, strict=True)
    )
    return {
        "prompts": len(asked),
        "equal_answers": same,
        "largest_logit_difference": float(np.abs(ours - theirs).max()),
    }


def robustness(city: CityPack, policy: SmallOracle) -> dict[str, Any]:
    """All of it."""
    toy = load_city("toy")
    with tempfile.TemporaryDirectory() as folder:
        forty = load_city(write_city(Path(folder) / "forty"))
    return {
        "stations_and_cars_shuffled": order_changes(city, policy),
        "lines_shuffled_network_alone": shuffled_lines(city, policy),
        "toy": unseen(toy, policy, 8),
        "forty": unseen(forty, policy, 8),
        "onnx_and_torch": equal_copies(city, policy),
    }


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model", type=Path, default=FOLDER)
    parser.add_argument("--out", type=Path, default=Path("artifacts/oracle_robust.json"))
    args = parser.parse_args()
    city = load_city("bengaluru")
    policy = SmallOracle(net=Net(args.model))
    found = robustness(city, policy)
    report = {
        "schema": "evgrid.oracle_robust.1",
        "model_hash": policy.model_hash,
        **found,
        "provenance": provenance(city),
    }
    write_atomic(args.out, to_json(report))
    print(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
