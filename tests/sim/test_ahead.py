"""Asking memory ahead changes no value: large batches tick by tick end where they end in one call."""

from __future__ import annotations

import pytest

from ev_grid_oracle.evaluation.bench_scaling import Evenings, Group
from ev_grid_oracle.evaluation.bench_tiled import tiled_city
from ev_grid_oracle.sim.ahead import CACHED_BYTES, ROW_BYTES


@pytest.mark.parametrize(("factor", "envs"), [(1, 208), (4, 64)])
def test_a_batch_beyond_the_caches_plays_the_same(city_blr, factor, envs):
    evenings = Evenings(tiled_city(city_blr, factor), 8)
    ends = []
    for order in ("at_once", "tick_by_tick"):
        group = Group(evenings, envs)
        w = group.batch.world
        row = w.f[0].nbytes + w.i[0].nbytes
        assert envs * row > CACHED_BYTES  # so that it does ask
        assert (row > ROW_BYTES) == (factor > 1)  # small rows: for the next environment's too
        evenings.rewind(group.batch, 0)
        group.play(0, order)
        ends.append([w.digest(e) for e in range(envs)])
    assert ends[0] == ends[1]
    assert len(set(ends[0])) == 8
