"""The planner's choice for every pending car: the station with the least marginal cost for everybody."""

from __future__ import annotations

from ev_grid_oracle.policies.local.draws import (
    S_CANDIDATES,
    S_CAUTION,
    S_CRITICAL,
    S_FLEX_HARM,
    S_FLEX_SLACK,
    S_OTHERS,
    S_OWN_WAIT,
    arrivals,
)
from ev_grid_oracle.policies.local.station import add_known, future_cost, known_cars
from ev_grid_oracle.schema.compiled import inlined, kernel
from ev_grid_oracle.schema.rows import (
    J_FEEDER,
    K_BATT,
    N_F,
    N_PCOL,
    N_S,
    O_PEND,
    O_X,
    OX_NPEND,
    P_CRIT,
    P_FLEX,
    P_PAT,
    P_READY,
    P_SEQ,
    P_SOC,
    P_TGT,
    P_VEHICLE,
    V_OK,
)
from ev_grid_oracle.sim.dispatch.common import reach, write
from ev_grid_oracle.sim.dispatch.greedy import answered, cost_of, feeder_minutes

# columns of a candidate (labels)
(L_STATION, L_RATE, L_COST, L_TRAVEL, L_OWN, L_WAIT, L_HARM, L_FEEDER, L_GREEDY) = range(9)
N_LABEL = 9
FLEX_MINUTE = 0.1
"""What a flexible car's minute costs until its ready_by."""


@kernel
def best_by_rule(o, cf, ci, at, x, codes, travel, extra, n_extra, added, times, out, wanted, rows):  # type: ignore[no-untyped-def]
    """The `wanted` cheapest stations by greedy's cost into rows (C, 9), ascending; returns how many."""
    n = 0
    for s in range(at[N_S]):
        if codes[s] != V_OK:
            continue
        if n == wanted and travel[s] >= rows[n - 1, L_GREEDY]:
            continue
        cost = cost_of(o, cf, ci, at, x, s, travel, extra, n_extra, added, times, out)
        if n == wanted and cost >= rows[n - 1, L_GREEDY]:
            continue
        q = n if n < wanted else n - 1
        while q > 0 and rows[q - 1, L_GREEDY] > cost:
            for col in range(N_LABEL):
                rows[q, col] = rows[q - 1, col]
            q -= 1
        rows[q, L_STATION] = s
        rows[q, L_RATE] = out[0]
        rows[q, L_TRAVEL] = travel[s]
        rows[q, L_OWN] = out[2]
        rows[q, L_WAIT] = out[1]
        rows[q, L_GREEDY] = cost
        n = min(n + 1, wanted)
    return n


@kernel
def marginal(o, at, s, settings, known, n_known, found, counts, base, mean_own, eta, own, patience, times, out):  # type: ignore[no-untyped-def]
    """Means over the futures: out[0] harm to the others, out[1] the car's own wait and minutes (or its loss)."""
    n = len(counts)
    harm, mine = 0.0, 0.0
    for k in range(n):
        future_cost(o, at, s, settings, known, n_known, found[k], counts[k], mean_own, eta, own, patience, times, out)
        harm += out[0] - base[k]
        mine += out[1]
    out[0] = harm / n
    out[1] = mine / n


@kernel
def prepare(o, cf, at, s, key, settings, tables, shares, gaps, known, n_known, found, counts, base, ready, mean_own, times, out):  # type: ignore[no-untyped-def]
    """Draw the futures of station `s` (ready 0) and cost them without the car (ready below 2)."""
    if ready[s] == 0:
        arrivals(o, cf, at, s, key, settings, shares[s], tables[0, s], tables[1, s], gaps, found[s], counts[s])
        n_known[s] = known_cars(o, at, s, settings, known[s])
        ready[s] = 1
    if ready[s] == 1:
        for k in range(counts.shape[1]):
            future_cost(
                o, at, s, settings, known[s], n_known[s], found[s, k], counts[s, k], mean_own[s], -1.0, 0.0, 0.0, times, out
            )  # fmt: skip
            base[s, k] = out[0]
        ready[s] = 2


