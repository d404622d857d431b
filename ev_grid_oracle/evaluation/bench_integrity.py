"""Reward integrity: does any policy gain reward while cars fare worse?

    python benchmarks/integrity.py --evaluations 2000 --out artifacts/integrity.json

Plays, on the same evenings of every scenario: the baseline, greedy_counting, the planner, the policies that do
nothing useful, and policies from a search: greedy_counting with its constants drawn widely (silly values too) and
habits laid over it (cars left alone, put off, charged slowly, load_shifts at any time). Half of the search is
random, half climbs the reward itself (CMA-ES where the `cma` package is there, else a Gaussian hill climb), with
the penalties for flags on and off in turn. A **hole** is a policy with a higher reward and a worse composite than
the best honest policy. Also checked: rank correlation of reward with -composite (Spearman, at least 0.95), and that
no useless policy is above the baseline in any scenario.
"""

from __future__ import annotations

import argparse
import time
import warnings
from pathlib import Path

import numpy as np
import numpy.typing as npt

from ev_grid_oracle.city import load_city
from ev_grid_oracle.city.model import CityPack
from ev_grid_oracle.episode.batch import Batch
from ev_grid_oracle.episode.kpis import kpi_table
from ev_grid_oracle.episode.options import resolve
from ev_grid_oracle.evaluation.players import policy_seed
from ev_grid_oracle.evaluation.provenance import provenance
from ev_grid_oracle.evaluation.seeds import episode_seed
from ev_grid_oracle.evaluation.writing import to_json, write_atomic
from ev_grid_oracle.policies.base import Policy, PolicyContext
from ev_grid_oracle.policies.local.habits import habits
from ev_grid_oracle.policies.registry import make_policy
from ev_grid_oracle.reward.terms import ANTI_HACK
from ev_grid_oracle.schema import rows as r
from ev_grid_oracle.sim.dispatch.greedy import decide
from ev_grid_oracle.sim.world import World

F64 = npt.NDArray[np.float64]
SEED = 3
"""Root of the evenings played here; neither an evaluation's nor the training's."""
HONEST = ("greedy_counting", "planner")
USELESS = ("always_defer", "always_load_shift", "same_station", "random", "nearest")
RANK_BAR = 0.95

# constant -> range of the search, silly values included
WIDE = {
    "wait_weight": (-1.0, 6.0), "scarcity_weight": (-2.0, 5.0), "scarcity_power": (1.0, 8.0),
    "feeder_weight_min": (-0.5, 4.0), "feeder_from_frac": (0.5, 1.2), "lost_min": (-100.0, 400.0),
    "dr_from_frac": (0.0, 1.2), "dr_heat_frac": (0.0, 1.1), "flex_busy_frac": (-0.1, 1.1), "flex_feeder_frac": (0.3, 1.3),
    "flex_slack_min": (-60.0, 240.0), "flex_defer_min": (0.0, 120.0), "dr_minutes": (0.0, 60.0),
    "site_share_weight": (0.0, 3.0), "price_weight_min": (-2.0, 3.0), "feeder_ramp_frac": (0.01, 0.5),
    "dr_ahead_ticks": (1.0, 12.0), "dr_most": (0.0, 8.0), "dr_queue_share": (-1.0, 3.0),
}  # fmt: skip
HABITS = {"drop": (0.0, 1.0), "defer": (0.0, 1.0), "defer_min": (5.0, 120.0), "lower_rate": (0.0, 1.0), "shift": (0.0, 1.0),
          "shift_min": (0.0, 60.0), "shift_rate": (0.0, 2.99), "shift_feeder": (0.0, 1.0)}  # fmt: skip
NAMES = (*WIDE, *HABITS)
LOW = np.array([v[0] for v in (*WIDE.values(), *HABITS.values())])
HIGH = np.array([v[1] for v in (*WIDE.values(), *HABITS.values())])


