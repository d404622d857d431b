"""Thousands of random episodes under random answers, watched for anything that must not happen.

    python benchmarks/invariants.py [--episodes 5000] [--city all] [--seed 1] [--long 3] [--out artifacts/invariants.json]

Lengths are 1 to 300 ticks, mostly short; the last `--long` episodes of each city run for 2016 ticks (seven days).
Scenarios, options and answers are random; answers are valid, silly, refused, doubled or unreadable. Every tick of
every episode is checked (see tests/sim/invariants.py for the checks in plain Python). Episode k depends on the seed
and k alone, so that `--only k` plays it again, and a run may be stopped and called anew: the work file holds what is
done. Exits 1 if anything was violated, naming city, episode, scenario, tick and what it was.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
import numpy.typing as npt

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "sim"))

from invariants_batch import BatchWatch
from wild import STYLES, options

from ev_grid_oracle.city import list_cities, load_city
from ev_grid_oracle.episode.batch import Batch
from ev_grid_oracle.evaluation.provenance import provenance
from ev_grid_oracle.evaluation.writing import to_json, write_atomic
from ev_grid_oracle.schema import compiled
from ev_grid_oracle.schema import rows as r
from ev_grid_oracle.schema.axes import MAX_TICKS
from ev_grid_oracle.schema.enums import CarState
from ev_grid_oracle.sim.world import WorldOptions

I32 = npt.NDArray[np.int32]
REPORT_S = 15.0
DEFER_MIN = np.array([1, 5, 12, 30, 240])
KIND_OF = {"defer": 1, "shift": 2, "one_station": 0}


@dataclass(frozen=True)
class Result:
    """One episode: what it was, how long it ran, how many answers it got, and what it violated.

    `turned_away` counts cars that found all `max_cars` rows of the city taken, which takes an agent that holds the cars
    back for hours. They are booked as lost in full, so every check goes on; how many there were is reported.
    """

    episode: int
    city: str
    scenario: str
    style: str
    ticks: int
    answers: int
    invalid_texts: int
    turned_away: int
    fault: str | None


class Player:
    """One episode's random stream: its options, then its answers tick by tick."""

    def __init__(self, batch: Batch, seed: int, episode: int, ticks: int | None) -> None:
        self.rng = np.random.default_rng([seed, episode])
        self.episode = episode
        self.length = ticks or int(np.ceil(300.0 * self.rng.random() ** 3)) or 1
        self.style = STYLES[int(self.rng.integers(len(STYLES)))]
        self.options: WorldOptions = options(batch.world.city.pack, self.rng, self.length)
        self.given = self.invalid = 0

    def answer(self, pending: I32, n_stations: int, out: I32) -> int:
        """Random answers for the cars numbered `pending` into `out` (MD, 8); returns how many.

        The distribution of tests/sim/wild.py: a fifth of the cars are left out, one in twenty is answered twice,
        and now and then a car is named that nobody knows.
        """
        rng, n = self.rng, len(pending)
        u = rng.random((n, 7))
        rows = np.zeros((n, r.N_DCOL), np.int32)
        rows[:, r.D_SEQ] = pending
        rows[:, r.D_KIND] = KIND_OF.get(self.style, -1)
        if self.style not in KIND_OF:
            rows[:, r.D_KIND] = (3.0 * u[:, 1]).astype(np.int32)
        kind = rows[:, r.D_KIND]
        rows[:, r.D_STATION] = 0 if self.style == "one_station" else (n_stations * u[:, 2]).astype(np.int32)
        rows[(kind == 1) | ((kind == 2) & (u[:, 3] < 0.2)), r.D_STATION] = -1
        rows[:, r.D_RATE] = (3.0 * u[:, 4]).astype(np.int32)
        rows[:, r.D_DEFER] = np.where(kind > 0, DEFER_MIN[(5.0 * u[:, 5]).astype(np.int32)], 0)
        rows[:, r.D_CONF] = (10001.0 * u[:, 6]).astype(np.int32)
        kept = u[:, 0] >= 0.2
        if self.style == "silent":
            kept[:] = False
        twice = rng.random(n) < 0.05
        rows = np.repeat(rows[kept], 1 + twice[kept], axis=0)
        doubled = np.flatnonzero(rows[1:, r.D_SEQ] == rows[:-1, r.D_SEQ]) + 1
        rows[doubled, r.D_DEFER], rows[doubled, r.D_CONF] = 5, 0
        if self.style != "silent" and rng.random() < 0.1:
            stranger = np.zeros((1, r.N_DCOL), np.int32)
            stranger[0, r.D_SEQ] = rng.integers(10**6, 2 * 10**6)
            rows = np.concatenate([rows, stranger])
        count = min(len(rows), len(out))
        out[:count] = rows[:count]
        self.given += count
        return count


