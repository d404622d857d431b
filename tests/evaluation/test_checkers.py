"""`ev_grid_oracle.testing`: what is right passes in silence, what is wrong is named."""

from __future__ import annotations

import dataclasses
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from ev_grid_oracle.city.load import DATA
from ev_grid_oracle.episode.session import Session
from ev_grid_oracle.episode.trace import Trace
from ev_grid_oracle.evaluation.evening import play_evening
from ev_grid_oracle.policies.registry import make_policy
from ev_grid_oracle.policies.rules import Baseline
from ev_grid_oracle.schema import rows as r
from ev_grid_oracle.schema.errors import PackError, TraceError
from ev_grid_oracle.testing import check_city, check_policy, check_trace
from ev_grid_oracle.testing.policy import PolicyCheckError

F64 = npt.NDArray[np.float64]
I32 = npt.NDArray[np.int32]


@pytest.mark.parametrize(
    "name",
    ["baseline", "greedy_counting", "nearest", "same_station", "random", "always_defer", "always_load_shift"],
)
def test_the_policies_of_the_package_keep_the_contract(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    check_policy(lambda: make_policy(name))
    assert capsys.readouterr() == ("", "")


class Spoilt(Baseline):
    """The baseline, with one thing wrong."""

    def __init__(self, spoil: Callable[[F64, I32, int], int]) -> None:
        super().__init__()
        self._spoil = spoil

    def answer(self, o: F64, out: I32) -> int:
        return self._spoil(o, out, super().answer(o, out))


def _column(column: int, value: int) -> Callable[[F64, I32, int], int]:
    def spoil(o: F64, out: I32, n: int) -> int:
        out[:n, column] = value
        return n

    return spoil


def _observation(o: F64, out: I32, n: int) -> int:
    o[3] += 1.0
    return n


def _twice(o: F64, out: I32, n: int) -> int:
    out[n] = out[0]
    return n + 1 if n else 0


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (_column(r.D_SEQ, 999), "not pending"),
        (_column(r.D_KIND, 7), "has kind 7"),
        (_column(r.D_STATION, 99), "has station 99"),
        (_column(r.D_RATE, 3), "has rate 3"),
        (_column(r.D_DEFER, 241), "has 241 minutes"),
        (_column(r.D_CONF, -1), "has confidence -1"),
        (_observation, "changed the observation"),
        (_twice, "second one for car"),
        (lambda o, out, n: -1, "returned -1"),
    ],
    ids=["car", "kind", "station", "rate", "minutes", "confidence", "observation", "twice", "count"],
)
def test_a_broken_policy_is_named(spoil: Callable[[F64, I32, int], int], reason: str) -> None:
    with pytest.raises(PolicyCheckError, match=reason):
        check_policy(lambda: Spoilt(spoil))


def test_a_policy_that_depends_on_its_past_is_named() -> None:
    calls = [0]

    def drift(o: F64, out: I32, n: int) -> int:
        calls[0] += 1
        return n if calls[0] < 30 else 0

    with pytest.raises(PolicyCheckError, match="differ, first at tick"):
        check_policy(lambda: Spoilt(drift))


def test_city(tmp_path: Path) -> None:
    check_city(DATA / "toy")
    pack = tmp_path / "pack"
    shutil.copytree(DATA / "toy", pack)
    (pack / "tariff.csv").unlink()
    with pytest.raises(PackError, match=r"tariff\.csv"):
        check_city(pack)


def test_trace(tmp_path: Path) -> None:
    session = Session("toy")
    play_evening(session, make_policy("nearest"), seed=3, ticks=5)
    trace = session.trace
    path = trace.save(tmp_path / "run.evt")
    check_trace(path)
    numbers = trace.numbers.copy()
    numbers[2, 0] -= 1.0
    doctored = dataclasses.replace(Trace.load(path), numbers=numbers).save(tmp_path / "doctored.evt")
    with pytest.raises(TraceError, match=r"Tick 2 .*reward"):
        check_trace(doctored)
    path.write_bytes(path.read_bytes()[:-10])
    with pytest.raises(TraceError, match="cut or altered"):
        check_trace(path)
