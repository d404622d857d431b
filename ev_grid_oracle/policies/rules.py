"""`baseline` and `greedy_counting`: the kernels of `sim.dispatch`, fed with the observation row."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ev_grid_oracle.city.packed import PackedCity
from ev_grid_oracle.policies.base import F64, I32, PolicyContext
from ev_grid_oracle.sim.dispatch.baseline import decide as baseline_decide
from ev_grid_oracle.sim.dispatch.greedy import decide as greedy_decide


class _Rule:
    """What both rules share: the city of the episode and scratch of its size."""

    def __init__(self, name: str, source: str) -> None:
        self.name = name
        self.source = source
        self._city: PackedCity | None = None

    def begin(self, context: PolicyContext) -> None:
        """A new episode of `context.city`; a rule keeps nothing from the one before."""
        if self._city is context.city:
            return
        self._city = context.city
        d = context.city.layout.dims
        self._codes: I32 = np.zeros(d["SP"], np.int32)
        self._travel: F64 = np.zeros(d["SP"])
        self._extra: F64 = np.zeros((d["MP"], 3))
        self._added: F64 = np.zeros(d["F"])
        self._times: F64 = np.zeros(d["K"])
        self._out: F64 = np.zeros(8)

    def _rows(self) -> tuple[PackedCity, npt.NDArray[np.float32], npt.NDArray[np.float32]]:
        """The city and its travel tables, fetched anew: the bank of tables grows."""
        if self._city is None:
            raise RuntimeError(f"{self.name} was asked before begin(): no episode is known.")
        return self._city, self._city.bank.minutes, self._city.bank.km


class Baseline(_Rule):
    """The known greedy rule that every comparison starts from."""

    def __init__(self, source: str = "policy") -> None:
        super().__init__("baseline", source)

    def answer(self, o: F64, out: I32) -> int:
        """Decisions for observation row `o` into `out` (MD, 8); returns how many."""
        city, minutes, km = self._rows()
        n: int = baseline_decide(
            o, city.cf, city.ci, city.layout.at, minutes, km, out, self._codes, self._travel
        )
        return n


class GreedyCounting(_Rule):
    """The strong honest heuristic that stands beside the baseline in every table."""

    def __init__(self, source: str = "policy") -> None:
        super().__init__("greedy_counting", source)

    def answer(self, o: F64, out: I32) -> int:
        """Decisions for observation row `o` into `out` (MD, 8); returns how many."""
        city, minutes, km = self._rows()
        n: int = greedy_decide(
            o, city.cf, city.ci, city.layout.at, minutes, km, out, self._codes, self._travel, self._extra,
            self._added, self._times, self._out,
        )  # fmt: skip
        return n
