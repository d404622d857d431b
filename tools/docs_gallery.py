"""The gallery: in every scenario one real prompt, a good answer, a bad one, and what each did.

Every text goes through the one parser into a fork of the same state, so all three branches (good, bad, nobody
answers) share their future to the last draw. Afterwards `greedy_counting` plays each branch to its end.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from docs_tables import NOTE, block, table

if TYPE_CHECKING:
    from ev_grid_oracle.episode.observe import LiveObservation
    from ev_grid_oracle.episode.session import Session
    from ev_grid_oracle.policies.base import Policy

CITY, TICK, LAST_TICK = "bengaluru", 18, 44


def gallery_page() -> str:
    """One section a scenario."""
    from ev_grid_oracle.episode.session import Session

    session = Session(CITY, record=False)
    text = "# Gallery: prompts and answers\n\n" + NOTE
    text += f"One moment of every scenario of `{CITY}`: the story seed, played by `greedy_counting` up to tick {TICK} and on to\n"
    text += "the next tick with a car that can be routed. The prompt is for the first such car alone. The good answer is the\n"
    text += "best candidate by `greedy_counting`'s cost; the bad one shows a common fault. Each is played in a fork of the same\n"
    text += "state, the other cars of the tick unanswered; `greedy_counting` then plays the evening to its end, and the KPIs\n"
    text += "are of the whole evening, the settle included. One answer of hundreds moves them little and by chance: a single\n"
    text += "case proves nothing, and a good answer may end behind. Means over evenings stand in\n"
    text += "[headroom](../headroom.md). The penalty of a fault is 10 car-minutes over N0.\n\n"
    bads = BAD
    for n, scenario in enumerate(session.city.scenarios):
        text += _section(session, scenario.name, scenario.story_seed, bads[n % len(bads)])
    return text


def _section(session: Session, scenario: str, seed: int, wanted: str) -> str:
    from ev_grid_oracle.policies.registry import make_policy
    from ev_grid_oracle.protocol import build_prompt

    policy = make_policy("greedy_counting")
    obs = session.reset(seed=seed, scenario=scenario)
    _begin(policy, session)
    while obs.state.tick < LAST_TICK and not _shown(obs, wanted):
        obs = session.step(_rows(policy, obs))
    car = _routable(obs)
    ev_id = obs.pending[car].ev_id
    good = _good(obs, car)
    bad, fault = _bad(wanted, obs, car, good)
    text = f"## {scenario}\n\n" + block(build_prompt(obs, car=car), "text")
    text += "Good:\n\n" + block(good, "text") + f"Bad ({fault}):\n\n" + block(bad, "text")
    rows = []
    for name, answer in (("good", good), ("bad", bad), ("nobody answers", None)):
        fork = session.fork()
        after = fork.step(answer)
        codes = ", ".join(dict.fromkeys(str(e["code"]) for e in after.info["errors"]))  # type: ignore[attr-defined]
        routed = answer is not None and not codes
        where = "pending" if ev_id in after.pending_ids else "on its way" if routed else "gone"
        paid = [f"{k} {v:.3f}" for k, v in after.breakdown.items() if k in ("anti_hack", "format") and v]
        row = [
            name,
            codes or "-",
            ", ".join(after.flags) or "-",
            where,
            f"{after.reward:.3f}",
            ", ".join(paid) or "-",
        ]
        while not after.done:
            after = fork.step(_rows(policy, after))
        kpis: dict[str, float] = after.info["kpis"]  # type: ignore[assignment]  # a mapping at the end
        rows.append([*row, f"{kpis['minutes_to_charged']:.2f}", f"{kpis['composite_car_minutes']:.0f}"])
    head = ("answer", "codes", "flags", "car after it", "reward of the tick", "penalty in it",
            "`minutes_to_charged`", "`composite_car_minutes`")  # fmt: skip
    return text + table(head, rows)


def _shown(obs: LiveObservation, wanted: str) -> bool:
    """The moment for the page: late enough, a car to route, and one without a fitting plug somewhere where that is to be shown."""
    k = _routable(obs) if obs.state.tick >= TICK else -1
    return k >= 0 and (wanted != "plug" or "E_PLUG" in obs.candidates(k).refusal)


def _begin(policy: Policy, session: Session) -> None:
    from ev_grid_oracle.city.packed import packed
    from ev_grid_oracle.policies.base import PolicyContext

    policy.begin(PolicyContext(packed(session.city)))


def _rows(policy: Policy, obs: LiveObservation):  # type: ignore[no-untyped-def]  # an int32 array
    import numpy as np

    from ev_grid_oracle.episode.answers import MAX_ANSWERS
    from ev_grid_oracle.schema import rows as r

    out = np.zeros((MAX_ANSWERS, r.N_DCOL), np.int32)
    return out[: policy.answer(obs.row, out)]


def _routable(obs: LiveObservation) -> int:
    """Place of the first pending car that wants to charge now and has two stations to choose from; -1: none."""
    for k, car in enumerate(obs.pending):
        if not car.flexible and int(obs.candidates(k).usable.sum()) > 1:
            return k
    return -1


def text_of(
    ev_id: str,
    station: str,
    rate: str,
    reason: str,
    action: str = "route",
    minutes: int = 0,
    chance: str = "0.8",
) -> str:
    """Six lines with the car's id."""
    return (
        f"EV_ID: {ev_id}\nACTION: {action}\nSTATION: {station}\nCHARGE_RATE: {rate}\n"
        f"DEFER_MINUTES: {minutes}\nREASON: {reason}\nCONFIDENCE: {chance}\n"
    )


