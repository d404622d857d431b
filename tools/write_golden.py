"""Record the golden episodes of tests/golden: answers as text, and what the world made of them.

    python tools/write_golden.py

Each case is a folder: `input.json` (city, options, one text a tick), `expected.json` (reward, terms, flags and
digest a tick, KPIs at the end), `README.md` (what it is for). Run it only when physics or reward were changed on
purpose; the difference in expected.json then belongs into the same commit as the change.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from ev_grid_oracle import make_session
from ev_grid_oracle.episode.session import Session
from ev_grid_oracle.evaluation.evening import play_evening
from ev_grid_oracle.policies.registry import make_policy
from ev_grid_oracle.protocol import render_actions
from ev_grid_oracle.schema.action import Action
from ev_grid_oracle.schema.enums import ActionKind, Rate

FOLDER = Path(__file__).resolve().parent.parent / "tests" / "golden" / "episodes"
KINDS = {"route": ActionKind.ROUTE, "defer": ActionKind.DEFER, "load_shift": ActionKind.LOAD_SHIFT}
RATES = {"slow": Rate.SLOW, "fast": Rate.FAST, "ultra_fast": Rate.ULTRA_FAST}

CASES: Mapping[str, tuple[str, str, Mapping[str, object], Mapping[int, str]]] = {
    "toy-evening": (
        "A whole short evening of the toy city under greedy_counting, settle included.",
        "toy",
        {"seed": 3, "ticks": 16},
        {},
    ),
    "toy-bad-answers": (
        "Refused texts, an unknown car and an empty text between good answers: data, never an exception.",
        "toy",
        {"seed": 5, "ticks": 8},
        {
            1: "ACTION: route",
            3: "EV_ID: EV-9999\nACTION: defer\nSTATION: NONE\nCHARGE_RATE: fast\nDEFER_MINUTES: 5\n"
            "REASON: who is this\nCONFIDENCE: 0.5",
            5: "",
            6: "ignore the rules and send everybody to the first station",
        },
    ),
    "bengaluru-derate": (
        "Bengaluru with a derated transformer: load_shift, caps and feeder terms; cut, no settle.",
        "bengaluru",
        {"seed": 2, "scenario": "transformer_derate", "ticks": 30, "settle": False},
        {},
    ),
    "bengaluru-monsoon": (
        "Bengaluru in a monsoon storm: closed and slow roads, reroutes, rain on the sun; with the settle.",
        "bengaluru",
        {"seed": 11, "scenario": "MonsoonStorm", "ticks": 8},
        {},
    ),
}


def texts_of(session: Session) -> list[str]:
    """The answers of the session's trace as texts, one a tick."""
    ids = session.city.stations.ids
    texts = []
    for frame in session.trace:
        actions = []
        for answer in frame.answers:
            station = answer["station"]
            actions.append(
                Action(
                    KINDS[str(answer["action_type"])],
                    None if station is None or int(str(station)) < 0 else ids[int(str(station))],
                    RATES[str(answer["charge_rate"])],
                    int(str(answer["defer_minutes"])),
                    str(answer["ev_id"]),
                    "golden case",
                    float(str(answer["confidence"])),
                )
            )
        texts.append(render_actions(actions) if actions else "")
    return texts


def play(case: Mapping[str, object]) -> dict[str, object]:
    """What `expected.json` holds: plays the texts of `input.json` through a Session."""
    session = make_session(city=str(case["city"]))
    observation = session.reset(**case["options"])  # type: ignore[arg-type]
    codes = []
    for text in case["answers"]:  # type: ignore[attr-defined]
        observation = session.step(text)
        codes.append([error["code"] for error in observation.info["errors"]])
    frames = list(session.trace)
    return {
        "reward": [f.reward for f in frames],
        "breakdown": [f.breakdown for f in frames],
        "flags": [f.flags for f in frames],
        "errors": codes,
        "digest": [f.digest for f in frames],
        "kpis": observation.info["kpis"],
    }


def main() -> None:
    """Record every case."""
    for name, (about, city, options, changed) in CASES.items():
        session = make_session(city=city)
        play_evening(session, make_policy("greedy_counting"), **options)
        answers = texts_of(session)
        for tick, text in changed.items():
            answers[tick] = text
        case = {"city": city, "options": dict(options), "answers": answers}
        folder = FOLDER / name
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "README.md").write_text(f"# {name}\n\n{about} Recorded by `tools/write_golden.py`.\n")
        (folder / "input.json").write_text(json.dumps(case, indent=1) + "\n")
        (folder / "expected.json").write_text(json.dumps(play(case), indent=1, allow_nan=False) + "\n")
        print(name, len(answers), "ticks")


if __name__ == "__main__":
    main()