@inlined
def flexible_waits(o, x, row, harm, own, settings):  # type: ignore[no-untyped-def]
    """True if a flexible car had better wait: going now costs others, and there is time left."""
    slack = o[x + P_READY] - row[L_TRAVEL] - own
    if o[x + P_PAT] <= 10.0 or slack <= settings[S_FLEX_SLACK]:
        return False
    return harm > settings[S_FLEX_HARM]


@kernel
def choose(o, cf, ci, at, minutes, km, dec, n, key, settings, tables, shares, mean_own, gaps, codes, travel, extra, added, times, out, known, n_known, found, counts, base, ready, labels, n_labels):  # type: ignore[no-untyped-def]
    """Append a route for every pending car that is not among the first `n` decisions; returns the number now.

    labels (MP, C, 9) and n_labels (MP,) get the candidates of each car with their costs, see L_*.
    """
    n_pending = int(o[at[O_X] + OX_NPEND])
    n_shift = n
    n_extra = 0
    for k in range(at[N_F]):
        added[k] = 0.0
    wanted = min(int(settings[S_CANDIDATES]), labels.shape[1])
    for k in range(n_pending):
        n_labels[k] = 0
    for urgent in range(2):
        for k in range(n_pending):
            x = at[O_PEND] + k * N_PCOL
            if (o[x + P_CRIT] > 0.0) != (urgent == 0) or n >= len(dec):
                continue
            seq = int(o[x + P_SEQ])
            if answered(dec, n_shift, seq) > 0:
                continue
            reach(o, cf, ci, at, minutes, km, x, codes, travel)
            rows = labels[k]
            found_n = best_by_rule(o, cf, ci, at, x, codes, travel, extra, n_extra, added, times, out, wanted, rows)
            n_labels[k] = found_n
            if found_n == 0:
                continue
            kwh = (o[x + P_TGT] - o[x + P_SOC]) * cf[at[K_BATT] + int(o[x + P_VEHICLE])]
            flexible = o[x + P_FLEX] > 0.0
            best = -1
            for j in range(found_n):
                s = int(rows[j, L_STATION])
                prepare(
                    o, cf, at, s, key, settings, tables, shares, gaps, known, n_known, found, counts, base, ready, mean_own,
                    times, out,
                )  # fmt: skip
                eta, own = rows[j, L_TRAVEL], rows[j, L_OWN]
                marginal(
                    o, at, s, settings, known[s], n_known[s], found[s], counts[s], base[s], mean_own[s], eta, own,
                    max(o[x + P_PAT] - settings[S_CAUTION], 1.0), times, out,
                )  # fmt: skip
                harm, mine = settings[S_OTHERS] * out[0], out[1]
                feeder = ci[at[J_FEEDER] + s]
                strain = feeder_minutes(o, cf, at, feeder, eta + rows[j, L_WAIT], 60.0 * kwh, added[feeder])
                weight = FLEX_MINUTE if flexible else 1.0
                before = eta + mine - own
                cost = weight * (eta + own + settings[S_OWN_WAIT] * (mine - own)) + harm + strain
                if o[x + P_CRIT] > 0.0:
                    cost += settings[S_CRITICAL] * before
                rows[j, L_COST] = cost
                rows[j, L_WAIT] = mine - own
                rows[j, L_HARM] = harm
                rows[j, L_FEEDER] = strain
                if best < 0 or cost < rows[best, L_COST]:
                    best = j
            row = rows[best]
            s = int(row[L_STATION])
            if flexible and flexible_waits(o, x, row, row[L_HARM] + row[L_FEEDER], row[L_OWN] + row[L_WAIT], settings):
                write(dec, n, seq, 1, -1, int(row[L_RATE]), 5, 5000)
                n += 1
                continue
            write(dec, n, seq, 0, s, int(row[L_RATE]), 0, 9000 if row[L_WAIT] + 5.0 < o[x + P_PAT] else 3000)
            n += 1
            n_known[s] = add_known(known[s], n_known[s], row[L_TRAVEL], row[L_OWN], o[x + P_PAT])
            ready[s] = 1
            if n_extra < len(extra):
                extra[n_extra, 0] = s
                extra[n_extra, 1] = row[L_TRAVEL]
                extra[n_extra, 2] = row[L_OWN]
                n_extra += 1
            kw = 60.0 * kwh / max(row[L_OWN], 1.0)
            added[ci[at[J_FEEDER] + s]] += kw
    return n