def play(batch: Batch, seed: int, jobs: Sequence[tuple[int, int | None]], keep: list[Result], name: str) -> int:
    """Play `jobs` (episode, ticks or None) side by side, a new one where one has ended; returns ticks played."""
    watch = BatchWatch(batch.world, strict=False)
    waiting = list(reversed(jobs))
    players: list[Player | None] = [None] * batch.n
    n_stations, played = len(batch.world.city.pack.stations.ids), 0
    cars, state = batch.world.view("CAR"), batch.world.view("Y")
    state[:, r.Y_DONE] = 2  # an environment without an episode stands still
    while True:
        fresh = [e for e in range(batch.n) if players[e] is None][: len(waiting)]
        for e in fresh:
            episode, ticks = waiting.pop()
            players[e] = Player(batch, seed, episode, ticks)
        if fresh:
            batch.reset([p.options for e in fresh if (p := players[e]) is not None], fresh)
            watch.begin(fresh)
        mine = np.array([p is not None for p in players])
        if not mine.any():
            return played
        batch.counts[:] = batch.invalid[:] = 0
        for e, player in enumerate(players):
            if player is None:
                continue
            batch.invalid[e] = int(player.rng.random() < 0.05)
            player.invalid += int(batch.invalid[e])
            if not batch.invalid[e]:
                pending = cars[e, cars[e, :, r.C_STATE] == CarState.PENDING, r.C_SEQ]
                batch.counts[e] = player.answer(pending, n_stations, batch.answers[e])
        watch.before(mine)
        watch.after(batch.step().copy(), mine)
        played += int(mine.sum())
        done, ticks_now = batch.done, state[:, r.Y_TICK]
        for e, player in enumerate(players):
            if player is None:
                continue
            fault = watch.faults.get(e)
            if fault is None and not done[e] and ticks_now[e] >= player.length:
                fault = "the episode did not end"
            if fault is not None or done[e]:
                o = player.options
                text = None if fault is None else f"tick {int(ticks_now[e]) - 1}, world seed {o.seed}: {fault}"
                keep.append(
                    Result(
                        player.episode, name, o.scenario.name, player.style, int(ticks_now[e]), player.given,
                        player.invalid, int(state[e, r.Y_OVERFLOW]), text,
                    )
                )  # fmt: skip
                players[e] = None
                state[e, r.Y_DONE] = 2


def load(path: Path, head: dict[str, object]) -> dict[int, Result]:
    """Episodes of the work file that were played with the same seed, cities and kernels; else none, and a new file."""
    found: dict[int, Result] = {}
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    lines = text[: text.rfind("\n") + 1].splitlines()
    if lines and json.loads(lines[0]) == head:
        found = {row["episode"]: Result(**row) for row in map(json.loads, lines[1:])}
    write_atomic(path, "\n".join([json.dumps(head), *(json.dumps(asdict(x)) for x in found.values())]) + "\n")
    return found