class Arena:
    """Evenings of every scenario on which policies are compared."""

    def __init__(self, city: CityPack, evenings: int, scenarios: tuple[str, ...] = ()) -> None:
        self.city = city
        self.scenarios = scenarios or tuple(s.name for s in city.scenarios)
        self._options = [
            resolve(city, seed=episode_seed(SEED, k), scenario=s).world for s in self.scenarios for k in range(evenings)
        ]
        self._batch = Batch(city, len(self._options), max_answers=city.constants.max_pending)
        self._batch.reset(self._options)
        w = self._batch.world
        self._start = (w.f.copy(), w.i.copy(), w.u.copy())
        self._cf = w.cf.copy()
        self._row = np.zeros(w.layout.sizes["o"])

    def _again(self) -> World:
        w = self._batch.world
        w.f[:], w.i[:], w.u[:] = self._start
        return w

    def _result(self) -> dict[str, F64]:
        """Reward with and without flags and composite by scenario, (scenarios,) each."""
        w = self._batch.world
        terms = np.array(w.view("TSUM"), np.float64)
        table = kpi_table(np.array(w.view("EP"), np.float64), self.city)
        by = (len(self.scenarios), -1)
        return {
            "reward": terms.sum(1).reshape(by).mean(1),
            "reward_no_flags": (terms.sum(1) - terms[:, ANTI_HACK]).reshape(by).mean(1),
            "composite": table["composite_car_minutes"].reshape(by).mean(1),
        }

    def named(self, name: str) -> dict[str, F64]:
        """A policy of the registry."""
        world = self._again()
        policies: list[Policy] = []
        for option in self._options:
            policies.append(make_policy(name))
            policies[-1].begin(PolicyContext(world.city, policy_seed(option.seed)))
        b = self._batch
        for _ in range(self._options[0].ticks):
            b.answers[:] = 0
            for e, policy in enumerate(policies):
                b.counts[e] = policy.answer(world.observe(e, self._row), b.answers[e])
            b.step()
        return self._result()

    def point(self, x: F64) -> dict[str, F64]:
        """The parametrised rule at `x`, values in the order of `NAMES`."""
        world, b = self._again(), self._batch
        cf = self._cf.copy()
        constants = world.layout.view(cf, "K_GREEDY")
        for name, value in zip(WIDE, x, strict=False):
            constants[r.GREEDY_NAMES.index(name)] = value
        h = np.asarray(x[len(WIDE) :])
        s, bank = world.scratch, world.bank
        key = np.uint64(SEED)
        for tick in range(self._options[0].ticks):
            b.answers[:] = 0
            for e in range(b.n):
                o = world.observe(e, self._row)
                n = decide(
                    o, cf, world.ci, world.at, bank.minutes, bank.km, b.answers[e], s.codes, s.travel, s.extra, s.added,
                    s.times, s.out,
                )  # fmt: skip
                n = habits(o, world.ci, world.at, b.answers[e], n, key + np.uint64(4096 * tick + e), h)
                b.answers[e, n:] = 0
                b.counts[e] = n
            b.step()
        return self._result()


def tuned() -> F64:
    """The frozen constants with no habit at all."""
    constants = dict(zip(r.GREEDY_NAMES, r.GREEDY_TUNED, strict=True))
    return np.array([constants[n] for n in WIDE] + [0.0, 0.0, 30.0, 0.0, 0.0, 10.0, 0.0, 0.0])


def random_point(rng: np.random.Generator) -> F64:
    """Tuned values, each with even chance drawn anew over its whole range; habits mostly weak."""
    x = tuned()
    wild = LOW + (HIGH - LOW) * rng.random(len(x))
    x = np.where(rng.random(len(x)) < rng.random(), wild, x)
    for k, name in enumerate(HABITS):
        if name in ("drop", "defer", "lower_rate", "shift"):
            x[len(WIDE) + k] *= rng.random() ** 2
    return x


def climb(arena: Arena, rng: np.random.Generator, budget: int, key: str) -> list[tuple[F64, dict[str, F64]]]:
    """`budget` evaluations that climb the reward `key` from the tuned point."""
    span = HIGH - LOW
    out: list[tuple[F64, dict[str, F64]]] = []
    try:
        with warnings.catch_warnings():  # it warns where matplotlib, which this needs not, is absent
            warnings.simplefilter("ignore")
            import cma
    except ImportError:
        best, value, width = tuned(), -np.inf, 0.15
        for _ in range(budget):
            x = np.clip(best + rng.normal(size=len(best)) * width * span * (rng.random(len(best)) < 0.3), LOW, HIGH)
            found = arena.point(x)
            out.append((x, found))
            if found[key].mean() > value:
                best, value = x, float(found[key].mean())
            else:
                width = max(0.995 * width, 0.02)
        return out
    search = cma.CMAEvolutionStrategy(
        (tuned() - LOW) / span, 0.2, {"bounds": [0, 1], "seed": int(rng.integers(1, 2**31)), "verbose": -9}
    )
    while len(out) < budget:
        asked = search.ask()
        values = []
        for z in asked:
            x = LOW + span * np.asarray(z)
            found = arena.point(x)
            out.append((x, found))
            values.append(-float(found[key].mean()))
        search.tell(asked, values)
    return out[:budget]


