"""The observation vector holds what the observation says, and a choice is legal exactly where the verifier agrees."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from gym_twin import twin

from ev_grid_oracle.city.model import CityPack
from ev_grid_oracle.city.packed import packed
from ev_grid_oracle.episode.session import Session
from ev_grid_oracle.episode.validate import validate_action
from ev_grid_oracle.interfaces.masks import Looker
from ev_grid_oracle.interfaces.spaces import BLOCKS, DEFER_MIN, NO_CAR, SLOTS, layout_of
from ev_grid_oracle.schema.errors import OptionError

DOCUMENT = Path(__file__).parents[2] / "docs" / "reference" / "gymnasium.md"


class Eyes:
    """What a learner sees of a session."""

    def __init__(self, session: Session) -> None:
        self.session, self.looker = session, Looker(packed(session.city))
        self.layout = self.looker.layout
        self.obs = np.zeros(self.layout.size, np.float32)
        self.mask = np.zeros((SLOTS, self.layout.choices), np.int8)
        self.seqs = np.zeros(SLOTS, np.int32)

    def look(self) -> str | None:
        """Look; returns the id of the station that a load_shift would cap."""
        now = self.session.observation
        shift = self.looker.one(now.row, now.announcements, self.obs, self.mask, self.seqs)
        return self.layout.stations[shift] if shift >= 0 else None


@pytest.mark.parametrize("scenario", ["baseline", "station_outage"])
def test_every_column_is_the_observations(city_blr: CityPack, scenario: str) -> None:
    session = Session(city_blr, record=False)
    eyes = Eyes(session)
    session.reset(seed=11, scenario=scenario, participation=0.6)
    seen_told = 0.0
    for _ in range(20):
        obs = session.observation
        eyes.look()
        expected = twin(obs, city_blr)
        for name in BLOCKS:
            got = eyes.layout.view(eyes.obs, name)
            np.testing.assert_allclose(got, expected[name], rtol=1e-5, atol=1e-6, err_msg=name)
        seen_told += float(eyes.layout.view(eyes.obs, "told").sum())
        session.step()
    assert (seen_told > 0) == (scenario != "baseline")


def test_deferrals_are_counted(city_toy: CityPack) -> None:
    session = Session(city_toy, record=False)
    eyes = Eyes(session)
    obs = session.reset(seed=2)
    for _ in range(30):
        eyes.look()
        if eyes.layout.view(eyes.obs, "cars")[:, 13].max() > 0:
            return
        car = next((c for c in obs.pending if c.patience_left_min >= 10), None)
        answer = {"ev_id": car.ev_id, "action_type": "defer", "defer_minutes": 5} if car else None
        obs = session.step(answer)
    pytest.fail("no car came back from a deferral")


@pytest.mark.parametrize(
    ("city", "scenario", "seed"), [("city_toy", "baseline", 5), ("city_blr", "station_outage", 3)]
)
def test_a_choice_is_legal_where_the_verifier_accepts(
    city: str, scenario: str, seed: int, request: pytest.FixtureRequest
) -> None:
    session = Session(request.getfixturevalue(city), record=False)
    if scenario not in {s.name for s in session.city.scenarios}:
        scenario = session.city.scenarios[0].name
    eyes = Eyes(session)
    obs = session.reset(seed=seed, scenario=scenario, ticks=30, participation=0.6)
    legal = refused = 0
    while not obs.done:
        shift = eyes.look()
        for k, car in enumerate(obs.pending[:SLOTS]):
            for choice in range(eyes.layout.choices):
                action = eyes.layout.action_of(choice, car.ev_id, shift)
                if action is None:
                    assert eyes.mask[k, choice] == 1
                    continue
                if choice >= eyes.layout.first_shift and shift is None:
                    assert eyes.mask[k, choice] == 0
                    continue
                accepted, why = validate_action(obs, action)
                assert accepted == bool(eyes.mask[k, choice]), (eyes.layout.names[choice], why)
                legal, refused = legal + accepted, refused + (not accepted)
        for k in range(len(obs.pending), SLOTS):
            assert eyes.mask[k].sum() == 1 and eyes.mask[k, 0] == 1 and eyes.seqs[k] == NO_CAR
        obs = session.step()
    assert legal > 100 and refused > 100


def test_choices_stand_in_the_order_of_the_contract(city_blr: CityPack) -> None:
    lay = layout_of(packed(city_blr))
    assert lay.choices == 1 + 3 * 25 + 5 + 3 == 84
    assert lay.names[:4] == ("leave", "route BLR-01 slow", "route BLR-01 fast", "route BLR-01 ultra_fast")
    assert lay.names[75] == "route BLR-25 ultra_fast"
    assert lay.names[lay.first_defer : lay.first_shift] == tuple(f"defer {m}" for m in DEFER_MIN)
    assert lay.names[-3:] == ("load_shift slow", "load_shift fast", "load_shift ultra_fast")
    action = lay.action_of(2, "EV-0001")
    assert action is not None and (action.station_id, int(action.rate)) == ("BLR-01", 1)


def test_the_blocks_fill_the_vector(city_toy: CityPack) -> None:
    lay = layout_of(packed(city_toy))
    obs = np.arange(lay.size, dtype=np.float32)
    got = np.concatenate([lay.view(obs, name).reshape(-1) for name in BLOCKS])
    assert np.array_equal(got, obs)
    assert lay.view(np.stack([obs, obs]), "cars").shape == (2, SLOTS, len(BLOCKS["cars"]))
    assert np.isfinite(lay.bounds).all() and (lay.bounds[1] < lay.bounds[2]).all()


@pytest.mark.parametrize(
    "bad", [None, "x", [0] * 7, [0.0] * 8, [-1] + [0] * 7, [84] + [0] * 7, [True] * 8, [[0] * 8]]
)
def test_what_is_no_action_is_refused(city_blr: CityPack, bad: object) -> None:
    with pytest.raises(OptionError):
        layout_of(packed(city_blr)).checked(bad, (SLOTS,))


def test_the_document_lists_every_column() -> None:
    text = DOCUMENT.read_text()
    for name, columns in BLOCKS.items():
        assert f"`{name}`" in text
        for c in columns:
            assert f"| {c.name} | {c.unit} | {c.scale:g} | {c.low:g} to {c.high:g} | {c.meaning} |" in text, (
                c.name
            )
