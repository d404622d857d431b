"""Small plans on the toy city, and policies that need no registry."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from ev_grid_oracle.city.model import CityPack
from ev_grid_oracle.evaluation.runner import Plan


@pytest.fixture
def plan_of(city_toy: CityPack) -> Callable[..., Plan]:
    """`plan_of(policies=(..), ...)`: ten episodes of eight ticks in blocks of four, on Toytown."""

    def make(**changes: object) -> Plan:
        wanted: dict[str, object] = {
            "policies": ("baseline", "greedy_counting"), "scenarios": ("baseline",), "episodes": 10, "seed": 7,
            "ticks": 8, "block": 4, "series": 3, **changes,
        }  # fmt: skip
        return Plan(city_toy, **wanted)  # type: ignore[arg-type]

    return make


@pytest.fixture
def as_policy(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """`as_policy("name", maker)`: the evaluation finds `maker` under this name."""

    def name_it(name: str, maker: Callable[[], object]) -> None:
        from ev_grid_oracle.policies.registry import make_policy as usual

        for module in ("players", "runner"):
            monkeypatch.setattr(
                f"ev_grid_oracle.evaluation.{module}.make_policy",
                lambda asked: maker() if asked == name else usual(asked),
            )

    return name_it
