"""`reset(...)`: what may be asked for, checked and resolved once, for every entry point."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone

from ev_grid_oracle.city.model import CityPack, Scenario
from ev_grid_oracle.schema.axes import DEFAULT_TICKS, MAX_SEED, MAX_TICKS
from ev_grid_oracle.schema.enums import DayType, Season
from ev_grid_oracle.schema.errors import OptionError
from ev_grid_oracle.sim.world import WorldOptions

DEFAULTS: Mapping[str, object] = {
    "seed": 0,
    "scenario": "baseline",
    "fleet_mode": "mixed",
    "start": None,
    "day_type": None,
    "season": None,
    "ticks": DEFAULT_TICKS,
    "participation": None,
    "demand": "open",
    "settle": True,
}
"""Every option of `reset` and what it is when nobody says."""

DAY_TYPES = {d.name.lower(): d for d in DayType}
SEASONS = {s.name.lower(): s for s in Season}
_MONTH_SEASON = (0, 0, 1, 1, 1, 2, 2, 2, 2, 3, 3, 0)  # January to December
_WEEKDAY = {DayType.WEEKDAY: 2, DayType.SUNDAY: 6}  # a plain weekday is a Wednesday
_CLOCK = re.compile(r"([01][0-9]|2[0-3]):([0-5][0-9])", re.ASCII)


@dataclass(frozen=True)
class EpisodeOptions:
    """Resolved options: what the kernels take, and how the same episode is asked for again.

    Attributes:
        world: as `World.reset` takes them.
        asked: every option by name, JSON-safe and complete; `resolve(city, **asked)` gives an equal value.
    """

    world: WorldOptions
    asked: Mapping[str, object]

    @property
    def scenario(self) -> Scenario:
        return self.world.scenario


def resolve(city: CityPack, **given: object) -> EpisodeOptions:
    """Check every option; `OptionError` or `UnknownScenarioError` says what is wrong and what would do.

    A start with a zone also gives day type and season (Saturday counts as a weekday); one of those that
    contradicts it is refused. What is not given comes from the scenario.
    """
    unknown = sorted(set(given) - set(DEFAULTS))
    if unknown:
        raise OptionError(f"reset has no option {unknown[0]!r}.", f"Options: {', '.join(DEFAULTS)}.")
    o = {**DEFAULTS, **given}
    name = o["scenario"]
    if not isinstance(name, str):
        raise OptionError(f"scenario is {_shown(name)}.", "Give the name of a scenario as text.")
    scenario = city.scenario(name)
    seed = _whole("seed", o["seed"], 0, MAX_SEED)
    ticks = _whole("ticks", o["ticks"], 1, MAX_TICKS)
    start_min, weekday, season = _start(city, scenario, o["start"], o["day_type"], o["season"])
    world = WorldOptions(
        seed=seed,
        scenario=scenario,
        start_min=start_min,
        season=int(season),
        weekday=weekday,
        persona=_persona(city, o["fleet_mode"]),
        ticks=ticks,
        participation=_participation(o["participation"]),
        open_demand=_choice("demand", o["demand"], ("open", "closed")) == "open",
        settle=_flag("settle", o["settle"]),
    )
    asked = dict(o)
    asked.update(seed=seed, ticks=ticks)
    for key in ("day_type", "season"):
        if asked[key] is not None:
            asked[key] = str(asked[key])
    if asked["participation"] is not None:
        asked["participation"] = world.participation
    return EpisodeOptions(world, asked)


def fleet_modes(city: CityPack) -> tuple[str, ...]:
    """Names `fleet_mode` takes in this city."""
    return ("mixed", *city.personas.fleet_keys)


def _start(
    city: CityPack, scenario: Scenario, start: object, day_type: object, season: object
) -> tuple[int, int, Season]:
    """(minute of the day, weekday 0 to 6, season)."""
    day = None if day_type is None else DAY_TYPES[_choice("day_type", day_type, tuple(DAY_TYPES))]
    of_year = None if season is None else SEASONS[_choice("season", season, tuple(SEASONS))]
    text = scenario.start if start is None else start
    if not isinstance(text, str):
        raise OptionError(f"start is {_shown(text)}.", "Give HH:MM in city time, or ISO 8601 with a zone.")
    clock = _CLOCK.fullmatch(text)
    if clock is None:
        local = _local(city, text)
        weekday = local.weekday()
        own_day = DayType.SUNDAY if weekday == 6 else DayType.WEEKDAY
        own_season = Season(_MONTH_SEASON[local.month - 1])
        if day not in (None, own_day):
            raise OptionError(
                f"start {text!r} is a {own_day.name.lower()}, day_type says otherwise.",
                "Give only one of the two.",
            )
        if of_year not in (None, own_season):
            raise OptionError(
                f"start {text!r} lies in {own_season.name.lower()}, season says otherwise.",
                "Give only one of the two.",
            )
        return 60 * local.hour + local.minute, weekday, own_season
    weekday = _WEEKDAY[day if day is not None else DAY_TYPES[scenario.day_type]]
    return (
        60 * int(clock[1]) + int(clock[2]),
        weekday,
        of_year if of_year is not None else SEASONS[scenario.season],
    )


def _local(city: CityPack, text: str) -> datetime:
    """City time of an ISO text with a zone."""
    try:
        moment = datetime.fromisoformat(text[:40])
    except ValueError:
        raise OptionError(
            f"start is {_shown(text)}.", "Give HH:MM in city time, or ISO 8601 with a zone."
        ) from None
    if moment.tzinfo is None:
        raise OptionError(
            f"start {text!r} has no zone.", "Add one, for instance +05:30 or Z, or give HH:MM in city time."
        )
    try:
        return moment.astimezone(timezone(timedelta(minutes=city.timezone_offset_min)))
    except OverflowError:
        raise OptionError(f"start {text!r} is out of range.", "Give a date of this century.") from None


def _persona(city: CityPack, mode: object) -> int:
    modes = fleet_modes(city)
    return modes.index(_choice("fleet_mode", mode, modes)) - 1


def _participation(value: object) -> float:
    """Share of all cars that ask the dispatcher; 0.0 stands for the pack's own."""
    if value is None:
        return 0.0
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise OptionError(f"participation is {_shown(value)}.", "Give a number above 0 and up to 1, or None.")
    if not (math.isfinite(value) and 0.0 < value <= 1.0):
        raise OptionError(f"participation is {value}.", "Give a number above 0 and up to 1, or None.")
    return float(value)


def _whole(name: str, value: object, low: int, high: int) -> int:
    cure = f"Give a whole number from {low} to {high}."
    if isinstance(value, bool | str | float) or not hasattr(value, "__index__"):
        raise OptionError(f"{name} is {_shown(value)}.", cure)
    if type(value).__name__.startswith("bool"):  # numpy's own bool has __index__ in old releases
        raise OptionError(f"{name} is {_shown(value)}.", cure)
    number = operator.index(value)
    if not low <= number <= high:
        shown = str(number) if abs(number) < 10**18 else "far out of range"
        raise OptionError(f"{name} is {shown}.", cure)
    return number


def _flag(name: str, value: object) -> bool:
    if not isinstance(value, bool):
        raise OptionError(f"{name} is {_shown(value)}.", "Give True or False.")
    return value


def _choice(name: str, value: object, allowed: tuple[str, ...]) -> str:
    if not isinstance(value, str) or value not in allowed:
        raise OptionError(f"{name} is {_shown(value)}.", f"Choose one of {', '.join(allowed)}.")
    return value


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
