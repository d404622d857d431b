"""The city k times as large: a whole city in which demand and supply keep their proportion."""

from __future__ import annotations

import numpy as np
import pytest

from ev_grid_oracle.city import load_city
from ev_grid_oracle.evaluation.bench_load import workload
from ev_grid_oracle.evaluation.bench_tiled import tiled_city
from ev_grid_oracle.schema import rows as r


def test_tiling_keeps_proportions() -> None:
    pack = load_city("toy")
    big = tiled_city(pack, 3)
    s, f, b = len(pack.stations.ids), len(pack.grid.feeder_ids), len(pack.grid.bus_ids)
    assert len(set(big.stations.ids)) == 3 * s
    assert len(set(big.grid.bus_ids)) == 3 * b
    assert big.stations.slots.sum() == 3 * pack.stations.slots.sum()
    for copy in range(3):
        part = slice(copy * s, (copy + 1) * s)
        assert (big.stations.feeder[part] == pack.stations.feeder + copy * f).all()
        assert (big.grid.bus_feeder[big.stations.bus[part]] == big.stations.feeder[part]).all()
    parents = big.grid.bus_parent
    has = parents >= 0
    assert (big.grid.bus_feeder[parents[has]] == big.grid.bus_feeder[has]).all()
    assert (np.diff(big.grid.feeder_start) == np.tile(np.diff(pack.grid.feeder_start), 3)).all()
    assert big.profiles.choice_station.max() < 3 * s
    assert tiled_city(pack, 1) is pack


@pytest.mark.parametrize("factor", [1, 3])
def test_workload_rewinds_and_both_orders_agree(factor: int) -> None:
    load = workload(tiled_city(load_city("toy"), factor), 4, distinct=2)
    world = load.batch.world
    start = [world.digest(e) for e in range(4)]
    assert start[:2] == start[2:]
    load.run_at_once()
    at_once = [world.digest(e) for e in range(4)]
    load.rewind()
    assert [world.digest(e) for e in range(4)] == start
    load.run_tick_by_tick()
    assert [world.digest(e) for e in range(4)] == at_once
    assert 0.0 < load.occupancy_frac <= 1.0
    assert not np.isnan(world.f).any()
    assert (world.i[:, int(world.at[r.Y]) + r.Y_OVERFLOW] == 0).all()
