"""Who does the work: threads of this process, processes of this machine, or a Ray cluster.

A piece of work is a block of episodes. It may be done again (a worker was killed), but its episodes come out
once: results are taken by task, and the first that arrives is the one that counts. All backends give the same rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import (
    FIRST_COMPLETED,
    CancelledError,
    Future,
    ThreadPoolExecutor,
    wait,
)
from threading import Event, Lock

from ev_grid_oracle.city.model import CityPack
from ev_grid_oracle.evaluation.provenance import code_hash
from ev_grid_oracle.evaluation.work import Episode, Spec, Task, play_task
from ev_grid_oracle.schema.errors import EVGridError

BACKENDS = ("local", "ray")
ATTEMPTS = 4
"""How often a piece of work is begun before workers that die of it end the evaluation."""

Done = tuple[Task, list[Episode]]
Told = Callable[[str, int], None]


class WorkerError(EVGridError):
    """Workers died again and again, or run other code than the process that asked."""

    code = "E_INTERNAL"


def run_tasks(
    city: CityPack,
    spec: Spec,
    tasks: Sequence[Task],
    progress: Told,
    *,
    backend: str,
    threads: int,
    workers: int,
) -> Iterator[Done]:
    """The episodes of every task, each task once, in the order in which they are finished."""
    if not tasks:
        return iter(())
    if backend == "ray":
        from ev_grid_oracle.evaluation.backend_ray import on_ray

        return on_ray(city, spec, tasks, progress, workers)
    if workers > 1:
        from ev_grid_oracle.evaluation.backend_processes import on_processes

        return on_processes(city, spec, tasks, progress, workers)
    return _threads(city, spec, tasks, progress, threads)


def _threads(
    city: CityPack, spec: Spec, tasks: Sequence[Task], progress: Told, threads: int
) -> Iterator[Done]:
    lock, stop = Lock(), Event()

    def job(task: Task) -> Done:
        def advance(ticks: int) -> None:
            if stop.is_set():  # an interrupt ends a long block within one tick
                raise CancelledError
            with lock:
                progress(task.policy, ticks)

        return task, play_task(city, spec, task, advance)

    with ThreadPoolExecutor(threads) as pool:
        jobs = [pool.submit(job, task) for task in tasks]
        try:
            left: set[Future[Done]] = set(jobs)
            while left:
                done, left = wait(left, return_when=FIRST_COMPLETED)
                for future in done:
                    yield future.result()
        finally:
            stop.set()
            for future in jobs:
                future.cancel()


def check_code(code: str) -> None:
    """Raise `WorkerError` if this process runs other code than the one that asked."""
    if code_hash() != code:
        raise WorkerError(
            "A worker runs other code than the process that asked.", "Start the evaluation again."
        )


def died(task: Task, times: int) -> WorkerError:
    """Workers die at this task whatever one does."""
    return WorkerError(
        f"Workers died {times} times, last at {task.policy} in {task.scenario}, block {task.block}.",
        "Look at the memory of the machine, take fewer workers, and run the command again.",
    )
