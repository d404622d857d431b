"""The work on a Ray cluster: the one that RAY_ADDRESS names, or one of this machine.

Ray begins a piece of work again when the worker that did it was killed. Results are taken by task, so that none
comes out twice.
"""

from __future__ import annotations

import logging
import os
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from ev_grid_oracle.city.model import CityPack
from ev_grid_oracle.evaluation.backend import ATTEMPTS, Done, Told, check_code, died
from ev_grid_oracle.evaluation.provenance import code_hash
from ev_grid_oracle.evaluation.work import Spec, Task, play_task, received
from ev_grid_oracle.schema.errors import MissingExtraError

_AT_ONCE = 4
"""Pieces of work that wait in the cluster for each processor."""


def _ray() -> Any:  # Ray carries no types
    try:
        import ray
    except ImportError as exc:
        raise MissingExtraError(
            "The backend ray needs Ray.", "pip install 'openenv-ev-grid-oracle[scale]'"
        ) from exc
    return ray


def work(city: CityPack, spec: Spec, task: Task, code: str) -> Done:
    """One piece of work, in a worker of the cluster."""
    check_code(code)
    return task, play_task(_kept(city), spec, task)


_KEPT: dict[str, CityPack] = {}


def _kept(city: CityPack) -> CityPack:
    """The first copy of this city in the process, whose travel tables are already made."""
    return _KEPT.setdefault(city.sha256, received(city))


def on_ray(city: CityPack, spec: Spec, tasks: Sequence[Task], progress: Told, workers: int) -> Iterator[Done]:
    """The episodes of every task, each task once, in the order in which they are finished.

    workers: processors of the cluster that is started where none runs.
    """
    # what a piece of work raises is raised here; Ray shall not print the same of those that are then dropped
    os.environ.setdefault("RAY_IGNORE_UNHANDLED_ERRORS", "1")
    ray = _ray()
    ours = not ray.is_initialized()
    if ours:
        os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
        logging.getLogger("ray").setLevel(logging.ERROR)
        named = bool(os.environ.get("RAY_ADDRESS"))
        ray.init(
            num_cpus=None if named else workers,
            include_dashboard=False if not named else None,
            log_to_driver=False,
            logging_level=logging.ERROR,
            configure_logging=False,
        )
    try:
        yield from _gather(ray, city, spec, tasks, progress, workers)
    finally:
        if ours:
            ray.shutdown()


def _gather(
    ray: Any, city: CityPack, spec: Spec, tasks: Sequence[Task], progress: Told, workers: int
) -> Iterator[Done]:
    remote = ray.remote(num_cpus=1, max_retries=ATTEMPTS - 1)(work)
    where = ray.put(city)
    code = code_hash()
    todo, finished = list(reversed(tasks)), set()
    running: dict[Any, Task] = {}
    begun: Counter[Task] = Counter()
    try:
        while todo or running:
            while todo and len(running) < _AT_ONCE * workers:
                task = todo.pop()
                running[remote.remote(where, spec, task, code)] = task
            done, _ = ray.wait(list(running), num_returns=1)
            for reference in done:
                task = running.pop(reference)
                try:
                    _, episodes = ray.get(reference)
                except (ray.exceptions.WorkerCrashedError, ray.exceptions.NodeDiedError):
                    begun[task] += 1  # Ray's own attempts are used up: once more, on another worker
                    if begun[task] == ATTEMPTS:
                        raise died(task, ATTEMPTS * ATTEMPTS) from None
                    todo.append(task)
                    continue
                if task in finished:
                    continue
                finished.add(task)
                progress(task.policy, len(task.indices) * spec.ticks)
                yield task, episodes
    finally:
        for reference in running:
            ray.cancel(reference, force=True)
