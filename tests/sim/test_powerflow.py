"""The power flow against an independent solver, and at its edges: nothing, too much, no supply."""

from __future__ import annotations

import numpy as np
import pytest
from inject import Rig, edited, silent, story
from referee import newton, random_trees, sweep, worst_error

from ev_grid_oracle.city.packed import packed
from ev_grid_oracle.schema import rows as r
from ev_grid_oracle.schema.enums import EventKind
from ev_grid_oracle.sim.sweep import MAX_SWEEPS

pgm = pytest.mark.skipif(
    not __import__("importlib.util").util.find_spec("power_grid_model"),
    reason="power-grid-model is not installed (extra 'grid')",
)


def loads(city, kw_of_bus):
    """(D, FL) p and q in pu at power factor 0.94 for loads by global bus, both halves."""
    pc, grid = packed(city), city.grid
    shape = (pc.layout.dims["D"], pc.layout.dims["FL"])
    p = np.zeros(shape)
    n_f = len(grid.feeder_ids)
    for half in (0, n_f):
        p[pc.bus_position, half + grid.bus_feeder] = np.asarray(kw_of_bus) / 1000.0
    return p, p * (np.sqrt(1 - 0.94**2) / 0.94)


@pgm
def test_every_feeder_of_bengaluru_agrees_with_newton_raphson(city_blr):
    assert worst_error(city_blr, np.random.default_rng(11), 100, 1.4) < 1e-6


@pgm
def test_laterals_of_the_toy_agree(city_toy):
    parent = city_toy.grid.bus_parent
    assert (parent[1:] < np.arange(len(parent) - 1)).sum() > len(city_toy.grid.feeder_ids)  # it has laterals
    assert worst_error(city_toy, np.random.default_rng(12), 100, 1.4) < 1e-6


@pgm
@pytest.mark.parametrize("shape", [(1, 1), (2, 3), (7, 2), (25, 5)])
def test_random_trees_agree(city_toy, shape):
    rng = np.random.default_rng([13, *shape])
    assert worst_error(random_trees(city_toy, rng, *shape), rng, 40, 0.6) < 1e-6


@pgm
def test_head_power_agrees_and_is_loads_plus_losses(city_blr):
    pc, grid = packed(city_blr), city_blr.grid
    rng = np.random.default_rng(14)
    kw = rng.uniform(0.0, 900.0, len(grid.bus_ids))
    p, q = loads(city_blr, kw)
    _volts, amps, _sweeps = sweep(pc, p, q)
    n_f = len(grid.feeder_ids)
    head = (grid.source_pu * amps[0, :n_f].real) * 1000.0
    z = (grid.line_r_ohm / grid.vn_kv**2) * np.abs(amps[pc.bus_position, grid.bus_feeder]) ** 2 * 1000.0
    assert (z >= 0.0).all()
    for k in range(n_f):
        mine = grid.bus_feeder == k
        assert head[k] == pytest.approx(kw[mine].sum() + z[mine].sum(), rel=1e-6)
        assert head[k] > kw[mine].sum()
    _, truth = newton(grid, kw[None], (kw * np.sqrt(1 - 0.94**2) / 0.94)[None])
    assert head.sum() == pytest.approx(truth[0], rel=1e-6)


def test_no_load_is_the_source_voltage(city_blr):
    pc = packed(city_blr)
    p, q = loads(city_blr, np.zeros(len(city_blr.grid.bus_ids)))
    volts, amps, sweeps = sweep(pc, p, q)
    assert (volts == city_blr.grid.source_pu).all()
    assert (amps == 0).all()
    assert sweeps <= 2


@pytest.mark.parametrize("times", [3.0, 10.0, 1e3, 1e6])
def test_a_collapse_stays_finite_and_bounded(city_blr, times):
    grid = city_blr.grid
    rating = grid.feeder_kva[grid.bus_feeder] * grid.bus_base_share
    p, q = loads(city_blr, times * rating)
    volts, amps, sweeps = sweep(packed(city_blr), p, q)
    assert np.isfinite(volts).all()
    assert np.isfinite(amps).all()
    assert sweeps <= MAX_SWEEPS


def test_a_world_with_absurd_base_load_plays_on(city_toy):
    rig = Rig(
        silent(city_toy),
        scenario=story(city_toy, (1, EventKind.BASE_LOAD, (), 1.0), (3, EventKind.HEAT, (), 30.0)),
    )
    for _ in range(40):
        assert np.isfinite(rig.step())
        assert np.isfinite(rig.view("FD_S")).all()
        assert (rig.view("FD_S")[: rig.city.grid.feeder_kva.size] > 0).all()
        assert np.isfinite(rig.view("FD_VMIN")).all()
        assert rig.y(r.Y_SWEEPS) <= MAX_SWEEPS


