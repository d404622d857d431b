"""Paired runs: the same worlds, the same rows however the work is shared out, every decision's source."""

from __future__ import annotations

import dataclasses
import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import numpy.typing as npt
import pytest

from ev_grid_oracle.city.model import CityPack
from ev_grid_oracle.episode.batch import Batch
from ev_grid_oracle.episode.options import resolve
from ev_grid_oracle.evaluation.backend import WorkerError, check_code
from ev_grid_oracle.evaluation.backend_processes import on_processes
from ev_grid_oracle.evaluation.provenance import code_hash
from ev_grid_oracle.evaluation.report import report
from ev_grid_oracle.evaluation.runner import Plan, assemble, evaluate
from ev_grid_oracle.evaluation.work import Episode, Task
from ev_grid_oracle.policies.base import BatchPolicy, PolicyContext
from ev_grid_oracle.policies.rules import GreedyCounting
from ev_grid_oracle.reward.terms import PENALTY
from ev_grid_oracle.schema.errors import EVGridError, OptionError

F64 = npt.NDArray[np.float64]
I32 = npt.NDArray[np.int32]
Made = Callable[..., Plan]


def rows(plan: Plan) -> dict[str, object]:
    """What must be equal whoever did the work."""
    full = report(evaluate(plan), None)
    return {k: full[k] for k in ("runs", "policies", "manifest", "receipts")}


class Together:
    """greedy_counting for a whole block at once; falls back in the first tick, and says so."""

    name = "together"
    source = "llm"

    def __init__(self, refuse: bool = False) -> None:
        self._one = GreedyCounting()
        self._refuse = refuse
        self.tallies: list[Mapping[str, int]] = []
        self.refusals: list[int] = []
        self.blocks: list[int] = []
        self._asked = 0

    def begin_batch(self, contexts: Sequence[PolicyContext]) -> None:
        self.blocks.append(len(contexts))
        assert len({c.seed for c in contexts}) == len(contexts)
        self._one.begin(contexts[0])

    def answer_batch(self, rows: Sequence[F64], outs: Sequence[I32], envs: Sequence[int]) -> Sequence[int]:
        assert len(rows) == len(outs) == len(envs)
        counts = [self._one.answer(row, out) for row, out in zip(rows, outs, strict=True)]
        self.tallies = [
            {"fallback": min(n, 1), "llm": n - min(n, 1)} if self._asked == 0 else {"llm": n} for n in counts
        ]
        self.refusals = [int(self._refuse and self._asked == 1)] * len(rows)
        self._asked += 1
        return counts


def test_a_policy_that_answers_a_block_at_once(plan_of: Made, as_policy: Callable[..., None]) -> None:
    made: list[Together] = []

    def maker() -> Together:
        made.append(Together())
        return made[-1]

    as_policy("together", maker)
    assert isinstance(Together(), BatchPolicy)
    assert not isinstance(GreedyCounting(), BatchPolicy)
    result = evaluate(plan_of(policies=("greedy_counting", "together")))
    ours, rule = (result.runs[0].episodes[p] for p in ("together", "greedy_counting"))
    assert [e.end for e in ours] == [e.end for e in rule]
    assert [n for m in made for n in m.blocks] == [4, 4, 2]
    counts = result.sources["together"]
    assert sum(counts.values()) == result.sources["greedy_counting"]["policy"]
    assert 0 < counts["fallback"] <= 10
    for e in ours:
        assert e.values["fallback_steps"] == float(e.sources.get("fallback", 0) > 0)
    about = report(result)["policies"]["together"]  # type: ignore[index]
    assert about["fallback_decisions"] == counts["fallback"]
    assert about["fallback_share"] == counts["fallback"] / sum(counts.values())


def test_a_refused_text_costs_what_it_costs_in_a_session(
    plan_of: Made, as_policy: Callable[..., None], city_toy: CityPack
) -> None:
    as_policy("together", lambda: Together(refuse=True))
    result = evaluate(plan_of(policies=("greedy_counting", "together"), episodes=4))
    for ours, rule in zip(
        *(result.runs[0].episodes[p] for p in ("together", "greedy_counting")), strict=True
    ):
        assert ours.values["invalid_actions"] == 1.0
        paid = ours.values["reward/format"] or 0.0
        assert paid == pytest.approx(-PENALTY / city_toy.constants.n0_car_minutes)
        assert rule.values["reward/format"] == 0.0


