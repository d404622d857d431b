"""Role KPIs: the same episode as the grid company, the charging company, the fleets and the drivers see it.

Sums come from the accounts of the episode (`episode.kpis`). What those do not tell is followed beside them: the
lowest voltage, the use of the slots, and which personas the losses fell on, through the settle too (played
again on a fork by the rule that the settle uses, so that it can be watched).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

import numpy as np
import numpy.typing as npt

from ev_grid_oracle.city.model import CityPack
from ev_grid_oracle.episode.kpis import MAX_PERSONAS
from ev_grid_oracle.episode.ma_cars import CarWatch, Seen
from ev_grid_oracle.episode.session import Session
from ev_grid_oracle.schema import rows as r
from ev_grid_oracle.schema.axes import SETTLE_TICKS
from ev_grid_oracle.sim.world import World

I32 = npt.NDArray[np.int32]

FLEETS = ("taxi", "corporate", "delivery", "emergency")
PRIVATE = ("private",)


class RoleAccounts:
    """What the role KPIs need beside the accounts of the world.

    Attributes:
        lost: losses by persona; flexible requests and those of the warm-up are not counted, as in the KPIs.
    """

    def __init__(self, city: CityPack) -> None:
        self._keys = city.personas.fleet_keys
        self.lost = [0] * len(self._keys)
        self.min_voltage_pu: float | None = None
        self.busy_slots = 0
        self.all_slots = 0

    def tick(self, world: World, lost: Sequence[tuple[int, Seen]]) -> None:
        """A tick has been played; `lost` are the requests that left unserved."""
        n_s = world.layout.dims["S"]
        self.busy_slots += int(world.view("ST_OCC")[0][:n_s].sum())
        self.all_slots += int(world.view("ST_UP")[0][:n_s].sum())
        volts = world.view("FD_VMIN")[0].astype(np.float64)
        volts = volts[np.isfinite(volts) & (volts > 0.0)]
        if len(volts):
            low = float(volts.min())
            self.min_voltage_pu = low if self.min_voltage_pu is None else min(low, self.min_voltage_pu)
        self._count(lost)

    def _count(self, lost: Sequence[tuple[int, Seen]]) -> None:
        for _seq, car in lost:
            if not car.flexible and not car.warm:
                self.lost[car.persona] += 1

    def settle(self, twin: Session, settled: bool) -> None:
        """Follow the losses after the last tick; `twin` stands behind it with time to go on.

        settled: `greedy_counting` plays it out; else every car still there is lost.
        """
        batch = twin._batch
        world = batch.world
        y = cast(I32, world.view("Y")[0])
        y[r.Y_OPEN] = 0
        watch = CarWatch(world)
        if settled:
            for _ in range(SETTLE_TICKS):
                if y[r.Y_NFREE] == world.layout.dims["C"] or y[r.Y_DONE]:
                    break
                batch.play("greedy_counting", 1)
                self._count(watch.update().lost)
        self._count(tuple(watch.cars.items()))

    def kpis(self, accounts: npt.NDArray[np.float64]) -> dict[str, dict[str, float | None]]:
        """The four roles' numbers from the accounts (N_EP,); None where there is nothing to average."""
        a = accounts
        minutes, counts = a[r.EP_WAIT_P :], a[r.EP_WAIT_P + MAX_PERSONAS :]

        def requests(keys: Sequence[str]) -> tuple[float, float, int]:
            at = [k for k, key in enumerate(self._keys) if key in keys]
            return float(minutes[at].sum()), float(counts[at].sum()), sum(self.lost[k] for k in at)

        fleet_min, fleet_n, fleet_lost = requests(FLEETS)
        own_min, own_n, own_lost = requests(PRIVATE)
        walk_n = float(a[r.A_WSERVED] + a[r.A_WLOST])
        kwh, inr = float(a[r.T_KWH]), float(a[r.T_INR])
        return {
            "discom": {
                "overload_kva_min": float(a[r.T_OVER_KVA]),
                "overload_minutes": float(a[r.T_OVER_MIN]),
                "min_voltage_pu": self.min_voltage_pu,
            },
            "cpo": {
                "energy_kwh": kwh,
                "revenue_inr": inr,
                "utilisation_frac": _over(self.busy_slots, self.all_slots),
            },
            "fleet": {"minutes_to_charged": _over(fleet_min, fleet_n), "lost": float(fleet_lost)},
            "driver": {
                "minutes_to_charged": _over(own_min + float(a[r.A_WMTC]), own_n + walk_n),
                "lost": float(own_lost + a[r.A_WLOST]),
                "inr_per_kwh": _over(inr, kwh),
            },
        }

    def to_dict(self) -> dict[str, object]:
        """JSON-safe."""
        return {
            "lost": list(self.lost),
            "min_voltage_pu": self.min_voltage_pu,
            "busy_slots": self.busy_slots,
            "all_slots": self.all_slots,
        }

    def load(self, values: Mapping[str, object]) -> None:
        """Take over what `to_dict` kept; raises KeyError or TypeError on anything else."""
        self.lost = [int(v) for v in cast("Sequence[int]", values["lost"])]
        low = cast("float | None", values["min_voltage_pu"])
        self.min_voltage_pu = None if low is None else float(low)
        self.busy_slots, self.all_slots = (int(cast(int, values[k])) for k in ("busy_slots", "all_slots"))


def last_tick_twin(session: Session) -> Session | None:
    """A fork that can be played beyond the end, made before the last tick; None where this is not the last."""
    world = session._batch.world
    if world.scalar(0, r.Y_TICK) + 1 < world.scalar(0, r.Y_TICKS):
        return None
    twin = session.fork()
    y = cast(I32, twin._batch.world.view("Y")[0])
    y[r.Y_TICKS] += SETTLE_TICKS + 2
    return twin


def repeat_tick(session: Session, twin: Session) -> None:
    """Give `twin` the tick that `session` has just played."""
    a, b = session._batch, twin._batch
    n = int(a.counts[0])
    b.answers[0, :n] = a.answers[0, :n]
    b.counts[0], b.invalid[0] = n, a.invalid[0]
    b.step()


def _over(top: float, bottom: float) -> float | None:
    return top / bottom if bottom > 0.0 else None
