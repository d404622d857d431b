"""The closed vocabularies. Values are what the arrays hold; names are what people and texts see."""

from __future__ import annotations

from enum import IntEnum


class ActionKind(IntEnum):
    """What an answer asks for. `NONE` is "no answer": the car stays pending."""

    NONE = -1
    ROUTE = 0
    DEFER = 1
    LOAD_SHIFT = 2


class Rate(IntEnum):
    """Plug classes and, with the same names, the charge-rate caps of an answer."""

    SLOW = 0
    FAST = 1
    ULTRA_FAST = 2


RATE_KW: tuple[float, float, float] = (7.0, 30.0, 150.0)
N_CLASSES = len(RATE_KW)
"""Power of a slot of each class and of the cap of the same name, kW."""


class CarState(IntEnum):
    """Life of a car; every car is in exactly one state."""

    ABSENT = 0
    PENDING = 1
    DEFERRED = 2
    ENROUTE = 3
    QUEUED = 4
    CHARGING = 5
    SERVED = 6
    LOST = 7
    STRANDED = 8


class DayType(IntEnum):
    WEEKDAY = 0
    SUNDAY = 1


class Season(IntEnum):
    WINTER = 0
    SUMMER = 1
    MONSOON = 2
    POST_MONSOON = 3


class RoadClass(IntEnum):
    EXPRESSWAY = 0
    TRUNK = 1
    PRIMARY = 2
    SECONDARY = 3
    TERTIARY = 4


class EventKind(IntEnum):
    """Physical events of a scenario: what changes, with the unit of `value`.

    An event stays until another of the same kind and target replaces it, or an event of value
    `neutral` ends it.
    """

    BASE_LOAD = 0  # added base load, fraction of the feeder's rating (0.08); neutral 0
    DEMAND = 1  # factor on arrivals starting in the target zones; neutral 1
    SITE_LIMIT = 2  # factor on a station's site limit; neutral 1
    FEEDER_RATING = 3  # factor on a feeder's rating (head and lines); neutral 1
    TRANSFORMER_RATING = 4  # factor on station transformers' rating; neutral 1
    SLOTS = 5  # usable slots of a station (count); neutral: -1 = all
    PRICE = 6  # factor on station prices; neutral 1
    SOLAR = 7  # factor on solar output; neutral 1
    LINK_SPEED = 8  # factor on link travel time; neutral 1
    LINK_CLOSED = 9  # 1 closed, 0 open; neutral 0
    FEEDER_OUT = 10  # 1 feeder without supply; neutral 0
    HEAT = 11  # deg C above the season's normal (drives base load by the pack's sensitivity); neutral 0
    RAIN = 12  # 1 raining: solar and roads follow by the pack's sensitivity; neutral 0


EVENT_NEUTRAL: tuple[float, ...] = (0.0, 1.0, 1.0, 1.0, 1.0, -1.0, 1.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0)