def summary(found: Sequence[Result], seed: int) -> dict[str, object]:
    """What the artifact says."""
    lengths = np.array([x.ticks for x in found])
    edges = (1, 2, 12, 48, 288, MAX_TICKS + 1)
    return {
        "schema": "evgrid.invariants.1",
        "episodes": len(found),
        "ticks": int(lengths.sum()),
        "violations": sum(x.fault is not None for x in found),
        "episodes_violated": [asdict(x) for x in found if x.fault is not None][:100],
        "episodes_with_a_full_table": sum(x.turned_away > 0 for x in found),
        "cars_turned_away": sum(x.turned_away for x in found),
        "seed": seed,
        "ticks_of_an_episode": {
            "least": int(lengths.min()), "median": float(np.median(lengths)), "most": int(lengths.max()),
            "counts": {f"{a} to {b - 1}": int(((lengths >= a) & (lengths < b)).sum()) for a, b in pairwise(edges)},
        },
        "answers": sum(x.answers for x in found),
        "unreadable_texts": sum(x.invalid_texts for x in found),
        "by_city": dict(Counter(x.city for x in found)),
        "by_scenario": dict(sorted(Counter(f"{x.city}/{x.scenario}" for x in found).items())),
        "by_style": dict(sorted(Counter(x.style for x in found).items())),
    }  # fmt: skip


def main(argv: list[str] | None = None) -> int:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--episodes", type=int, default=5000, help="per run, spread over the cities")
    parser.add_argument("--city", default="all")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--long", type=int, default=3, help="episodes of seven days per city")
    parser.add_argument("--envs", type=int, default=48, help="episodes side by side; changes no result")
    parser.add_argument("--only", type=int, help="play this episode alone")
    parser.add_argument("--seconds", type=float, default=1e9, help="stop after about this long; call again to go on")
    parser.add_argument("--work", type=Path, default=Path("runs/invariants.jsonl"))
    parser.add_argument("--out", type=Path, default=Path("artifacts/invariants.json"))
    a = parser.parse_args(argv)
    names = tuple(list_cities()) if a.city == "all" else (a.city,)
    cities = {name: load_city(name) for name in names}
    short = a.episodes - a.long * len(names)
    jobs = {k: (names[k % len(names)], None if k < short else MAX_TICKS) for k in range(a.episodes)}
    head = {"seed": a.seed, "cities": {n: c.sha256 for n, c in cities.items()}, "kernels": compiled.source_digest(),
            "episodes": a.episodes, "long": a.long}  # fmt: skip
    if a.only is not None:
        name, ticks = jobs[a.only]
        only: list[Result] = []
        play(Batch(cities[name], 1), a.seed, [(a.only, ticks)], only, name)
        print(to_json(asdict(only[0])), end="")
        return int(only[0].fault is not None)
    found = load(a.work, head)
    begun = last = time.perf_counter()
    batches = {name: Batch(city, a.envs) for name, city in cities.items()}
    for name, batch in batches.items():
        # the longest first, so that they do not run alone at the end; in portions, so that little is lost by a stop
        left = [(k, ticks) for k, (city, ticks) in jobs.items() if city == name and k not in found]
        left.sort(key=lambda job: -(job[1] or 0))
        for at in range(0, len(left), 8 * a.envs):
            if time.perf_counter() - begun > a.seconds:
                break
            got: list[Result] = []
            play(batch, a.seed, left[at : at + 8 * a.envs], got, name)
            found.update({x.episode: x for x in got})
            with a.work.open("a", encoding="utf-8") as file:
                file.writelines(json.dumps(asdict(x)) + "\n" for x in got)
            for x in got:
                if x.fault is not None or x.turned_away:
                    what = x.fault or f"no fault; {x.turned_away} cars found the table full and were booked as lost"
                    print(f"episode {x.episode} of {x.city}, {x.scenario}, style {x.style}: {what}", flush=True)
            if time.perf_counter() - last > REPORT_S:
                last = time.perf_counter()
                print(f"{len(found)}/{a.episodes} episodes, {last - begun:.0f} s", flush=True)
    report = {**summary(list(found.values()), a.seed), "provenance": provenance(cities[names[0]])}
    write_atomic(a.out, to_json(report))
    print(f"{report['episodes']} episodes, {report['ticks']} ticks on {', '.join(names)}: {report['violations']} violations")
    return int(report["violations"] != 0)


if __name__ == "__main__":
    raise SystemExit(main())
