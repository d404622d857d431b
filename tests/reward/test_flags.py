"""Each flag springs in the situation that its sentence names, and not otherwise."""

from __future__ import annotations

import numpy as np
import pytest
from inject import Rig, edited, silent, story

from ev_grid_oracle.reward.terms import FLAG_NAMES, FLAGS, PENALTY
from ev_grid_oracle.schema import rows as r
from ev_grid_oracle.schema.enums import EventKind

CENTRE, MARKET, NORTH, LAKE = range(4)
FAR = 10**6  # minutes of patience: not a matter of this test


def lab(city, **constants):
    """Every car fits everywhere; a busy car is in the way of nobody (N0 = 1)."""
    city = edited(city, "vehicles", battery_kwh=600.0, ac_kw=7.0, dc_kw=30.0)
    return silent(edited(city, "stations", slots=4, transformer_kva=5000.0), n0_car_minutes=1.0, **constants)


def flags(rig):
    """Names and counts of the flags of the last tick."""
    return {FLAG_NAMES[k]: int(n) for k, n in enumerate(rig.view("FLAG")) if n}


def penalty(rig):
    return float(-rig.view("TERM")[7])


def pending(rig, **kw):
    return rig.car(**{"soc": 0.5, "target": 0.8, "node": 20, "patience": FAR, **kw})


def busy(rig):
    """Fill every slot, so that idling is nobody's fault."""
    for s in range(4):
        for _ in range(4):
            rig.car(station=s, arrive=5 * rig.tick, soc=0.0, target=1.0, patience=FAR)


def test_the_table_is_whole():
    assert len(FLAGS) == len(set(FLAG_NAMES)) == r.N_FLAGS
    assert [f.name for f in FLAGS if not f.charged] == ["invalid_action"]


def test_a_clean_answer_raises_nothing(city_toy):
    rig = Rig(lab(city_toy))
    a, b = pending(rig), pending(rig)
    rig.step([(a, 0, CENTRE, 1), (b, 1, -1, 1, 10)])
    assert flags(rig) == {}
    assert penalty(rig) == 0.0


def test_invalid_action_is_shown_and_charged_as_format_only(city_toy):
    rig = Rig(lab(city_toy))
    rig.step(invalid=1)
    assert flags(rig) == {"invalid_action": 1}
    assert penalty(rig) == 0.0
    rig.step()
    assert flags(rig) == {}


def test_teleportation_is_a_station_out_of_reach(city_toy):
    rig = Rig(lab(city_toy))
    seq = pending(rig, soc=0.0001)
    rig.step([(seq, 0, LAKE, 1)])
    assert flags(rig) == {"teleportation": 1}
    assert penalty(rig) == PENALTY


@pytest.mark.parametrize("what", ["dead", "unknown", "plug", "rate", "twice", "out"])
def test_phantom_capacity_is_a_thing_that_is_not_there(city_toy, what):
    pack = lab(city_toy)
    if what == "plug":
        pack = edited(pack, "vehicles", dc_kw=0.0)
    events = [(0, EventKind.SLOTS, (LAKE,), 0.0)] if what == "dead" else []
    events += [(0, EventKind.FEEDER_OUT, (1,), 1.0)] if what == "out" else []
    rig = Rig(pack, scenario=story(pack, *events))
    seq = pending(rig)
    other = pending(rig)
    answers = {
        "dead": [(seq, 0, LAKE, 1)],
        "out": [(seq, 0, LAKE, 1)],
        "unknown": [(424242, 0, LAKE, 1)],
        "plug": [(seq, 0, MARKET, 2)],
        "rate": [(seq, 2, NORTH, 2, 10)],
        "twice": [(seq, 0, LAKE, 1), (seq, 0, CENTRE, 1)],
    }[what]
    rig.step(answers)
    assert flags(rig) == {"phantom_capacity": 1}
    assert penalty(rig) == PENALTY
    assert other in rig.present()


