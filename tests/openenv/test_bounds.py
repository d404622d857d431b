"""The declared range of the reward: computed from the pack, written in openenv.yaml, and kept."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ev_grid_oracle.city.model import CityPack
from ev_grid_oracle.episode.session import Session
from ev_grid_oracle.interfaces.openenv import tasks
from ev_grid_oracle.interfaces.openenv.bounds import declared_range, reward_range
from ev_grid_oracle.version import __version__

yaml = pytest.importorskip("yaml", reason="the manifest is YAML; openenv brings the reader")
MANIFEST = Path(__file__).resolve().parents[2] / "openenv.yaml"


def test_the_manifest_says_what_the_code_computes(city_blr: CityPack) -> None:
    said = yaml.safe_load(MANIFEST.read_text(encoding="utf-8"))
    low, high = said["validation"]["reward"]["range"]
    least, most = reward_range(city_blr)
    assert 1.25 * least <= low <= least and most <= high <= 1.25 * most, declared_range(city_blr)
    assert said["version"] == __version__
    counts = said["validation"]["capabilities"]["declared_task_count"]
    assert counts == {split: tasks.num_tasks(split) for split in tasks.SPLITS}
    pinned = said["validation"]["task_distribution"]
    assert pinned == {"generator_seed": tasks.GENERATOR_SEED, "dataset_version": tasks.DATASET_VERSION}


@pytest.mark.parametrize("name", ["toy", "bengaluru"])
def test_rewards_stay_inside(name: str) -> None:
    """Collapse, nonsense and pile-ups in the worst scenarios, with everyone asking."""
    session = Session(name, record=False)
    low, high = reward_range(session.city)
    rng = np.random.default_rng(1)
    stations = session.city.stations.ids
    for scenario in session.city.scenarios[:4]:
        for seed in range(3):
            o = session.reset(seed=seed, scenario=scenario.name, participation=1.0, ticks=24)
            while not o.done:
                ids = o.pending_ids
                if seed == 0:
                    o = session.step("nonsense")
                elif seed == 1:
                    answers = [
                        {"ev_id": i, "action_type": "route", "station_id": stations[0], "charge_rate": "slow"}
                        for i in ids
                    ]
                    o = session.step({"actions": answers})
                else:
                    answers = [
                        {"ev_id": i, "action_type": "route", "station_id": str(rng.choice(stations)),
                         "charge_rate": "slow"}
                        for i in ids
                    ]  # fmt: skip
                    o = session.step({"actions": answers})
                assert o.reward is not None and low <= o.reward <= high
