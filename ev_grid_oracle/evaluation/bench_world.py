"""How fast the world is, in the units people plan with."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from time import perf_counter

from ev_grid_oracle.city.model import CityPack
from ev_grid_oracle.city.packed import packed
from ev_grid_oracle.episode.session import Session
from ev_grid_oracle.evaluation.bench_load import TICKS, Workload, evening, seconds, workload
from ev_grid_oracle.evaluation.evening import play_on
from ev_grid_oracle.evaluation.provenance import cores, provenance
from ev_grid_oracle.policies.base import Policy, PolicyContext
from ev_grid_oracle.policies.registry import make_policy
from ev_grid_oracle.schema.errors import EVGridError
from ev_grid_oracle.sim.world import World

SCHEMA = "evgrid.bench.world/1"
ENVS = 64
REPEATS = 5
COPIES = 200

Say = Callable[[str], None]

_FRESH_PROCESS = """
from ev_grid_oracle.city import load_city
from ev_grid_oracle.episode.batch import Batch
from ev_grid_oracle.evaluation.bench_load import evening
city = load_city({city!r})
batch = Batch(city, 1)
batch.reset([evening(city, 1, settle=True)])
batch.play("baseline", 1)
batch.step()
"""


def fresh_process_s(city: CityPack, cache_dir: str | None = None) -> float:
    """Seconds until a new process has played its first tick; with an empty `cache_dir` it compiles."""
    env = dict(os.environ)
    if cache_dir is not None:
        env["EVGRID_CACHE_DIR"] = cache_dir
    start = perf_counter()
    code = _FRESH_PROCESS.format(city=str(city.path))
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True)
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        raise EVGridError(f"A fresh process could not play one tick: {last}.", "See `evgrid doctor`.")
    return perf_counter() - start


def copy_times_us(world: World) -> dict[str, float]:
    """Fork into another row, the same with another future for two hours, snapshot to bytes, restore from
    bytes: microseconds each."""
    blob = world.snapshot(0)

    def fork() -> None:
        for _ in range(COPIES):
            world.copy(0, 1)

    def redrawn() -> None:
        for k in range(COPIES):
            world.copy(0, 1)
            world.redraw(1, k, 24)

    def snapshot() -> None:
        for _ in range(COPIES):
            world.snapshot(0)

    def restore() -> None:
        for _ in range(COPIES):
            world.restore(1, blob)

    each = 1e6 / COPIES
    return {
        "fork_us": seconds(fork) * each,
        "fork_redrawn_us": seconds(redrawn) * each,
        "snapshot_us": seconds(snapshot) * each,
        "restore_us": seconds(restore) * each,
    }


def session_ticks_per_s(city: CityPack) -> float:
    """One environment through the front door: observation, baseline's answers, step, breakdown, trace."""
    session = Session(city)
    policy = make_policy("baseline")

    def begin() -> None:
        session.reset(seed=1, settle=False)
        policy.begin(PolicyContext(packed(city)))

    return TICKS / seconds(lambda: _play(session, policy), begin, 9)


def _play(session: Session, policy: Policy) -> None:
    play_on(session, policy, session.observation)


def _speed(load: Workload, repeats: int) -> float:
    return load.batch.n * TICKS / seconds(load.run_at_once, load.rewind, repeats)


def bench_world(
    city: CityPack,
    envs: int = ENVS,
    repeats: int = REPEATS,
    compile_too: bool = True,
    say: Say = lambda text: None,
) -> dict[str, object]:
    """All figures of the world's speed; `say` is told what is being measured."""
    say("recording the reference evening under the baseline")
    load = workload(city, envs)
    say(f"{envs} environments x {TICKS} ticks on one thread")
    one = _speed(load, repeats)
    say("the same one tick at a time")
    by_tick = envs * TICKS / seconds(load.run_tick_by_tick, load.rewind, repeats)
    threads = cores()
    say(f"the same on {threads} threads")
    every = _speed(workload(city, envs, threads), repeats) if threads > 1 else one
    say("the same with the settle at the end")
    settled = workload(city, envs, settle=True)
    cut_s, settled_s = envs * TICKS / one, seconds(settled.run_at_once, settled.rewind, repeats)
    say("reset, fork, snapshot, restore")
    options = [evening(city, seed) for seed in range(1, envs + 1)]
    reset_s = seconds(lambda: load.batch.reset(options), None, repeats)
    copies = copy_times_us(load.batch.world)
    say("one session through the front door")
    session = session_ticks_per_s(city)
    say("a fresh process, kernels from the cache")
    warm_start_s = fresh_process_s(city)
    compile_s = None
    if compile_too:
        say("a fresh process that compiles every kernel (one to two minutes)")
        with tempfile.TemporaryDirectory() as folder:
            compile_s = fresh_process_s(city, folder) - warm_start_s
    w = load.batch.world
    return {
        "schema": SCHEMA,
        "ticks_per_s_1_thread": one,
        "ticks_per_s_1_thread_tick_by_tick": by_tick,
        "ticks_per_s_all_threads": every,
        "threads": threads,
        "session_ticks_per_s": session,
        **copies,
        "reset_us": 1e6 * reset_s / envs,
        "settle_us": 1e6 * max(settled_s - cut_s, 0.0) / envs,
        "bytes_per_env": w.f[0].nbytes + w.i[0].nbytes + w.u[0].nbytes,
        "compile_s": compile_s,
        "warm_start_s": warm_start_s,
        "occupancy": load.occupancy_frac,
        "envs": envs,
        "ticks": TICKS,
        "repeats": repeats,
        "provenance": provenance(city),
    }
