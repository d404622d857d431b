"""Does the present code give the results of an older one? Both play the same episodes, state by state.

    python benchmarks/same_results.py --old COMMIT [--old COMMIT] [--episodes 5000] [--evenings 20]

Evidence names the code that made it. A change that makes the code faster and changes no result need not be paid for
with all evidence anew: where this finds no difference, evidence of the older code stays current (`evgrid plan`, the
tests of the documents). The older code is taken from git into a folder of its own and plays there, with its own
kernels: random episodes of every length under random valid and invalid answers in all cities and scenarios
(benchmarks/invariants.py), and evenings of every scenario under baseline, greedy_counting and planner, whose answers
depend on observations, forks and other futures. Compared is a hash over the whole state and the reward after every
tick. Writes artifacts/same_results.json; exits 1 if any episode differs.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import json
import os
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "tests" / "sim"), str(ROOT / "benchmarks")]  # in this order: both have an invariants.py
POLICIES = ("baseline", "greedy_counting", "planner")
ENVS = 48


def random_episodes(seed: int, episodes: int, long: int) -> Iterator[dict[str, object]]:
    """Episodes of benchmarks/invariants.py, each with the hash of its course."""
    from importlib.util import module_from_spec, spec_from_file_location

    import numpy as np

    from ev_grid_oracle.city import list_cities, load_city
    from ev_grid_oracle.episode.batch import Batch
    from ev_grid_oracle.schema import rows as r
    from ev_grid_oracle.schema.axes import MAX_TICKS

    found = spec_from_file_location("random_player", ROOT / "benchmarks" / "invariants.py")
    assert found is not None and found.loader is not None
    invariants = sys.modules["random_player"] = module_from_spec(found)
    found.loader.exec_module(invariants)
    names = tuple(list_cities())
    short = episodes - long * len(names)
    for place, name in enumerate(names):
        batch = Batch(load_city(name), ENVS)
        cars, state = batch.world.view("CAR"), batch.world.view("Y")
        n_stations = len(batch.world.city.pack.stations.ids)
        waiting = [k for k in range(episodes) if k % len(names) == place]
        players: list[invariants.Player | None] = [None] * batch.n
        hashes = [hashlib.sha256() for _ in players]
        state[:, r.Y_DONE] = 2  # an environment without an episode stands still
        while waiting or any(players):
            fresh = [e for e in range(batch.n) if players[e] is None][: len(waiting)]
            for e in fresh:
                k = waiting.pop()
                players[e] = invariants.Player(batch, seed, k, None if k < short else MAX_TICKS)
                hashes[e] = hashlib.sha256()
            if fresh:
                batch.reset([p.options for e in fresh if (p := players[e]) is not None], fresh)
            batch.counts[:] = batch.invalid[:] = 0
            for e, player in enumerate(players):
                if player is None:
                    continue
                batch.invalid[e] = int(player.rng.random() < 0.05)
                if not batch.invalid[e]:
                    pending = cars[e, cars[e, :, r.C_STATE] == 1, r.C_SEQ]
                    batch.counts[e] = player.answer(np.sort(pending), n_stations, batch.answers[e])
            rewards = batch.step()
            for e, player in enumerate(players):
                if player is None:
                    continue
                hashes[e].update(f"{batch.world.digest(e)} {float(rewards[e]).hex()}\n".encode())
                if batch.done[e]:
                    yield {"episode": f"{name} {player.episode}", "ticks": int(state[e, r.Y_TICK]), "sha256": hashes[e].hexdigest()}
                    players[e] = None
                    state[e, r.Y_DONE] = 2


def evenings(seed: int, count: int) -> Iterator[dict[str, object]]:
    """Evenings of every scenario of bengaluru under `POLICIES`, each with the hash of its course."""
    from ev_grid_oracle.city import load_city
    from ev_grid_oracle.episode.session import Session
    from ev_grid_oracle.evaluation.evening import play_evening
    from ev_grid_oracle.evaluation.seeds import episode_seed
    from ev_grid_oracle.policies.registry import make_policy

    city = load_city("bengaluru")
    session = Session(city)
    for name in POLICIES:
        for scenario in city.scenarios:
            for k in range(count):
                h = hashlib.sha256()

                def tell(ticks: int, h: object = h) -> None:
                    h.update(session._world.digest(0).encode())  # type: ignore[attr-defined]

                end = play_evening(session, make_policy(name), tell, seed=episode_seed(seed, k), scenario=scenario.name)
                h.update(end.row.tobytes())
                yield {"episode": f"{name} {scenario.name} {k}", "ticks": 48, "sha256": h.hexdigest()}


def play(seed: int, episodes: int, long: int, count: int) -> None:
    """Print one JSON line per episode, the last one about the code that played."""
    from ev_grid_oracle.evaluation.provenance import code_hash

    for row in random_episodes(seed, episodes, long):
        print(json.dumps(row), flush=True)
    for row in evenings(seed, count):
        print(json.dumps(row), flush=True)
    print(json.dumps({"code_sha256": code_hash()}))


def played(code: Path, a: argparse.Namespace) -> subprocess.Popen[str]:
    """A process that plays with the package in `code`."""
    env = {**os.environ, "PYTHONPATH": str(code)}
    if code != ROOT:
        env["EVGRID_CACHE_DIR"] = str(code / ".kernels")
    command = [sys.executable, __file__, "--play", f"--seed={a.seed}", f"--episodes={a.episodes}", f"--long={a.long}",
               f"--evenings={a.evenings}"]  # fmt: skip
    return subprocess.Popen(command, env=env, stdout=subprocess.PIPE, text=True)


def rows_of(process: subprocess.Popen[str]) -> list[dict[str, str]]:
    """What a playing process printed; ends this program where it failed."""
    text, _ = process.communicate()
    if process.returncode:
        raise SystemExit(f"The playing process ended with {process.returncode}.")
    return [json.loads(line) for line in text.splitlines()]


def compare(old: Sequence[dict[str, str]], new: Sequence[dict[str, str]]) -> list[str]:
    """Names of the episodes that differ."""
    return [(b or a or {})["episode"] for a, b in zip_longest(old, new) if a != b]


def main(argv: list[str] | None = None) -> int:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--old", action="append", default=[], metavar="COMMIT", help="the older code; may be given again")
    parser.add_argument("--episodes", type=int, default=5000)
    parser.add_argument("--evenings", type=int, default=20, help="per scenario and policy")
    parser.add_argument("--long", type=int, default=3, help="episodes of seven days per city")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, default=ROOT / "artifacts" / "same_results.json")
    parser.add_argument("--play", action="store_true", help=argparse.SUPPRESS)
    a = parser.parse_args(argv)
    if a.play:
        play(a.seed, a.episodes, a.long, a.evenings)
        return 0
    if not a.old:
        parser.error("name the older code with --old COMMIT")
    from ev_grid_oracle.city import load_city
    from ev_grid_oracle.evaluation.provenance import provenance
    from ev_grid_oracle.evaluation.writing import to_json, write_atomic

    with tempfile.TemporaryDirectory() as folder:
        for name in a.old:  # all of them before anything runs, so that a wrong name leaves no process behind
            archive = subprocess.run(["git", "archive", name, "ev_grid_oracle"], cwd=ROOT, capture_output=True)
            if archive.returncode:
                parser.error(f"git knows no commit {name!r} with the package in it")
            with tarfile.open(fileobj=io.BytesIO(archive.stdout)) as tar:
                tar.extractall(Path(folder) / name, filter="data")
        running = {name: played(Path(folder) / name, a) for name in a.old}
        *new, about = rows_of(played(ROOT, a))
        entries, differ = [], 0
        for name, process in running.items():
            *old, older = rows_of(process)
            different = compare(old, new)
            differ += len(different)
            entries.append(
                {"commit": name, "old_code_sha256": older["code_sha256"], "episodes_different": len(different), "which": different[:50]}
            )
            print(f"{name} ({older['code_sha256'][:12]}): {len(different)} of {len(new)} episodes differ", flush=True)
    report = {
        "schema": "evgrid.same_results.1", "code_sha256": about["code_sha256"], "seed": a.seed, "episodes": len(new),
        "random_episodes": a.episodes, "evenings": len(new) - a.episodes, "ticks": sum(int(row["ticks"]) for row in new),
        "policies": POLICIES, "sha256_of_all": hashlib.sha256(json.dumps(new).encode()).hexdigest(), "compared": entries,
        "provenance": provenance(load_city("bengaluru")),
    }  # fmt: skip
    write_atomic(a.out, to_json(report))
    return int(differ != 0)


if __name__ == "__main__":
    raise SystemExit(main())
