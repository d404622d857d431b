"""Recorded episodes give what they gave: through the Session, a batch of them, and the OpenEnv environment."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from ev_grid_oracle import make_session

CASES = sorted((Path(__file__).parent / "episodes").iterdir())
TOLERANCE = 1e-12


def load(folder: Path, name: str) -> dict:  # type: ignore[type-arg]
    return json.loads((folder / name).read_text())


def close(found: object, expected: object) -> bool:
    """Equal; floats to a part in 10^12 of one, since texts of sums may differ in the last digit."""
    if isinstance(expected, float) and isinstance(found, float | int):
        return math.isclose(found, expected, rel_tol=TOLERANCE, abs_tol=TOLERANCE)
    if isinstance(expected, dict):
        return (
            isinstance(found, dict)
            and found.keys() == expected.keys()
            and all(close(found[k], v) for k, v in expected.items())
        )
    return found == expected


@pytest.mark.parametrize("folder", CASES, ids=lambda f: f.name)
def test_session_plays_it_as_recorded(folder: Path) -> None:
    case, expected = load(folder, "input.json"), load(folder, "expected.json")
    session = make_session(city=case["city"])
    observation = session.reset(**case["options"])
    for tick, text in enumerate(case["answers"]):
        observation = session.step(text)
        frame = session.trace.frame(tick)
        assert frame.digest == expected["digest"][tick], f"tick {tick}"
        assert close(frame.reward, expected["reward"][tick])
        assert close(frame.breakdown, expected["breakdown"][tick])
        assert frame.flags == expected["flags"][tick]
        assert [e["code"] for e in observation.info["errors"]] == expected["errors"][tick]
    assert observation.done
    assert close(observation.info["kpis"], expected["kpis"])


@pytest.mark.parametrize("folder", CASES, ids=lambda f: f.name)
def test_openenv_pays_the_same(folder: Path) -> None:
    pytest.importorskip("openenv", reason="the environment needs the server extra")
    from ev_grid_oracle.interfaces.openenv.environment import EVGridEnvironment
    from ev_grid_oracle.models import EVGridAction

    case, expected = load(folder, "input.json"), load(folder, "expected.json")
    env = EVGridEnvironment(case["city"])
    env.reset(**case["options"])
    for tick, text in enumerate(case["answers"]):
        observation = env.step(EVGridAction(text=text))
        assert close(observation.reward, expected["reward"][tick]), f"tick {tick}"
    assert observation.done


def test_every_case_says_what_it_is_for() -> None:
    assert len(CASES) >= 4
    for folder in CASES:
        assert len((folder / "README.md").read_text().splitlines()) >= 3
        case, expected = load(folder, "input.json"), load(folder, "expected.json")
        assert len(case["answers"]) == len(expected["digest"])
    answers = "".join(text for folder in CASES for text in load(folder, "input.json")["answers"])
    assert {"ACTION: route", "ACTION: load_shift"} <= set(answers.splitlines())
