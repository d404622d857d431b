"""Thousands of random episodes under random answers, watched for anything that must not happen.

    python benchmarks/invariants.py [--episodes 5000] [--city all] [--seed 1] [--long 3]

Lengths are 1 to 300 ticks, mostly short; `--long` episodes per city run for 2016 ticks (seven days). Every
tick of every episode is checked (see tests/sim/invariants.py). Prints progress; exits 1 at the first
violation, naming city, episode, tick and what was violated, so that it can be played again with `--only`.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "sim"))

from invariants import Watch
from wild import STYLES, answers, options

from ev_grid_oracle.city import list_cities, load_city
from ev_grid_oracle.episode.batch import Batch
from ev_grid_oracle.schema.axes import MAX_TICKS

REPORT_S = 15.0


def play(batch: Batch, seed: list[int], ticks: int | None) -> tuple[int, str | None]:
    """One watched episode: ticks played, and what was violated (None: nothing)."""
    rng = np.random.default_rng(seed)
    length = ticks or int(np.ceil(300.0 * rng.random() ** 3)) or 1
    style = STYLES[int(rng.integers(len(STYLES)))]
    chosen = options(batch.world.city.pack, rng, length)
    batch.reset([chosen])
    watch = Watch(batch.world, 0)
    for tick in range(length):
        batch.invalid[0] = int(rng.random() < 0.05)
        batch.counts[0] = 0 if batch.invalid[0] else answers(batch.world, 0, rng, style, batch.answers[0])
        watch.before()
        try:
            watch.after(float(batch.step()[0]))
        except AssertionError as e:
            return (
                tick + 1,
                f"tick {tick}, {chosen.scenario.name}, style {style}, world seed {chosen.seed}: {e}",
            )
        if batch.done[0]:
            return tick + 1, None
    return length, "the episode did not end"


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--episodes", type=int, default=5000, help="per run, spread over the cities")
    parser.add_argument("--city", default="all")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--long", type=int, default=3, help="episodes of seven days per city")
    parser.add_argument("--only", type=int, help="play this episode alone")
    parser.add_argument("--keep-going", action="store_true", help="count violations instead of stopping")
    a = parser.parse_args()
    names = list_cities() if a.city == "all" else (a.city,)
    batches = {name: Batch(load_city(name), 1) for name in names}
    jobs = [(k, names[k % len(names)], None) for k in range(a.episodes)]
    jobs += [(a.episodes + k, names[k % len(names)], MAX_TICKS) for k in range(a.long * len(names))]
    if a.only is not None:
        jobs = [j for j in jobs if j[0] == a.only]
    start = last = time.perf_counter()
    played, bad = 0, 0
    for done, (k, name, ticks) in enumerate(jobs, 1):
        n, fault = play(batches[name], [a.seed, k], ticks)
        played += n
        if fault:
            bad += 1
            print(f"episode {k} of {name}: {fault}", flush=True)
            if not a.keep_going:
                return 1
        if time.perf_counter() - last > REPORT_S:
            last = time.perf_counter()
            print(
                f"{done}/{len(jobs)} episodes, {played} ticks, {last - start:.0f} s, {bad} violations",
                flush=True,
            )
    print(f"{len(jobs)} episodes, {played} ticks on {', '.join(names)}: {bad} violations")
    return int(bad > 0)


if __name__ == "__main__":
    raise SystemExit(main())