def test_a_lane_without_its_own_load_is_not_touched_by_another(city_blr):
    """Feeders side by side in lanes: loading one leaves the others at the source's voltage."""
    grid, pc = city_blr.grid, packed(city_blr)
    kw = np.where(grid.bus_feeder == 2, 400.0, 0.0)
    volts, _, _ = sweep(pc, *loads(city_blr, kw))
    for k in range(len(grid.feeder_ids)):
        same = volts[: int(np.diff(grid.feeder_start)[k]), k] == grid.source_pu
        assert same.all() == (k != 2)


# --- GRD-02: a feeder without supply ---------------------------------------------------------------
def out_rig(city):
    """A car charges at TOY-A on feeder T01 (index 0), which is dead during ticks 2 to 7."""
    rig = Rig(
        silent(city),
        scenario=story(city, (2, EventKind.FEEDER_OUT, (0,), 1.0), (8, EventKind.FEEDER_OUT, (0,), 0.0)),
    )
    seq = rig.car(vehicle=1, soc=0.2, target=0.9, station=0, arrive=0, patience=500)
    rig.step()
    return rig, seq


def test_a_dead_feeder_gives_no_power_and_no_nan_in_the_state(city_toy):
    rig, seq = out_rig(city_toy)
    rig.step()
    before = rig.soc(seq)
    assert before > 0.2
    for _ in range(3):
        rig.step()
        assert rig.tk(r.T_KWH) == 0.0
        assert (rig.view("ST_KW") == 0.0).all()
        assert rig.view("FD_S")[0] == rig.view("FD_P")[0] == 0.0
        assert rig.view("FD_S")[1] > 0.0
        assert np.isfinite(rig.f).all()
        assert rig.soc(seq) == before
        o = rig.world.layout.view(rig.world.observe(0), "O_FVMIN")
        assert np.isnan(o[0])
        assert 0.9 < o[1] < 1.0
        assert rig.world.layout.view(rig.world.observe(0), "O_SUP")[:4].tolist() == [0.0, 0.0, 1.0, 1.0]


def test_a_route_into_a_dead_feeder_is_refused(city_toy):
    rig, _ = out_rig(city_toy)
    rig.step()
    seq = rig.car(vehicle=1, soc=0.5, node=0)
    rig.step([(seq, 0, 0, 1)])
    assert r.VERDICT_CODES[rig.codes(1)[0]] == "E_STATION_DOWN"
    assert seq in rig.present()


def test_a_car_that_arrives_at_a_dead_feeder_waits_unpowered_and_charges_when_it_is_back(city_toy):
    rig, first = out_rig(city_toy)
    seq = rig.car(vehicle=1, soc=0.2, target=0.9, station=0, arrive=12, patience=500)
    for _ in range(6):
        rig.step()
    low = rig.soc(seq)
    assert low == pytest.approx(0.2, abs=1e-12)
    rig.step()
    assert rig.tick == 8
    rig.step()
    assert rig.soc(seq) > low
    assert rig.tk(r.T_KWH) > 0.0
    assert {first, seq} <= rig.present()


def test_feeder_facts_add_up_in_a_world(city_toy):
    """P_head = base + charging + losses for the tick, losses between 0 and a tenth."""
    rig = Rig(silent(edited(city_toy, "stations", site_limit_kw=5000.0)))
    for s in range(4):
        for _ in range(4):
            rig.car(vehicle=1, soc=0.1, target=0.9, station=s, arrive=0, patience=500)
    for _ in range(3):
        rig.step()
        base, head, ev = rig.view("FD_BASEKW")[:2], rig.view("FD_P")[:2], rig.view("FD_EVKWH")[:2] * 12.0
        assert (ev > 20.0).all()
        loss = head - base - ev
        assert (loss > 0.0).all()
        assert (loss < 0.1 * head).all()
        assert rig.view("ST_KW").sum() == pytest.approx(ev.sum(), rel=1e-12)
        assert rig.tk(r.T_LOSS_KWH) == pytest.approx(loss.sum() / 12.0, rel=1e-9)


@pgm
def test_flow_of_a_tick_agrees_with_newton_raphson(city_toy):
    rig = Rig(silent(city_toy))
    for s in range(4):
        rig.car(vehicle=1, soc=0.1, target=0.9, station=s, arrive=0, patience=500)
    rig.step()
    grid, stations = city_toy.grid, city_toy.stations
    p = rig.view("FD_BASEKW")[grid.bus_feeder] * grid.bus_base_share
    q = p * np.sqrt(1 - 0.94**2) / 0.94
    for s in range(4):
        kw = rig.view("ST_KW")[s]
        p[stations.bus[s]] += kw
        q[stations.bus[s]] += kw * np.sqrt(1 - 0.98**2) / 0.98
    volts, head = newton(grid, p[None], q[None])
    for k in range(2):
        assert rig.view("FD_VMIN")[k] == pytest.approx(volts[0][grid.bus_feeder == k].min(), abs=1e-6)
    assert rig.view("FD_P")[:2].sum() == pytest.approx(head[0], rel=1e-6)
