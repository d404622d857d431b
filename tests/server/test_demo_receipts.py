"""What people do to a served world is in its receipt: a spawned car, in both lanes of the demo."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from ev_grid_oracle.city.model import CityPack
from ev_grid_oracle.episode.replay import verify_trace
from ev_grid_oracle.server.demo_session import LANES, DemoSession


def test_lanes_with_spawned_cars_verify(city_toy: CityPack, tmp_path: Path) -> None:
    policies = {"baseline": "baseline", "oracle": "greedy_counting"}
    demo = DemoSession("receipt", city_toy, {"seed": 4, "ticks": 8}, policies, 30.0)
    try:
        for tick in range(8):
            if tick in (2, 5):
                demo.spawn({"persona": "emergency", "soc_frac": 0.2})
            demo.step()
        for name in LANES:
            trace = demo.lanes[name].session.trace
            assert [d.tick for d in trace.interventions] == [2, 5]
            report = verify_trace(trace.save(tmp_path / f"{name}.evt"))
            assert (report.ok, report.frames) == (True, 8), report
            lie = replace(trace.interventions[1], given={"persona": "emergency", "soc_frac": 0.9})
            told = replace(trace, interventions=(trace.interventions[0], lie))
            assert (verify_trace(told).tick, verify_trace(told).field) == (5, "spawn")
    finally:
        demo.close()