def _good(obs: LiveObservation, car: int) -> str:
    """What `greedy_counting` would take: least cost in minutes, at its rate."""
    import numpy as np

    from ev_grid_oracle.protocol.grammar import RATES

    c = obs.candidates(car)
    s = int(np.argmin(np.where(c.usable, c.score, np.inf)))
    return text_of(
        obs.pending[car].ev_id, obs.station_ids[s], RATES[int(c.best_rate[s])],
        f"{c.travel_min[s]:.0f} min drive, {c.wait_min[s]:.0f} min wait, {c.own_min[s]:.0f} min at the plug",
    )  # fmt: skip


BAD = (
    "talk", "far", "key", "window", "station", "poor", "range", "plug", "unknown", "rate", "twice",
)  # fmt: skip
"""Kinds of bad answers, one a scenario in the city's order."""


def _bad(wanted: str, obs: LiveObservation, car: int, good: str) -> tuple[str, str]:
    """A bad answer for the same car and what is wrong with it."""
    import numpy as np

    pending, c = obs.pending[car], obs.candidates(car)
    ids, rates = obs.station_ids, obs.state.stations.rate
    worst = int(np.argmax(np.where(c.usable, c.score, -np.inf)))
    plug = np.flatnonzero([code == "E_PLUG" for code in c.refusal])
    far = np.flatnonzero([code in ("E_DETOUR", "E_UNREACHABLE") for code in c.refusal])
    slow = np.flatnonzero(rates < 2)
    if wanted == "plug" and len(plug):
        return text_of(
            pending.ev_id, ids[int(plug[0])], "slow", "fast bays, no queue"
        ), "a station whose plug does not fit"
    if wanted == "far" and len(far):
        return text_of(pending.ev_id, ids[int(far[-1])], "slow", "quiet there"), "a station that is too far"
    if wanted == "rate" and len(slow):
        shift = text_of(
            pending.ev_id, ids[int(slow[0])], "ultra_fast", "as fast as it goes", "load_shift", 10
        )
        return shift, "a cap above what the slots can do"
    if wanted == "window":
        return text_of(pending.ev_id, "NONE", "slow", "later is greener", "defer", 240), "beyond its patience"
    lines = good.splitlines()
    texts = {
        "talk": ("Sure, here is my answer.\n" + good, "talk before the answer"),
        "key": (
            "\n".join(line for line in lines if not line.startswith("CHARGE_RATE")) + "\n",
            "a line is missing",
        ),
        "station": (good.replace(lines[2], "STATION: BLR-99"), "no station of this city"),
        "range": (good.replace(lines[6], "CONFIDENCE: 1.5"), "a confidence above 1"),
        "unknown": (good.replace(lines[0], "EV_ID: EV-99999"), "no pending car"),
        "twice": (good + "\n" + good, "the same car twice"),
    }
    return texts.get(wanted) or (
        text_of(pending.ev_id, ids[worst], "slow", "any station will do"),
        "legal, but the costliest candidate at the slow rate",
    )
