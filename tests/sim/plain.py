"""Stations in plain Python, minute by minute, as the specification tells it: the kernels' referee.

No arrays, no tricks: cars are objects, a queue is a list, the state of charge is a number. Within a minute:
who arrives joins the queue (Emergency first, then in order of coming), free plugs take from its head, who
has run out of patience leaves, everybody present counts a minute, who is plugged charges, who has reached
the target leaves at the end of the minute.
"""

from __future__ import annotations

from dataclasses import dataclass, field

RATE_KW = (7.0, 30.0, 150.0)


@dataclass
class Car:
    """One car and what becomes of it. Minutes from the start; `asked` is when it entered the system."""

    seq: int
    arrive: int
    station: int
    soc: float
    target: float
    battery_kwh: float
    ac_kw: float
    dc_kw: float
    knee: float
    floor: float
    patience: int
    rate: int = 2
    emergency: bool = False
    walkin: bool = False
    asked: int = 0
    plugged: int | None = None
    finished: int | None = None
    lost: int | None = None

    @property
    def here(self) -> bool:
        return self.finished is None and self.lost is None


@dataclass
class Station:
    """One station. `rate` is the class of its slots; kW."""

    rate: int
    slots: int
    limit_kw: float
    ac_socket: bool
    ac_socket_kw: float
    queue: list[Car] = field(default_factory=list)
    plugs: list[Car] = field(default_factory=list)
    kwh: float = 0.0  # drawn from the grid

    def vehicle_kw(self, car: Car) -> tuple[float, float]:
        """(limit of the vehicle, limit of the plug) at this station."""
        if self.rate == 0:
            return car.ac_kw, RATE_KW[0]
        if car.dc_kw > 0.0:
            return car.dc_kw, RATE_KW[self.rate]
        return (car.ac_kw, self.ac_socket_kw) if self.ac_socket else (0.0, 0.0)

    def wish_kw(self, car: Car, cap_kw: float) -> float:
        """Power the car would take now: slot, rate, vehicle, taper, demand response."""
        vehicle, plug = self.vehicle_kw(car)
        tapered = max(car.dc_kw, car.ac_kw)  # what the battery itself can take
        if car.soc > car.knee:
            tapered = tapered * (1.0 - (1.0 - car.floor) * (car.soc - car.knee) / (1.0 - car.knee))
        return min(vehicle, plug, RATE_KW[car.rate], tapered, cap_kw)


def play(
    stations: list[Station], cars: list[Car], minutes: int, efficiency: float, cap_kw: float = 1e9
) -> list[tuple[int, float]]:
    """Play `minutes`; returns (cars present, kWh drawn) of each minute. Cars and stations are changed."""
    log = []
    for now in range(minutes):
        coming = [c for c in cars if c.arrive == now]
        for car in sorted(coming, key=lambda c: (c.walkin, c.seq)):
            _join(stations[car.station].queue, car)
        drawn = 0.0
        for station in stations:
            while station.queue and len(station.plugs) < station.slots:
                car = station.queue.pop(0)
                car.plugged = now
                station.plugs.append(car)
            for car in [c for c in station.queue if now - c.arrive >= c.patience]:
                station.queue.remove(car)
                car.lost = now
        present = sum(c.here and c.asked <= now for c in cars)
        for station in stations:
            drawn += _charge(station, now, efficiency, cap_kw)
        log.append((present, drawn))
    return log


def _join(queue: list[Car], car: Car) -> None:
    place = len(queue)
    if car.emergency:
        place = sum(c.emergency for c in queue)
    queue.insert(place, car)


def _charge(station: Station, now: int, efficiency: float, cap_kw: float) -> float:
    """One minute at every plug; kWh drawn."""
    wishes = [station.wish_kw(c, cap_kw) for c in station.plugs]
    total = sum(wishes)
    share = min(1.0, station.limit_kw / total) if total > 0.0 else 1.0
    drawn = 0.0
    for car, wish in zip(list(station.plugs), wishes, strict=True):
        gain = wish * share / 60.0 * efficiency
        missing = (car.target - car.soc) * car.battery_kwh
        if gain >= missing * (1.0 - 1e-12):  # rounding of `soc` must not cost a minute
            gain = missing
            car.soc = car.target
            car.finished = now + 1
            station.plugs.remove(car)
        else:
            car.soc += gain / car.battery_kwh
        drawn += gain / efficiency
    station.kwh += drawn
    return drawn
