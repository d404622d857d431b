"""Asking memory ahead changes no value: large batches tick by tick end where they end in one call."""

from __future__ import annotations

import numpy as np
import pytest

from ev_grid_oracle.city.packed import packed
from ev_grid_oracle.evaluation.bench_scaling import Evenings, Group
from ev_grid_oracle.evaluation.bench_tiled import tiled_city
from ev_grid_oracle.schema import rows as r
from ev_grid_oracle.schema.pending import pending_place
from ev_grid_oracle.sim import ahead
from ev_grid_oracle.sim.ahead import CACHED_BYTES


@pytest.mark.parametrize(("factor", "envs"), [(1, 208), (4, 64), (10, 24)])
def test_a_batch_beyond_the_caches_plays_the_same(city_blr, factor, envs):
    evenings = Evenings(tiled_city(city_blr, factor), 8)
    ends = []
    for order in ("at_once", "tick_by_tick"):
        group = Group(evenings, envs)
        w = group.batch.world
        row = w.f[0].nbytes + w.i[0].nbytes
        assert envs * row > CACHED_BYTES  # so that it does ask
        evenings.rewind(group.batch, 0)
        group.play(0, order)
        ends.append([w.digest(e) for e in range(envs)])
    assert ends[0] == ends[1]
    assert len(set(ends[0])) == 8


def test_every_line_is_asked_for_once(city_blr, monkeypatch):
    layout = packed(city_blr).layout
    at, f, i = layout.at, np.zeros(layout.sizes["f"]), np.zeros(layout.sizes["i"], np.int32)
    lines = []
    monkeypatch.setattr(ahead, "prefetch", lambda row, k: lines.append(("f" if row is f else "i", int(k))))
    asked = np.zeros(1, np.int64)
    for _ in range(len(f) // 7):  # more often than there are lines to ask for
        ahead.ask.py_func(f, i, at, asked, 7)
        assert asked[0] == len(lines)
    before_the_cars = [("i", k) for k in range(0, at[r.CAR] - 15, 16)]
    floats = [("f", k) for k in range(0, at[r.EV] - 7, 8)]
    behind_the_lists = [("i", k) for k in range(at[r.CAL], len(i), 16)]
    whole = before_the_cars + floats + behind_the_lists
    assert lines == whole
    asked[0] = -1
    ahead.ask.py_func(f, i, at, asked, 7)
    assert asked[0] == -1 and lines == whole


@pytest.mark.parametrize("guess", [0, 3, 11, 12, 40])
def test_a_pending_car_is_found_wherever_it_stands(city_toy, guess):
    layout = packed(city_toy).layout
    at, i = layout.at, np.zeros(layout.sizes["i"], np.int32)
    rng = np.random.default_rng(guess)
    rows = rng.permutation(layout.dims["C"])[:12]
    layout.view(i, "PEND")[:12] = rows
    layout.view(i, "CAR")[rows, r.C_SEQ] = 100 + np.arange(12)
    i[at[r.Y] + r.Y_NPEND] = 12
    find = pending_place.py_func
    assert [find(i, at, 100 + k, guess) for k in range(12)] == list(range(12))
    assert find(i, at, 99, guess) == find(i, at, 112, guess) == -1
    i[at[r.Y] + r.Y_NPEND] = 0
    assert find(i, at, 100, guess) == -1
