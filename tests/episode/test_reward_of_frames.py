"""`score` and `compute_reward` say of a frame what the kernel said inside the step."""

from __future__ import annotations

import pytest
from session_tools import block, first_usable

from ev_grid_oracle import reward
from ev_grid_oracle.city.model import CityPack
from ev_grid_oracle.episode.session import Session
from ev_grid_oracle.reward import FLAGS, TERMS, Facts, Verdict, compute_reward
from ev_grid_oracle.reward.facts import score


@pytest.mark.parametrize("settle", [True, False])
def test_a_frame_scores_as_its_step_did(city_toy: CityPack, settle: bool) -> None:
    session = Session(city_toy)
    obs = session.reset(seed=3, ticks=30, settle=settle)
    while not obs.done:
        tick = obs.state.tick
        text: str | None = None
        if tick % 5 == 1:
            text = "rubbish"
        elif tick % 5 == 2:
            text = block(action="defer", minutes=240)
        elif obs.pending and obs.candidates(0).usable.any():
            text = block(first_usable(obs))
        obs = session.step(text)
    trace = session.trace
    assert any(f.penalty_car_minutes for f in trace) and any(f.refused for f in trace)
    before = None
    for frame in trace:
        total, breakdown = compute_reward(before, frame.answers, frame)
        assert total == pytest.approx(frame.reward, abs=1e-9)
        assert breakdown == pytest.approx(frame.breakdown, abs=1e-9)
        before = frame


def test_score_by_hand() -> None:
    tick = [0.0] * 32
    tick[0], tick[9], tick[10] = 1300.0, 100.0, 40.0
    got = score(Facts(tick, 0.3, 1000.0), Verdict(20.0, True))
    assert got["wait"] == -1.3 and got["renewable"] == pytest.approx(0.5 * (40.0 - 30.0) / 1000.0)
    assert got["anti_hack"] == -0.02 and got["format"] == -0.01
    assert got["total"] == pytest.approx(-1.3 + 0.005 - 0.03)
    assert list(got) == [*(t.name for t in TERMS), "total"]


def test_names_of_the_room() -> None:
    assert {t.name for t in TERMS} >= {"wait", "format"} and len(FLAGS) == 11
    assert all(hasattr(reward, name) for name in reward.__all__)
    with pytest.raises(AttributeError):
        _ = reward.nothing
