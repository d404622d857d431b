"""Threads that start on a city nobody has packed yet share one packed city, and so one numbering of travel tables."""

from __future__ import annotations

import time

import pytest

from ev_grid_oracle.city import packed as room
from ev_grid_oracle.city.model import CityPack
from ev_grid_oracle.evaluation.runner import Plan, evaluate


def test_a_city_is_packed_once(city_toy: CityPack, monkeypatch: pytest.MonkeyPatch) -> None:
    made = []
    real = room._pack

    def slow(pack: CityPack) -> room.PackedCity:
        made.append(pack.id)
        time.sleep(0.2)  # long enough for a second thread to come by
        return real(pack)

    monkeypatch.setattr(room, "_pack", slow)
    monkeypatch.setattr(room, "_PACKED", {})
    evaluate(Plan(city_toy, ("baseline", "greedy_counting"), ("baseline",), 2, 1, 3, 2))
    assert made == ["toy"]
