"""What the control room has been told of a scenario, tick by tick; the rest of the schedule stays behind.

An event with `announced_ticks` >= 0 is told that many ticks ahead and listed until another event of the
same kind and target has replaced it; one that restores the usual value is no news once it holds. Events
that are never announced are never listed: what they do shows in the state.
"""

from __future__ import annotations

from collections.abc import Sequence

from ev_grid_oracle.city.model import CityPack, ScenarioEvent
from ev_grid_oracle.schema.enums import EVENT_NEUTRAL, EventKind
from ev_grid_oracle.schema.observation import Announcement


class Told:
    """A schedule as it is told.

    Args:
        events: the scenario's schedule.
    """

    def __init__(self, events: Sequence[ScenarioEvent]) -> None:
        self._events = tuple(sorted(events, key=lambda e: (e.tick, e.kind, e.targets)))
        marks = {e.tick for e in self._events}
        marks |= {e.tick - e.announced_ticks for e in self._events if e.announced_ticks >= 0}
        self._marks = frozenset(marks)
        self._now: tuple[ScenarioEvent, ...] = ()
        self._tick: int | None = None

    def at(self, tick: int) -> tuple[ScenarioEvent, ...]:
        """Events known and not yet over at the start of `tick`, by tick."""
        if self._tick != tick and (self._tick is None or tick != self._tick + 1 or tick in self._marks):
            self._now = tuple(e for e in self._events if _listed(e, tick, self._events))
        self._tick = tick
        return self._now

    def known_by(self, tick: int) -> tuple[ScenarioEvent, ...]:
        """What is left of the schedule in a redrawn future: what has happened or been told by `tick`."""
        return tuple(e for e in self._events if e.tick <= tick or _told(e, tick))


def _told(event: ScenarioEvent, tick: int) -> bool:
    return event.announced_ticks >= 0 and event.tick - event.announced_ticks <= tick


def _listed(event: ScenarioEvent, tick: int, events: Sequence[ScenarioEvent]) -> bool:
    if not _told(event, tick):
        return False
    if event.tick > tick:
        return True
    if event.value == EVENT_NEUTRAL[event.kind]:
        return False
    return not any(
        e.kind == event.kind and e.targets == event.targets and event.tick < e.tick <= tick for e in events
    )


def announcement(pack: CityPack, event: ScenarioEvent, tick: int) -> Announcement:
    """The event as the observation shows it at `tick`."""
    return Announcement(
        kind=EventKind(event.kind).name.lower(),
        in_ticks=event.tick - tick,
        targets=target_names(pack, event),
        value=event.value,
        sd=event.sd,
        label=event.label,
    )


def target_names(pack: CityPack, event: ScenarioEvent) -> tuple[str, ...]:
    """Ids of what an event addresses; roads by corridor, else by the zone they start in."""
    kind = event.kind
    if kind == EventKind.DEMAND:
        return tuple(pack.zones.ids[k] for k in event.targets)
    if kind in (EventKind.BASE_LOAD, EventKind.FEEDER_RATING, EventKind.FEEDER_OUT):
        return tuple(pack.grid.feeder_ids[k] for k in event.targets)
    if kind in (EventKind.LINK_SPEED, EventKind.LINK_CLOSED):
        roads = pack.roads
        names: dict[str, None] = {}
        for k in event.targets:
            corridor = int(roads.link_corridor[k])
            zone = int(roads.node_zone[roads.link_from[k]])
            names[roads.corridor_ids[corridor] if corridor >= 0 else pack.zones.ids[zone]] = None
        return tuple(sorted(names))
    return tuple(pack.stations.ids[k] for k in event.targets)


def event_facts(pack: CityPack, event: ScenarioEvent) -> dict[str, object]:
    """A row of the schedule by name, JSON-safe; for the host alone."""
    return {
        "tick": event.tick,
        "kind": EventKind(event.kind).name.lower(),
        "targets": list(target_names(pack, event)),
        "value": event.value,
        "announced_ticks": event.announced_ticks,
        "sd": event.sd,
        "label": event.label,
    }