def test_time_window_is_a_deferral_or_detour_beyond_patience(city_toy):
    rig = Rig(lab(city_toy))
    a, b = pending(rig, patience=19), pending(rig, patience=19)
    rig.step([(a, 1, -1, 1, 20), (b, 1, -1, 1, 15)])
    assert flags(rig) == {"time_window_violation": 1}
    rig = Rig(lab(city_toy))
    table = rig.world.bank.minutes[rig.y(r.Y_TRAVEL)][:, : len(rig.world.city.pack.stations.ids)]
    node = int(np.argmax(table.max(1) - table.min(1)))
    seq = pending(rig, node=node, patience=10)
    rig.step([(seq, 0, int(table[node].argmax()), 1)])
    assert flags(rig) == {"time_window_violation": 1}


@pytest.mark.parametrize(("crowd", "piled"), [(4, False), (8, False), (9, True), (12, True)])
def test_queue_piling_is_more_without_a_slot_than_slots(city_toy, crowd, piled):
    """Four slots: with `crowd` cars plugged or on the way, the rest beyond the slots count."""
    rig = Rig(lab(city_toy))
    for _ in range(crowd):
        rig.car(station=LAKE, arrive=200, patience=FAR)
    seq = pending(rig)
    rig.step([(seq, 0, LAKE, 1)])
    assert flags(rig) == ({"queue_piling": 1} if piled else {})
    seq = pending(rig)
    rig.step([(seq, 0, CENTRE, 1)])  # another station is not meant
    assert flags(rig) == {}


def test_queue_piling_streak_is_three_ticks_in_a_row(city_toy):
    rig = Rig(lab(city_toy))
    for _ in range(12):
        rig.car(station=LAKE, arrive=300, patience=FAR)
    seen = []
    for tick in range(8):
        seq = pending(rig)
        rig.step([(seq, 0, LAKE if tick != 4 else CENTRE, 1)])
        seen.append("queue_piling_streak" in flags(rig))
    assert seen == [False, False, True, True, False, False, False, True]


def test_grid_limit_violation_is_a_feeder_over_its_limit(city_toy):
    pack = lab(city_toy)
    for factor, over in ((1.0, False), (0.3, True)):
        rig = Rig(pack, scenario=story(pack, (0, EventKind.FEEDER_RATING, (1,), factor)))
        rig.step()
        u = rig.view("FD_S")[1] / rig.view("FD_KVA")[1]
        assert (u > 1.3) == over
        a, b = pending(rig), pending(rig)
        rig.step([(a, 0, LAKE, 1), (b, 0, CENTRE, 1)])
        assert flags(rig) == ({"grid_limit_violation": 1} if over else {})


@pytest.mark.parametrize(("heat", "over"), [(0.999, False), (1.001, True)])
def test_grid_limit_violation_by_heat_alone(city_toy, heat, over):
    """The equivalent load passes 1 although the load of the moment does not."""
    rig = Rig(lab(city_toy))
    rig.step()
    rig.view("FD_X")[1] = heat
    assert rig.view("FD_S")[1] / rig.view("FD_KVA")[1] < 1.0
    rig.step([(pending(rig), 0, LAKE, 1)])
    assert flags(rig) == ({"grid_limit_violation": 1} if over else {})


def test_defer_stalling_is_the_sixth_time_and_spares_the_flexible(city_toy):
    rig = Rig(lab(city_toy))
    busy(rig)
    plain, flexible = pending(rig), pending(rig, flags=r.B_FLEX, ready=5 * 9)
    seen = []
    for _ in range(12):
        rig.step([(plain, 1, -1, 1, 5), (flexible, 1, -1, 1, 5)])
        seen.append(flags(rig).get("defer_stalling", 0))
    # the flexible one's window ends at minute 45 (tick 9): from then on it stalls too
    assert seen == [0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2]


def shift_flags(rig, answers_of_tick, ticks):
    out = []
    for tick in range(ticks):
        rig.step(answers_of_tick(tick))
        out.append("load_shift_spam" in flags(rig))
    return out


