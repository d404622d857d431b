"""Where every value of an environment lies in memory.

One environment is two rows, a float64 row ``f`` and an int32 row ``i``, plus its stream keys ``u``
(uint64); a city is two rows, ``cf`` and ``ci``; an observation is one float64 row ``o``. A *field* is a
named block of a row. Kernels get the offsets through one int64 vector ``at``: ``at[SLOT_G]`` is the
offset of field ``SLOT_G`` in its row, ``at[N_S]`` the number of stations. So a kernel takes a handful
of arrays whatever the city's size, an environment is copied by copying rows, and nothing is compiled
again for another city.

The table below is the only definition: `Layout` sums it up for given dimensions, the reference page
`docs/reference/world.md` is generated from it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

# --- dimensions (values in `at`) --------------------------------------------------------------------
DIM_NAMES = (
    "S", "SP", "K", "C", "F", "FL", "D", "Z", "N", "V", "P", "M", "MP", "ME", "MI", "MIX", "G", "L",
)  # fmt: skip
(N_S, N_SP, N_K, N_C, N_F, N_FL, N_D, N_Z, N_N, N_V, N_P, N_M, N_MP, N_ME, N_MI, N_MIX, N_G, N_L) = range(18)
_FIRST_FIELD = 24

# --- sizes that no city changes ---------------------------------------------------------------------
RING = 256  # minutes of the arrival calendar; a longer trip counts as no route
WALK_BINS = 8  # two hours of walk-in history
WALK_BIN_TICKS = 3
WALK_PAST = 2400  # ticks before 0 at which the ring starts counting; warm-ups are shorter
AHEAD = 18  # ticks of forecast in an observation
N_TERMS = 9
N_FLAGS = 11
N_STREAMS = 9
NONE_KW = 1e9  # "no cap"
NEVER = 2**30  # a minute that does not come

# streams: u[STREAM] is the key of the stream
(U_WARM, U_OCC, U_DEMAND, U_FLEET, U_WALK, U_INCIDENT, U_WEATHER, U_BASE, U_TRAFFIC) = range(N_STREAMS)
STREAM_NAMES = ("warm_up", "occupancy", "demand", "fleet", "walk_ins", "incidents", "weather", "base_load",
                "traffic")  # fmt: skip

# columns of a car (int32); times in minutes from the episode's start, `_BP` in 1/10,000
(
    C_STATE, C_FLAGS, C_SEQ, C_VEHICLE, C_NODE, C_STATION, C_RATE, C_TREQ, C_PAT, C_TWAIT,
    C_READY, C_TDEP, C_TARR, C_BANK, C_NEXT, C_SOC_BP, C_TGT_BP, C_URG_BP, C_WH, C_OWN, C_CONF_BP,
) = range(21)  # fmt: skip
N_CAR = 21
C_UNTIL = C_TARR  # of a deferred car: the tick at which it asks again
CAR_COLUMNS = (
    "state", "flags", "seq", "vehicle", "node", "station", "rate", "t_request_min",
    "patience_left_min", "t_wait_from_min", "ready_by_min", "t_depart_min", "t_arrive_min", "travel_row",
    "next", "soc_bp", "target_bp", "urgency_bp", "travel_wh", "own_min", "confidence_bp",
)  # fmt: skip

# bits of C_FLAGS; above them the persona (8 bits) and how often the car was deferred (7 bits)
B_WALKIN, B_FLEX, B_CRIT, B_EMERG, B_ANN, B_REROUTED, B_STRANDS, B_WARM, B_CONF = 1, 2, 4, 8, 16, 32, 64, 128, 256

S_PERSONA, S_NDEF = 16, 24
ONE_DEFERRAL = 1 << S_NDEF
MAX_DEFERRALS = 127

# columns of a pending car in an observation
(
    P_SEQ, P_PERSONA, P_VEHICLE, P_NODE, P_SOC, P_TGT, P_URG, P_CRIT, P_EMERG, P_FLEX, P_READY, P_PAT, P_WAITED,
    P_NDEF,
) = range(14)  # fmt: skip
N_PCOL = 14
# columns of a known car on the way in an observation
I_STATION, I_ETA, I_OWN, I_ANN = range(4)
N_ICOL = 4
# columns of an event
E_TICK, E_KIND, E_TARGET, E_VALUE, E_TELL, E_KNOWN = range(6)
N_ECOL = 6
K_LINKSTATE = 20  # internal event kind: switch to a prepared state of the road links
# columns of a decision
D_SEQ, D_KIND, D_STATION, D_RATE, D_DEFER, D_CONF, D_CODE = range(7)
N_DCOL = 8

# scalars of the float row
(
    X_DAYF, X_COMMON, X_TDAY, X_TNOISE, X_SOLAR, X_CLOUD, X_RAIN, X_HEAT, X_RENEW, X_CARBON, X_TRAFFIC, X_GRIDLOAD,
    X_RATIO, X_MEANREN, X_USUAL2H, X_SEEN2H, X_BASELOAD, X_PRICEMULT, X_PART,
) = range(19)  # fmt: skip
N_X = 24
# scalars of the int row
(
    Y_TICK, Y_TICKS, Y_START, Y_DAY0, Y_SEASON, Y_TRAVEL, Y_LINKSTATE, Y_JAM, Y_JAM_UNTIL, Y_NFREE, Y_NPEND, Y_NDEF,
    Y_SEQ, Y_NORM, Y_FLEX, Y_CRIT, Y_NEV, Y_SETTLE, Y_OPEN, Y_PERSONA, Y_OVERFLOW, Y_WARM, Y_PEXP, Y_DONE, Y_FLAGBITS,
    Y_WSEQ, Y_IDLE, Y_LSSTREAK, Y_PILESTREAK, Y_SWEEPS, Y_DAYTYPE, Y_CALENDAR, Y_LASTLS, Y_HIDDEN, Y_FORKED, Y_KEY, Y_FDUE, Y_FREE,
) = range(38)  # fmt: skip
N_Y = 40

# facts of the tick just played (float row, block TK)
(
    T_WAIT, T_SERVICE, T_URGENT, T_STRESS, T_PEAK, T_BELOW_KWH, T_OVER_KVA, T_OVER_MIN, T_VOLT, T_KWH, T_RKWH,
    T_FORMAT, T_FLAGS, T_REQ, T_WALK, T_SERVED, T_LOST, T_STRANDED, T_WLOST, T_WSERVED, T_STRESS_EV, T_PEAK_EV,
    T_CRITDEF, T_INR, T_KG, T_DETOUR_KM, T_LOSS_KWH, T_BASE_OVER_MIN, T_VOLT_MIN,
) = range(29)  # fmt: skip
N_TK = 32

# accounts of the episode (float row, block EP): sums of the tick facts (same index), then these
EP_BASE = N_TK
(
    A_MTC, A_MTP, A_NREQ, A_NFLEX, A_NWALK, A_WMTC, A_NCRIT, A_SERVED, A_LOST, A_STRANDED, A_WSERVED, A_WLOST,
    A_FMISS, A_FLATE, A_NPLUG, A_WAITSUM, A_BRIER, A_NBRIER, A_UNSERVED_KWH, A_FLOOR, A_PLUGGED, A_WSTRANDED,
    A_FDONE, A_INVALID, A_REFUSED,
) = range(EP_BASE, EP_BASE + 25)  # fmt: skip
EP_WAIT_P = EP_BASE + 28  # + persona: minutes to charged by persona; + 8: counts
EP_WAIT_Z = EP_WAIT_P + 16  # + zone: minutes to charged by zone (first 32 zones); + 32: counts
N_EP = EP_WAIT_Z + 64


@dataclass(frozen=True)
class FieldSpec:
    """One block of a row: index in `at`, row, shape (names of dimensions or numbers), unit, meaning."""

    name: str
    row: str
    shape: tuple[str | int, ...]
    unit: str
    meaning: str


def _f(name: str, row: str, shape: str, unit: str, meaning: str) -> FieldSpec:
    dims = tuple(int(p) if p.isdigit() else p for p in shape.split()) if shape else ()
    return FieldSpec(name, row, dims, unit, meaning)


FIELDS: tuple[FieldSpec, ...] = (
    # environment, float row
    _f("SLOT_G", "f", "K SP", "kWh", "energy still to go into the battery at each slot"),
    _f("SLOT_CAP", "f", "K SP", "kW", "cap of the slot's car: slot, charge rate and vehicle limit; 0 empty"),
    _f("SLOT_A", "f", "K SP", "kW", "taper: power at the target state of charge"),
    _f("SLOT_B", "f", "K SP", "kW/kWh", "taper: rise of that power per kWh still to go"),
    _f("ST_LIMIT", "f", "SP", "kW", "present site limit"),
    _f("ST_DRCAP", "f", "SP", "kW", "demand-response cap of each slot, 1e9 none, 0 without supply"),
    _f("ST_DRSET", "f", "SP", "kW", "cap set by load_shift, before supply is considered"),
    _f("ST_KWH", "f", "SP", "kWh", "energy drawn in the tick"),
    _f("ST_KW", "f", "SP", "kW", "mean power of the tick"),
    _f("ST_PRICE", "f", "SP", "INR/kWh", "price now"),
    _f("ST_PMUL", "f", "SP", "1", "price factor of events and directives"),
    _f("ST_KVA", "f", "SP", "kVA", "present rating of the station's transformer"),
    _f("ST_U", "f", "SP", "1", "transformer loading S / R"),
    _f("ST_X", "f", "SP", "1", "thermal state of the transformer"),
    _f("ST_ACCEPT", "f", "SP", "1", "acceptance of walk-ins at the tick's start"),
    _f("ST_RATIO", "f", "SP", "1", "today's walk-ins over the usual, two hours, shrunk to 1"),
    _f("FD_KVA", "f", "F", "kVA", "present rating of the head"),
    _f("FD_ADD", "f", "F", "1", "base load added by events, fraction of nominal rating"),
    _f("FD_NOISE", "f", "F", "1", "feeder part of the base-load noise"),
    _f("FD_OUT", "f", "F", "0/1", "1: no supply"),
    _f("FD_S", "f", "F", "kVA", "apparent power at the head, with charging"),
    _f("FD_SB", "f", "F", "kVA", "the same with base load alone"),
    _f("FD_P", "f", "F", "kW", "active power at the head, with charging"),
    _f("FD_BASEKW", "f", "F", "kW", "base load, active"),
    _f("FD_X", "f", "F", "1", "thermal state of the head"),
    _f("FD_XB", "f", "F", "1", "thermal state with base load alone"),
    _f("FD_VMIN", "f", "F", "pu", "lowest bus voltage, with charging"),
    _f("FD_EVKWH", "f", "F", "kWh", "energy charged in the tick"),
    _f("V_RE", "f", "D FL", "pu", "bus voltage, real part; lanes: feeders with, then without charging"),
    _f("V_IM", "f", "D FL", "pu", "bus voltage, imaginary part"),
    _f("Z_DEMAND", "f", "Z", "1", "demand factor of each zone"),
    _f("X", "f", str(N_X), "-", "scalars, see X_*"),
    _f("TK", "f", str(N_TK), "-", "facts of the tick just played, see T_*"),
    _f("EP", "f", str(N_EP), "-", "accounts of the episode, see T_* and A_*"),
    _f("TERM", "f", str(N_TERMS), "1", "reward terms of the tick"),
    _f("TSUM", "f", str(N_TERMS), "1", "reward terms summed over the episode"),
    _f("SETT", "f", str(N_TERMS), "1", "part of the last tick's terms that comes from the settle"),
    _f("EV", "f", f"ME {N_ECOL}", "-", "scheduled events, see E_*"),
    # environment, int row
    _f("SLOT_CAR", "i", "K SP", "car", "car at each slot, -1 empty"),
    _f("ST_OCC", "i", "SP", "cars", "slots in use"),
    _f("ST_MASK", "i", "SP", "bits", "bit k: slot k is in use"),
    _f("ST_QN", "i", "SP", "cars", "cars queued"),
    _f("ST_QH", "i", "SP", "car", "head of the queue, -1 none"),
    _f("ST_QEXP", "i", "SP", "min", "earliest minute at which a queued car's patience ends"),
    _f("ST_UP", "i", "SP", "slots", "usable slots"),
    _f("ST_UPSET", "i", "SP", "slots", "usable slots by events, before breakdowns"),
    _f("ST_BROKEN", "i", "SP", "tick", "a bay is broken until this tick"),
    _f("ST_INB", "i", "SP", "cars", "known cars on the way"),
    _f("ST_DRTICK", "i", "SP", "tick", "the cap of ST_DRSET ends at this tick"),
    _f("WALKS", "i", f"{WALK_BINS} SP", "cars", "walk-in arrivals of the last two hours, a ring by quarter of an hour"),
    _f("WALKSUM", "i", "SP", "cars", "sum of WALKS"),
    _f("CAR", "i", f"C {N_CAR}", "-", "cars, see C_*"),
    _f("PEND", "i", "MP", "car", "pending cars in the protocol's order"),
    _f("DEFD", "i", "MP", "car", "deferred cars"),
    _f("CAL", "i", str(RING), "car", "arrival calendar: first car of each minute"),
    _f("FLAG", "i", str(N_FLAGS), "count", "flags of the tick"),
    _f("Y", "i", str(N_Y), "-", "scalars, see Y_*"),
    # city, float row
    _f("K_LIMIT", "cf", "SP", "kW", "site limit"),
    _f("K_TRKVA", "cf", "SP", "kVA", "transformer rating"),
    _f("K_PRICE", "cf", "SP", "INR/kWh", "price"),
    _f("K_ACKW", "cf", "SP", "kW", "AC socket of a bay"),
    _f("K_SLOTKW", "cf", "SP", "kW", "power of a slot"),
    _f("K_BATT", "cf", "V", "kWh", "battery"),
    _f("K_VAC", "cf", "V", "kW", "AC limit"),
    _f("K_VDC", "cf", "V", "kW", "DC limit"),
    _f("K_WHKM", "cf", "V", "Wh/km", "consumption"),
    _f("K_KNEE", "cf", "V", "1", "taper knee"),
    _f("K_FLOOR", "cf", "V", "1", "taper floor"),
    _f("K_FULL", "cf", "V", "0/1", "1: charges to 100 % whatever its persona"),
    _f("K_UBIAS", "cf", "P", "1", "urgency bias"),
    _f("K_SOC3", "cf", "P 3", "1", "state of charge at request, low / mode / high"),
    _f("K_TGT2", "cf", "P 2", "1", "target, low / high"),
    _f("K_FLEX", "cf", "P", "1", "flexible share"),
    _f("K_REQCUM", "cf", "P", "1", "cumulative persona shares of requests"),
    _f("K_WALKCUM", "cf", "P", "1", "cumulative persona shares of walk-ins"),
    _f("K_VEHCUM", "cf", "P V", "1", "cumulative vehicle shares"),
    _f("K_ZREQ", "cf", "Z", "1", "request weight, sums to 1"),
    _f("K_ZWALK", "cf", "Z", "1", "walk-in weight, sums to 1"),
    _f("K_FKVA", "cf", "F", "kVA", "nominal rating"),
    _f("K_FBASE", "cf", "F", "1", "evening base load over rating"),
    _f("K_R", "cf", "D FL", "pu", "line resistance to the parent"),
    _f("K_X", "cf", "D FL", "pu", "line reactance"),
    _f("K_UP", "cf", "D D FL", "0/1", "by row and entry of J_UP: 1 where the bus's parent stands in that row"),
    _f("K_SHARE", "cf", "D FL", "1", "share of the feeder's base load"),
    _f("K_DEMSHAPE", "cf", "2 288", "1", "demand by time of day"),
    _f("K_FSHAPE", "cf", "2 F 288", "1", "base load by time of day, feeder's mix applied"),
    _f("K_LEVEL", "cf", "4 2", "1", "base level by season and day type"),
    _f("K_SOLAR", "cf", "4 288", "1", "solar share"),
    _f("K_OTHERRE", "cf", "4 288", "1", "other renewable share"),
    _f("K_MEANREN", "cf", "4", "1", "mean renewable share of the day"),
    _f("K_TARIFF", "cf", "288", "1", "time-of-day factor"),
    _f("K_STARTOCC", "cf", "2 24 3", "1", "occupancy at the warm-up's start, by day type, hour, slot class"),
    _f("K_CLOUDSD", "cf", "4", "1", "spread of the day's cloud factor"),
    _f("K_USUAL", "cf", "2 24 SP", "1/h", "usual walk-in arrivals"),
    _f("K_CHCUM", "cf", "Z 2 M", "1", "cumulative choice shares"),
    _f("K_WSLOT", "cf", "SP", "min", "usual minutes of a walk-in at the plug"),
    _f("K_CONST", "cf", "48", "-", "scalars, see Q_*"),
    _f("K_GREEDY", "cf", "24", "-", "constants of greedy_counting, see G_*"),
    # city, int row
    _f("J_SLOTS", "ci", "SP", "slots", "slots"),
    _f("J_RATE", "ci", "SP", "class", "class of the slots"),
    _f("J_AC", "ci", "SP", "0/1", "AC socket beside the DC plug"),
    _f("J_FEEDER", "ci", "SP", "feeder", "feeder of the station"),
    _f("J_POS", "ci", "SP", "position", "bus position of the station"),
    _f("J_PAT2", "ci", "P 2", "min", "patience, low / high"),
    _f("J_EMERG", "ci", "P", "0/1", "served first"),
    _f("J_PAR", "ci", "D F", "position", "parent position, -1 source"),
    _f("J_UPS", "ci", "D", "count", "rows that hold parents of the row's buses"),
    _f("J_UP", "ci", "D D", "position", "these rows, -1 source"),
    _f("J_BUSES", "ci", "F", "count", "buses of the feeder"),
    _f("J_ZSTART", "ci", "G", "index", "first node of each zone (Z + 1 entries)"),
    _f("J_ZNODE", "ci", "N", "node", "nodes by zone"),
    _f("J_NZONE", "ci", "N", "zone", "zone of a node"),
    _f("J_CHST", "ci", "Z 2 M", "station", "stations of the choice table, -1 none"),
    # observation row
    _f("O_X", "o", "32", "-", "scalars, see OX_*"),
    _f("O_OCC", "o", "SP", "cars", "slots in use"),
    _f("O_QUEUE", "o", "SP", "cars", "cars queued"),
    _f("O_QMIN", "o", "SP", "min", "mean expected minutes at the plug of the queued"),
    _f("O_INB", "o", "SP", "cars", "known cars on the way"),
    _f("O_UP", "o", "SP", "slots", "usable slots"),
    _f("O_SUP", "o", "SP", "0/1", "supplied"),
    _f("O_KW", "o", "SP", "kW", "mean power of the last tick"),
    _f("O_LIMIT", "o", "SP", "kW", "present site limit"),
    _f("O_DRCAP", "o", "SP", "kW", "demand-response cap, 1e9 none"),
    _f("O_DRLEFT", "o", "SP", "min", "minutes until it ends"),
    _f("O_PRICE", "o", "SP", "INR/kWh", "price"),
    _f("O_FREE", "o", "SP K", "min", "minutes until each usable slot frees, ascending; 1e9 not there"),
    _f("O_USUAL", "o", "SP", "1/h", "usual walk-ins of the coming hour"),
    _f("O_RATIO", "o", "SP", "1", "today's ratio"),
    _f("O_TRHEAT", "o", "SP", "1", "equivalent load of the transformer"),
    _f("O_TRKVA", "o", "SP", "kVA", "present rating of the transformer"),
    _f("O_FS", "o", "F", "kVA", "apparent power of the head"),
    _f("O_FKVA", "o", "F", "kVA", "present rating"),
    _f("O_FHEAT", "o", "F", "1", "equivalent load of the head"),
    _f("O_FBASE", "o", "F", "kVA", "base load alone"),
    _f("O_FVMIN", "o", "F", "pu", "lowest voltage, nan without supply"),
    _f("O_FNEXT", "o", f"F {AHEAD}", "kVA", "forecast of base load"),
    _f("O_RNEXT", "o", str(AHEAD), "1", "forecast of the renewable share"),
    _f("O_PEND", "o", f"MP {N_PCOL}", "-", "pending cars, see P_*"),
    _f("O_INBND", "o", f"MI {N_ICOL}", "-", "known cars on the way by arrival, see I_*"),
)

# index of each field in `at`; numba reads these module constants
_INDEX: Mapping[str, int] = {spec.name: _FIRST_FIELD + n for n, spec in enumerate(FIELDS)}
N_AT = _FIRST_FIELD + len(FIELDS)

(
    SLOT_G, SLOT_CAP, SLOT_A, SLOT_B, ST_LIMIT, ST_DRCAP, ST_DRSET, ST_KWH, ST_KW, ST_PRICE, ST_PMUL, ST_KVA, ST_U,
    ST_X, ST_ACCEPT, ST_RATIO, FD_KVA, FD_ADD, FD_NOISE, FD_OUT, FD_S, FD_SB, FD_P, FD_BASEKW, FD_X, FD_XB, FD_VMIN,
    FD_EVKWH, V_RE, V_IM, Z_DEMAND, X, TK, EP, TERM, TSUM, SETT, EV,
    SLOT_CAR, ST_OCC, ST_MASK, ST_QN, ST_QH, ST_QEXP, ST_UP, ST_UPSET, ST_BROKEN, ST_INB, ST_DRTICK, WALKS, WALKSUM, CAR, PEND,
    DEFD, CAL, FLAG, Y,
    K_LIMIT, K_TRKVA, K_PRICE, K_ACKW, K_SLOTKW, K_BATT, K_VAC, K_VDC, K_WHKM, K_KNEE, K_FLOOR, K_FULL, K_UBIAS, K_SOC3,
    K_TGT2, K_FLEX, K_REQCUM, K_WALKCUM, K_VEHCUM, K_ZREQ, K_ZWALK, K_FKVA, K_FBASE, K_R, K_X, K_UP, K_SHARE, K_DEMSHAPE,
    K_FSHAPE, K_LEVEL, K_SOLAR, K_OTHERRE, K_MEANREN, K_TARIFF, K_STARTOCC, K_CLOUDSD, K_USUAL, K_CHCUM, K_WSLOT, K_CONST,
    K_GREEDY,
    J_SLOTS, J_RATE, J_AC, J_FEEDER, J_POS, J_PAT2, J_EMERG, J_PAR, J_UPS, J_UP, J_BUSES, J_ZSTART, J_ZNODE, J_NZONE,
    J_CHST,
    O_X, O_OCC, O_QUEUE, O_QMIN, O_INB, O_UP, O_SUP, O_KW, O_LIMIT, O_DRCAP, O_DRLEFT, O_PRICE, O_FREE, O_USUAL,
    O_RATIO, O_TRHEAT, O_TRKVA, O_FS, O_FKVA, O_FHEAT, O_FBASE, O_FVMIN, O_FNEXT, O_RNEXT, O_PEND, O_INBND,
) = range(_FIRST_FIELD, N_AT)  # fmt: skip

# scalars of the observation row
(
    OX_TICK, OX_TICKS, OX_MOD, OX_DAYTYPE, OX_SEASON, OX_GRID, OX_RENEW, OX_CARBON, OX_RATIO, OX_NPEND, OX_NINB,
    OX_TRAVEL, OX_TRAFFIC,
) = range(13)  # fmt: skip

# city scalars
(
    Q_REQ, Q_WALK, Q_PART, Q_DAYSD, Q_ANN, Q_FLEXLO, Q_FLEXHI, Q_FLEXSLACK, Q_CRIT, Q_EFF, Q_WARM, Q_NCOM,
    Q_NFEED, Q_NRHO, Q_TDAY, Q_TNOISE, Q_ISLOT, Q_ISLOTMIN, Q_IJAM, Q_IJAMMIN, Q_HEAT, Q_RAINSUN, Q_RAINROAD,
    Q_CHPRICE, Q_CHQUEUE, Q_DETOUR, Q_REROUTE, Q_N0, Q_PFB, Q_PFC, Q_VSRC, Q_TAU, Q_PROT, Q_VMIN, Q_VMAX, Q_CO2,
    Q_SBASE, Q_NCORR, Q_ALPHA,
) = range(39)  # fmt: skip


@dataclass(frozen=True)
class Layout:
    """Offsets of every field for given dimensions.

    Attributes:
        at: (N_AT,) int64; dimensions first, then the offset of each field in its row.
        sizes: elements of each row: ``f``, ``i``, ``cf``, ``ci``, ``o``.
    """

    at: npt.NDArray[np.int64]
    sizes: Mapping[str, int]
    dims: Mapping[str, int]

    @classmethod
    def of(cls, dims: Mapping[str, int]) -> Layout:
        """The layout for dimensions named as in `DIM_NAMES`."""
        at = np.zeros(N_AT, np.int64)
        for n, name in enumerate(DIM_NAMES):
            at[n] = dims[name]
        sizes = {"f": 0, "i": 0, "cf": 0, "ci": 0, "o": 0}
        for spec in FIELDS:
            at[_INDEX[spec.name]] = sizes[spec.row]
            count = math.prod(cls._shape(spec, dims))
            sizes[spec.row] += -(-count // 8) * 8  # blocks start on a 64-byte line
        at.flags.writeable = False
        return cls(at, sizes, dict(dims))

    @staticmethod
    def _shape(spec: FieldSpec, dims: Mapping[str, int]) -> tuple[int, ...]:
        return tuple(d if isinstance(d, int) else dims[d] for d in spec.shape)

    def view(self, row: npt.NDArray[np.generic], name: str) -> npt.NDArray[np.generic]:
        """Field `name` of a row, or of a batch of rows (leading axes kept), as a view."""
        index = _INDEX[name]
        spec = FIELDS[index - _FIRST_FIELD]
        shape = self._shape(spec, self.dims)
        start = int(self.at[index])
        count = math.prod(shape)
        return row[..., start : start + count].reshape(*row.shape[:-1], *shape)

# what the verifier answers (D_CODE); 0 legal
(
    V_OK, V_TIME_WINDOW, V_UNREACHABLE, V_DETOUR, V_RATE, V_PLUG, V_UNKNOWN_CAR, V_STATION_DOWN,
) = range(8)  # fmt: skip
VERDICT_CODES = (
    "", "E_TIME_WINDOW", "E_UNREACHABLE", "E_DETOUR", "E_RATE", "E_PLUG", "E_UNKNOWN_CAR", "E_STATION_DOWN",
)  # fmt: skip

# constants of greedy_counting, in the city's row so that a search can vary them
(
    G_WAIT, G_SCARCE, G_POWER, G_FEEDER, G_FEEDER_AT, G_LOST, G_DR_U, G_DR_HEAT, G_FLEX_BUSY, G_FLEX_U,
    G_FLEX_SLACK, G_FLEX_DEFER, G_DR_MIN, G_SHARE, G_PRICE, G_FEEDER_RAMP, G_DR_TICKS, G_DR_MAX,
    G_DR_QUEUE,
) = range(19)  # fmt: skip
GREEDY_NAMES = (
    "wait_weight", "scarcity_weight", "scarcity_power", "feeder_weight_min", "feeder_from_frac", "lost_min",
    "dr_from_frac", "dr_heat_frac", "flex_busy_frac", "flex_feeder_frac", "flex_slack_min", "flex_defer_min",
    "dr_minutes", "site_share_weight", "price_weight_min", "feeder_ramp_frac", "dr_ahead_ticks", "dr_most",
    "dr_queue_share",
)  # fmt: skip
GREEDY_TUNED = (
    2.3, 0.7, 4.0, 0.5, 0.955, 140.0, 0.88, 1.0, 0.32, 0.85, 8.0, 5.0, 10.0, 1.2, 0.0, 0.16, 1.0, 4.0,
    0.0,
)  # fmt: skip
