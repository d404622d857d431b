"""The work in spawned processes of this machine, each with one piece of work at a time.

The process that asked knows who does what: when a worker is killed, its piece of work is begun again by a new one,
and nothing else is touched. (The pool of the standard library gives up as a whole, and may wait for ever for the
workers that are left.)
"""

from __future__ import annotations

import contextlib
import multiprocessing
import signal
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess

from ev_grid_oracle.city.model import CityPack
from ev_grid_oracle.evaluation.backend import ATTEMPTS, Done, Told, check_code, died
from ev_grid_oracle.evaluation.provenance import code_hash
from ev_grid_oracle.evaluation.work import Episode, Spec, Task, play_task, received


def _serve(pipe: Connection, city: CityPack, spec: Spec, code: str) -> None:
    """A worker: takes tasks until the pipe closes, answers each with its episodes or with what went wrong."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the keyboard belongs to the process that asked
    city = received(city)
    with contextlib.suppress(EOFError, BrokenPipeError):  # the process that asked has gone
        while True:
            task: Task = pipe.recv()
            try:
                check_code(code)
                answer: list[Episode] | Exception = play_task(city, spec, task)
            except Exception as exc:  # it is raised where the work was asked for
                answer = exc
            pipe.send(answer)


@dataclass
class _Worker:
    process: SpawnProcess
    pipe: Connection
    task: Task | None = None


def on_processes(
    city: CityPack, spec: Spec, tasks: Sequence[Task], progress: Told, workers: int
) -> Iterator[Done]:
    """The episodes of every task, each task once, in the order in which they are finished."""
    context = multiprocessing.get_context("spawn")
    code = code_hash()
    todo, begun = deque(tasks), Counter[Task]()
    crew: list[_Worker] = []

    def hire() -> None:
        here, there = context.Pipe()
        process = context.Process(target=_serve, args=(there, city, spec, code), daemon=True)
        process.start()
        there.close()
        crew.append(_Worker(process, here))

    try:
        while todo or any(w.task is not None for w in crew):
            while len(crew) < min(workers, len(todo) + sum(w.task is not None for w in crew)):
                hire()
            for worker in crew:
                if worker.task is None and todo:
                    worker.task = todo.popleft()
                    begun[worker.task] += 1
                    with contextlib.suppress(OSError):  # it is dead already: its pipe says so below
                        worker.pipe.send(worker.task)
            ready = set(wait([w.pipe for w in crew]))
            for worker in [w for w in crew if w.pipe in ready]:
                task = worker.task
                try:
                    answer = worker.pipe.recv()
                except (EOFError, OSError):  # killed, perhaps in the middle of its answer
                    crew.remove(worker)
                    _dismiss(worker)
                    if task is not None:
                        if begun[task] == ATTEMPTS:
                            raise died(task, ATTEMPTS) from None
                        todo.appendleft(task)
                    continue
                assert task is not None
                worker.task = None
                if isinstance(answer, Exception):
                    raise answer
                progress(task.policy, len(task.indices) * spec.ticks)
                yield task, answer
    finally:
        for worker in crew:
            _dismiss(worker)


def _dismiss(worker: _Worker) -> None:
    """End a worker, whatever it does; what it was doing is lost and nothing else."""
    worker.pipe.close()
    worker.process.kill()
    worker.process.join()
    worker.process.close()
