"""Scenario files to schedules with resolved targets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from ev_grid_oracle.city.checks_scenarios import BASELINE, Raw, events
from ev_grid_oracle.city.model import Scenario, ScenarioEvent
from ev_grid_oracle.city.targets import TargetIndex, resolve
from ev_grid_oracle.schema.enums import EventKind


def build_scenarios(raw: Mapping[str, Raw], ix: TargetIndex) -> tuple[Scenario, ...]:
    """All scenarios: the baseline first, the others by name without regard to case."""
    names = sorted(raw, key=lambda n: (n != BASELINE, n.lower(), n))
    return tuple(_scenario(raw[n], ix) for n in names)


def _scenario(raw: Raw, ix: TargetIndex) -> Scenario:
    # stable: events of one tick act in the order of the file
    found = sorted((_event(e, ix) for e in events(raw)), key=lambda e: e.tick)
    return Scenario(
        name=str(raw["name"]),
        sentence=str(raw["sentence"]),
        start=str(raw["start"]),
        day_type=str(raw["day_type"]),
        season=str(raw["season"]),
        story_seed=cast(int, raw["story_seed"]),
        events=tuple(found),
    )


def _event(e: Raw, ix: TargetIndex) -> ScenarioEvent:
    kind = EventKind[str(e["kind"]).upper()]
    return ScenarioEvent(
        tick=cast(int, e["tick"]),
        kind=int(kind),
        targets=resolve(kind, e, ix)[0],
        value=float(cast(float, e["value"])),
        announced_ticks=cast(int, e["announce"]),
        sd=float(cast(float, e["sd"])),
        label=str(e["label"]),
    )
