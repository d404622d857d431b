"""The city k times as large: a whole city in which demand and supply keep their proportion."""

from __future__ import annotations

import numpy as np
import pytest

from ev_grid_oracle.city import load_city
from ev_grid_oracle.evaluation.bench_load import workload
from ev_grid_oracle.evaluation.bench_scaling import Evenings, Group, bench_scaling
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


@pytest.mark.parametrize("order", ["at_once", "tick_by_tick"])
def test_every_batch_size_plays_the_same_evenings(order: str) -> None:
    evenings = Evenings(load_city("toy"), 4)
    ends = {}
    for envs in (1, 2, 4, 8):
        group = Group(evenings, envs)
        world, found = group.batch.world, []
        for k, first in enumerate(group.starts):
            evenings.rewind(group.batch, first)
            group.play(k, order)
            found += [world.digest(e) for e in range(envs)]
        ends[envs] = found
        assert group.evenings_a_pass == len(found) == max(envs, 4)
    assert len(set(ends[1])) == 4  # four different evenings, not one again and again
    assert ends[1] == ends[2] == ends[4] == ends[8][:4] == ends[8][4:]


def test_batches_that_do_not_share_out_the_evenings_are_refused() -> None:
    with pytest.raises(ValueError, match="3 environments and 4 evenings"):
        Group(Evenings(load_city("toy"), 4), 3)


def test_scaling_reports_every_point_and_its_spread() -> None:
    found = bench_scaling(load_city("toy"), (1, 4), (1, 2), 1, evenings=4)
    points = found["points"]
    assert [(p["envs"], p["stations"]) for p in points] == [(1, 4), (4, 4), (1, 8), (4, 8)]  # type: ignore[attr-defined]
    for order, spread in found["worst_over_fastest"].items():  # type: ignore[attr-defined]
        costs = [p[f"us_per_env_station_{order}"] for p in points]  # type: ignore[attr-defined]
        assert spread == pytest.approx(max(costs) / min(costs))
        assert min(costs) > 0.0
