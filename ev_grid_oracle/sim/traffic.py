"""Which travel table holds now, and the one reroute of cars that a closure or a jam catches on the road."""

from __future__ import annotations

from ev_grid_oracle.city.lookup import NO_ROUTE, travel_minutes, travel_wh
from ev_grid_oracle.schema.compiled import inlined, kernel, part
from ev_grid_oracle.schema.rows import (
    B_REROUTED,
    B_STRANDS,
    C_BANK,
    C_FLAGS,
    C_NODE,
    C_SOC_BP,
    C_STATE,
    C_STATION,
    C_TARR,
    C_TDEP,
    C_VEHICLE,
    C_WH,
    CAR,
    K_BATT,
    K_CONST,
    N_C,
    N_CAR,
    Q_RAINROAD,
    X_RAIN,
    X_TDAY,
    X_TNOISE,
    X_TRAFFIC,
    Y_DAYTYPE,
    Y_JAM,
    Y_KEY,
    Y_LINKSTATE,
    Y_START,
    Y_TICK,
    Y_TRAVEL,
    X,
    Y,
)
from ev_grid_oracle.sim.cars import begin_route, leave_calendar

WORSE = 1.5  # a link ahead this much slower than at departure makes a driver look again


@inlined
def travel_key(i, at):  # type: ignore[no-untyped-def]
    """(link state, day type, half hour, corridor + 1) of the travel table that holds now."""
    y = at[Y]
    half_hour = (i[y + Y_START] + 5 * i[y + Y_TICK] + 14400) % 1440 // 30
    return i[y + Y_LINKSTATE], i[y + Y_DAYTYPE], half_hour, i[y + Y_JAM] + 1


@part
def set_travel(f, i, cf, at, index):  # type: ignore[no-untyped-def]
    """Point to the table of the present traffic; the table exists (the World made it before).

    Y_KEY is the state of the traffic and part of the world's state; Y_TRAVEL is where its table happens
    to lie in this process, and is left out of digests.
    """
    state, day, half_hour, jam = travel_key(i, at)
    i[at[Y] + Y_KEY] = ((state * 2 + day) * index.shape[2] + half_hour) * index.shape[3] + jam
    i[at[Y] + Y_TRAVEL] = index[state, day, half_hour, jam]
    rain = 1.0
    if f[at[X] + X_RAIN] > 0.0:
        rain = cf[at[K_CONST] + Q_RAINROAD]
    f[at[X] + X_TRAFFIC] = f[at[X] + X_TDAY] * (1.0 + f[at[X] + X_TNOISE]) * rain


@kernel
def reroute_all(f, i, cf, at, minutes, km, step, link_minutes, index, link_to):  # type: ignore[no-untyped-def]
    """Every car on the road looks at the links still ahead of it, once in its life.

    A car is on the path of its table at departure. Where a link ahead of its next node is closed or
    `WORSE` times slower than it was, the car takes today's fastest path from that node; more energy
    than its battery holds makes it strand.
    """
    y = at[Y]
    now = 5 * i[y + Y_TICK]
    new = i[y + Y_TRAVEL]
    rows = index.reshape(index.size)
    for c in range(at[N_C]):
        b = at[CAR] + c * N_CAR
        if i[b + C_STATE] != 3 or (i[b + C_FLAGS] & (B_REROUTED | B_STRANDS)) != 0:
            continue
        old = rows[i[b + C_BANK]]
        s = i[b + C_STATION]
        node = i[b + C_NODE]
        whole = float(minutes[old, node, s])
        if whole <= 0.0 or old == new or old < 0:
            continue
        scale = (i[b + C_TARR] - i[b + C_TDEP]) / whole
        elapsed = float(now - i[b + C_TDEP])
        clock = 0.0
        while clock <= elapsed:  # drive along the old path until the next node ahead of now
            link = step[old, node, s]
            if link < 0:
                break
            clock += link_minutes[old, link] * scale
            node = link_to[link]
        caught = False
        ahead = node
        while True:
            link = step[old, ahead, s]
            if link < 0:
                break
            if link_minutes[new, link] > WORSE * link_minutes[old, link]:
                caught = True
                break
            ahead = link_to[link]
        if not caught:
            continue
        i[b + C_FLAGS] |= B_REROUTED
        rest = travel_minutes(minutes, new, node, s, f[at[X] + X_TRAFFIC])
        if rest >= NO_ROUTE:
            continue  # no other way: it waits the old path out
        left_before = travel_wh(km, cf, at, old, node, s, i[b + C_VEHICLE])
        wh = i[b + C_WH] - int(left_before) + int(travel_wh(km, cf, at, new, node, s, i[b + C_VEHICLE]))
        departed = i[b + C_TDEP]
        arrival = max(int(clock + rest) - int(elapsed), 1)
        leave_calendar(i, at, b, c)
        begin_route(i, at, b, c, s, now, arrival, wh)
        i[b + C_TDEP] = departed
        if wh > i[b + C_SOC_BP] / 10.0 * cf[at[K_BATT] + i[b + C_VEHICLE]]:
            i[b + C_FLAGS] |= B_STRANDS
