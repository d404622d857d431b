"""The grid operator's directive: what it may order, and for which answers it is broken.

A directive binds from the tick after the one it is given in, as a whole, until another replaces it. What it
leaves out is not limited.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ev_grid_oracle.protocol.cursor import shown
from ev_grid_oracle.schema.action import ParseIssue

MAX_BLACKLIST = 5
GRID_CAP = (0.5, 1.2)
PRICE = (0.5, 2.0)
FEEDER_CAP = (0.3, 1.2)
FIELDS = ("max_grid_load_pct", "station_blacklist", "price_mult", "feeder_caps")


@dataclass(frozen=True)
class Directive:
    """An order.

    Attributes:
        max_grid_load_pct: no car is sent off where the city's load with it would pass this fraction of the
            rated power of all feeders; None: no limit.
        station_blacklist: stations to which no car is sent.
        price_mult: factor on every station's price, beside tariff and scenario.
        feeder_caps: the same limit for single feeders, as fractions of their nominal rating.
    """

    max_grid_load_pct: float | None = None
    station_blacklist: tuple[str, ...] = ()
    price_mult: float = 1.0
    feeder_caps: Mapping[str, float] = field(default_factory=dict)

    @property
    def limits(self) -> bool:
        """Whether it can forbid an answer at all."""
        return self.max_grid_load_pct is not None or bool(self.station_blacklist or self.feeder_caps)

    def to_dict(self) -> dict[str, object]:
        """JSON-safe; `read_directive` gives an equal value."""
        return {
            "max_grid_load_pct": self.max_grid_load_pct,
            "station_blacklist": list(self.station_blacklist),
            "price_mult": self.price_mult,
            "feeder_caps": dict(self.feeder_caps),
        }


NO_DIRECTIVE = Directive()


def read_directive(
    values: object, station_ids: Sequence[str], feeder_ids: Sequence[str]
) -> tuple[Directive | None, tuple[ParseIssue, ...]]:
    """Judge a directive (without its message); never raises.

    Returns:
        The directive, None where there is none or it is refused whole, and why.
    """
    if isinstance(values, Directive):
        values = values.to_dict()
    if values is None:
        return None, ()
    if not isinstance(values, Mapping):
        return None, (
            _issue("E_FORMAT", "", f"A directive is a dictionary, not {type(values).__name__[:40]}."),
        )
    issues = [
        _issue("E_KEY", str(key)[:40], f"A directive has no field {shown(str(key))}.")
        for key in values
        if key not in FIELDS
    ]
    cap = values.get("max_grid_load_pct")
    if cap is not None:
        issues += _number("max_grid_load_pct", cap, *GRID_CAP)
    mult = values.get("price_mult", 1.0)
    issues += _number("price_mult", mult, *PRICE)
    blacklist = values.get("station_blacklist", ())
    if isinstance(blacklist, str) or not isinstance(blacklist, Sequence):
        issues.append(_issue("E_FORMAT", "station_blacklist", "station_blacklist is a list of station ids."))
        blacklist = ()
    if len(blacklist) > MAX_BLACKLIST:
        issues.append(
            _issue("E_RANGE", "station_blacklist", f"At most {MAX_BLACKLIST} stations may be listed.")
        )
    for name in list(blacklist)[:MAX_BLACKLIST]:
        if not isinstance(name, str) or name not in station_ids:
            issues.append(
                _issue("E_STATION", "station_blacklist", f"{shown(str(name))} is no station of this city.")
            )
    caps = values.get("feeder_caps", {})
    if not isinstance(caps, Mapping):
        issues.append(
            _issue("E_FORMAT", "feeder_caps", "feeder_caps is a dictionary of feeder ids and fractions.")
        )
        caps = {}
    for name, value in list(caps.items())[: len(feeder_ids) + 1]:
        if name not in feeder_ids:
            issues.append(
                _issue("E_STATION", "feeder_caps", f"{shown(str(name))} is no feeder of this city.")
            )
        else:
            issues += _number("feeder_caps", value, *FEEDER_CAP)
    if issues:
        return None, tuple(issues[:20])
    return (
        Directive(
            None if cap is None else float(cap),
            tuple(dict.fromkeys(blacklist)),
            float(mult),
            {name: float(caps[name]) for name in feeder_ids if name in caps},
        ),
        (),
    )


def _issue(code: str, name: str, message: str) -> ParseIssue:
    return ParseIssue(code, 1, 1, name, message)


def _number(name: str, value: object, low: float, high: float) -> list[ParseIssue]:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return [_issue("E_FORMAT", name, f"{name} is no number.")]
    if not low <= value <= high:  # a NaN compares false
        return [
            _issue("E_RANGE", name, f"{name} is {shown(str(value)[:40])}; {low:g} to {high:g} are allowed.")
        ]
    return []