def spearman(a: F64, b: F64) -> float:
    """Rank correlation (mean ranks for ties)."""
    from scipy.stats import rankdata

    x, y = rankdata(a), rankdata(b)
    x, y = x - x.mean(), y - y.mean()
    return float((x * y).sum() / np.sqrt((x * x).sum() * (y * y).sum()))


def check(city: CityPack, evaluations: int, evenings: int, seed: int = 0, scenarios: tuple[str, ...] = (),
          planner: bool = True, seconds: float = 1e9) -> dict[str, object]:  # fmt: skip
    """The whole check; `evaluations` of the search, split between random and climbing ones."""
    arena = Arena(city, evenings, scenarios)
    rng = np.random.default_rng(np.random.SeedSequence(SEED, spawn_key=(seed,)))
    honest = HONEST if planner else HONEST[:1]
    named = {n: arena.named(n) for n in ("baseline", *honest, *USELESS)}
    begun = time.perf_counter()
    points: list[tuple[F64, dict[str, F64]]] = []
    while len(points) < evaluations // 2 and time.perf_counter() - begun < 0.5 * seconds:
        x = random_point(rng)
        points.append((x, arena.point(x)))
    rate = len(points) / max(time.perf_counter() - begun, 1e-9)
    left = min(evaluations - len(points), int(0.5 * seconds * rate) if seconds < 1e8 else evaluations)
    for key, share in (("reward", left // 2), ("reward_no_flags", left - left // 2)):
        points += climb(arena, rng, share, key)
    report: dict[str, object] = {"evaluations": len(points), "evenings": evenings, "scenarios": list(arena.scenarios)}
    holes: list[dict[str, object]] = []
    everyone = [*named.values(), *(found for _, found in points)]
    for key in ("reward", "reward_no_flags"):
        best = max(honest, key=lambda n: named[n][key].mean())
        bar, composite = float(named[best][key].mean()), float(named[best]["composite"].mean())
        for x, found in points:
            if found[key].mean() > bar and found["composite"].mean() > composite:
                holes.append({
                    "judged_by": key, "reward": float(found[key].mean()), "composite": float(found["composite"].mean()),
                    "honest": best, "honest_reward": bar, "honest_composite": composite,
                    "policy": dict(zip(NAMES, x.tolist(), strict=True)),
                })  # fmt: skip
        above = [n for n in USELESS if (named[n][key] > named["baseline"][key]).any()]
        report[key] = {
            "best_honest": best,
            "spearman": spearman(
                np.array([f[key].mean() for f in everyone]), -np.array([f["composite"].mean() for f in everyone])
            ),
            "useless_above_baseline": above,
            "best_searched": max((float(f[key].mean()) for _, f in points), default=None),
        }
    report["holes"] = holes
    report["named"] = {n: {k: float(v.mean()) for k, v in found.items()} for n, found in named.items()}
    report["passed"] = not holes and all(
        report[k]["spearman"] >= RANK_BAR and not report[k]["useless_above_baseline"]  # type: ignore[index]
        for k in ("reward", "reward_no_flags")
    )
    return report


def main(argv: list[str] | None = None) -> int:
    """Command line; 1 where the check fails."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--city", default="bengaluru")
    parser.add_argument("--evaluations", type=int, default=2000)
    parser.add_argument("--evenings", type=int, default=3, help="evenings a scenario")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=1e9, help="spend at most about this long on the search")
    parser.add_argument("--out", type=Path, default=Path("artifacts/integrity.json"))
    args = parser.parse_args(argv)
    city = load_city(args.city)
    report = {
        "schema": "evgrid.integrity.1", "provenance": provenance(city),
        **check(city, args.evaluations, args.evenings, args.seed, seconds=args.seconds),
    }  # fmt: skip
    write_atomic(args.out, to_json(report))
    print(to_json({k: v for k, v in report.items() if k != "provenance"}), end="")
    return 0 if report["passed"] else 1


if __name__ == "__main__":
    raise SystemExit(main())
