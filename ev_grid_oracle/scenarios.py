"""The scenarios of a city: `scenario_names()`, `scenario("heatwave_peak")`, `scenarios()`.

A scenario is a deterministic schedule of physical events with a default start, day type, season and story seed.
It names the future: it belongs to the host, not to an agent.
"""

from __future__ import annotations

from ev_grid_oracle.city.load import load_city
from ev_grid_oracle.city.model import CityPack, Scenario, ScenarioEvent

__all__ = ["Scenario", "ScenarioEvent", "scenario", "scenario_names", "scenarios"]


def scenarios(city: CityPack | str = "bengaluru") -> tuple[Scenario, ...]:
    """Every scenario of the city, in the pack's order."""
    return (load_city(city) if isinstance(city, str) else city).scenarios


def scenario_names(city: CityPack | str = "bengaluru") -> tuple[str, ...]:
    """Their names."""
    return tuple(s.name for s in scenarios(city))


def scenario(name: str, city: CityPack | str = "bengaluru") -> Scenario:
    """The scenario called `name`; `UnknownScenarioError` names the ones there are."""
    return (load_city(city) if isinstance(city, str) else city).scenario(name)