def test_load_shift_spam_is_three_ticks_in_a_row_on_a_calm_feeder(city_toy):
    rig = Rig(lab(city_toy))
    busy(rig)
    seq = pending(rig)
    rig.step()
    assert rig.view("FD_S")[1] / rig.view("FD_KVA")[1] < 0.8
    pause = shift_flags(rig, lambda t: [(seq, 2, LAKE, 0, 5)] if t != 2 else [], 6)
    assert pause == [False, False, False, False, False, True]


def test_load_shift_spam_through_none_is_spam_too(city_toy):
    """STATION NONE takes the tightest feeder; when that one is calm, three in a row are spam all the same."""
    rig = Rig(lab(city_toy))
    busy(rig)
    seq = pending(rig)
    rig.step()
    assert (rig.view("FD_S")[:2] / rig.view("FD_KVA")[:2] < 0.8).all()
    assert shift_flags(rig, lambda _t: [(seq, 2, -1, 0, 5)], 4) == [False, False, True, True]


def test_load_shift_on_a_strained_feeder_is_no_spam(city_toy):
    pack = lab(city_toy)
    rig = Rig(pack, scenario=story(pack, (0, EventKind.FEEDER_RATING, (1,), 0.5)))
    busy(rig)
    seq = pending(rig)
    rig.step()
    assert rig.view("FD_S")[1] / rig.view("FD_KVA")[1] > 0.8
    assert shift_flags(rig, lambda _t: [(seq, 2, LAKE, 0, 5)], 6) == [False] * 6


def test_more_than_four_load_shifts_in_a_tick_are_spam(city_toy):
    for n, spam in ((4, False), (5, True)):
        rig = Rig(lab(city_toy))
        busy(rig)
        seqs = [pending(rig) for _ in range(n)]
        rig.step()
        rig.step([(s, 2, LAKE, 0, 5) for s in seqs])
        assert ("load_shift_spam" in flags(rig)) == spam
        assert penalty(rig) == (PENALTY if spam else 0.0)  # names no car: once a tick


def test_idle_is_three_ticks_without_a_route_while_somebody_wants_one(city_toy):
    rig = Rig(lab(city_toy))
    seq = pending(rig)
    seen = []
    for tick in range(7):
        rig.step([(pending(rig), 0, CENTRE, 1)] if tick == 3 else [])
        seen.append("idle" in flags(rig))
    assert seen == [False, False, True, False, False, False, True]
    assert penalty(rig) == PENALTY
    assert seq in rig.present()


@pytest.mark.parametrize("why", ["nobody", "flexible", "full"])
def test_idle_needs_somebody_who_wants_and_a_slot(city_toy, why):
    rig = Rig(lab(city_toy))
    if why == "flexible":
        pending(rig, flags=r.B_FLEX, ready=5000)
    if why == "full":
        busy(rig)
        pending(rig)
        rig.step()
    for _ in range(6):
        rig.step()
        assert "idle" not in flags(rig)


def test_always_deferring_is_idle_too(city_toy):
    rig = Rig(lab(city_toy))
    seq = pending(rig)
    seen = []
    for _ in range(5):
        rig.step([(seq, 1, -1, 1, 5)])
        seen.append("idle" in flags(rig))
    assert seen[2:] == [True] * 3


def test_a_car_is_charged_once_a_tick(city_toy):
    """Answered twice and refused: one penalty a car; two cars, two penalties."""
    rig = Rig(lab(city_toy))
    a, b = pending(rig, patience=10), pending(rig, patience=10)
    rig.step([(a, 1, -1, 1, 60), (b, 1, -1, 1, 60)])
    assert penalty(rig) == 2 * PENALTY
    rig = Rig(lab(city_toy))
    a = pending(rig, patience=10)
    rig.step([(a, 1, -1, 1, 60), (a, 1, -1, 1, 60)])
    assert penalty(rig) == PENALTY