def test_one_answer_of_several_sources(plan_of: Made, as_policy: Callable[..., None]) -> None:
    class Mixed(GreedyCounting):
        def answer(self, o: F64, out: I32) -> int:
            n = super().answer(o, out)
            self.name = "mixed"
            self.tally = {"llm": n - n // 2, "timeout": n // 2}
            return n

    def maker() -> Mixed:
        policy = Mixed()
        policy.name = "mixed"
        return policy

    as_policy("mixed", maker)
    result = evaluate(plan_of(policies=("mixed",), episodes=4))
    counts = result.sources["mixed"]
    assert counts["timeout"] > 0
    for e in result.runs[0].episodes["mixed"]:
        assert e.receipt is not None
        assert e.sources.get("llm", 0) + e.sources.get("timeout", 0) == len(e.receipt.answers)
        assert e.values["fallback_steps"] == sum(n > 1 for n in e.receipt.counts)


def test_rows_do_not_depend_on_threads_processes_or_blocks(plan_of: Made) -> None:
    plan = plan_of(policies=("baseline", "random"), scenarios=("baseline", "station_outage"))
    told = rows(plan)
    for changes in ({"threads": 3}, {"workers": 2}, {"block": 7}, {"block": 1}):
        assert rows(dataclasses.replace(plan, **changes)) == told, changes


def _kill_a_child(done: threading.Event) -> None:
    """SIGKILL to the first worker process that shows up."""
    while not done.is_set():
        for child in multiprocessing.active_children():
            if child.pid is not None:
                os.kill(child.pid, signal.SIGKILL)
                return
        time.sleep(0.01)


def test_a_killed_process_costs_no_episode(plan_of: Made) -> None:
    plan = plan_of(episodes=24)
    told = rows(plan)
    done = threading.Event()
    killer = threading.Thread(target=_kill_a_child, args=(done,))
    killer.start()
    try:
        assert rows(dataclasses.replace(plan, workers=2)) == told
    finally:
        done.set()
        killer.join()


class Deadly:
    """A city that ends the process which unpacks it."""

    def __reduce__(self) -> tuple[object, ...]:
        return os._exit, (1,)


def test_work_that_kills_every_worker_ends_with_an_error(plan_of: Made) -> None:
    spec = plan_of().spec
    tasks = [Task("baseline", "baseline", 0, (0, 1))]
    with pytest.raises(WorkerError, match="Workers died 4 times, last at baseline in baseline"):
        list(on_processes(Deadly(), spec, tasks, lambda name, ticks: None, 2))  # type: ignore[arg-type]


def test_a_worker_of_other_code_is_refused() -> None:
    check_code(code_hash())
    with pytest.raises(WorkerError, match="other code"):
        check_code("0" * 64)


def test_a_code_hash_follows_rooms_and_nothing_else() -> None:
    assert code_hash() == code_hash(("schema", "city", "sim", "reward", "protocol", "episode"))
    assert code_hash(("policies",)) != code_hash()
    assert len(code_hash()) == 64


def test_starts_are_those_of_a_batch(plan_of: Made, city_toy: CityPack) -> None:
    result = evaluate(plan_of(episodes=5))
    assert result.runs[0].paired_same_world
    batch = Batch(city_toy, 5)
    batch.reset([resolve(city_toy, **e.options).world for e in result.runs[0].episodes["baseline"]])
    assert [batch.world.digest(e) for e in range(5)] == [e.start for e in result.runs[0].episodes["baseline"]]


def test_another_start_is_seen(plan_of: Made) -> None:
    run = evaluate(plan_of(episodes=2)).runs[0]
    run.episodes["baseline"][1].start = "0" * 32
    assert not run.paired_same_world


def test_series_are_the_parts_of_the_values(plan_of: Made) -> None:
    result = evaluate(plan_of(episodes=4, ticks=12))
    for e in result.runs[0].episodes["greedy_counting"]:
        if e.index >= 3:
            assert e.series is None
            continue
        assert e.series is not None
        for term in ("wait", "service", "grid_limit"):
            whole = sum(e.series[f"reward/{term}"]) + e.series[f"settle/{term}"][0]
            assert whole == pytest.approx(e.values[f"reward/{term}"], abs=1e-9)
        assert len(e.series["waiting_cars"]) == 12
        assert e.series["waiting_cars"] == [
            a + b for a, b in zip(e.series["pending_cars"], e.series["queued_cars"], strict=True)
        ]
        assert all(0.0 <= v <= 1.0 for v in e.series["occupancy_frac"])
        assert e.series["minute_of_day"] == [(e.series["minute_of_day"][0] + 5 * t) % 1440 for t in range(12)]
        for name in e.series:
            if name.startswith("feeder_load_frac/"):
                base = e.series[name.replace("load", "base")]
                assert all(a >= b - 1e-9 > 0.0 for a, b in zip(e.series[name], base, strict=True))


def test_doubles_and_gaps_are_named(plan_of: Made) -> None:
    plan = plan_of(episodes=3)
    result = evaluate(plan)
    played: list[Episode] = [e for rows in result.runs[0].episodes.values() for e in rows]
    with pytest.raises(OptionError, match=f"{played[0].id} stands twice"):
        assemble(plan, [*played, played[0]])
    with pytest.raises(OptionError, match=f"1 episodes are missing, first {played[2].id}"):
        assemble(plan, [e for e in played if e is not played[2]])
    other = dataclasses.replace(played[1], model_hash="abc")
    with pytest.raises(OptionError, match="Several acted"):
        assemble(plan, [e if e is not played[1] else other for e in played])


@pytest.mark.parametrize(
    "changes",
    [{"workers": 0}, {"block": 0}, {"series": -1}, {"backend": "moon"}, {"options": {"fly": 1}}, {"options": {"settle": 2}}],
    ids=str,
)  # fmt: skip
def test_plans_that_cannot_be(plan_of: Made, changes: dict[str, object]) -> None:
    with pytest.raises(EVGridError):
        plan_of(**changes)


def test_an_interrupt_ends_the_threads(plan_of: Made) -> None:
    told: list[int] = []

    def stop(name: str, ticks: int) -> None:
        told.append(ticks)
        if len(told) == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        evaluate(plan_of(policies=("random",), episodes=64, threads=2), stop)
    assert len(told) < 64 * 8 // 4
