"""The policy `oracle` in cities that no stage of its training saw: a pack of 40 stations made on the spot."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from ev_grid_oracle.city.load import load_city
from ev_grid_oracle.city.model import CityPack
from ev_grid_oracle.city.packed import packed
from ev_grid_oracle.city.validate import validate_pack
from ev_grid_oracle.episode.batch import Batch
from ev_grid_oracle.episode.options import resolve
from ev_grid_oracle.policies.base import PolicyContext
from ev_grid_oracle.schema import rows as r
from ev_grid_oracle.schema.enums import ActionKind

pytest.importorskip("onnxruntime", reason="needs the extra `oracle`")
pytest.importorskip("tokenizers", reason="needs the extra `oracle`")

BENCHMARK = Path(__file__).resolve().parents[2] / "benchmarks" / "oracle_city.py"


@pytest.fixture(scope="module")
def maker() -> ModuleType:
    """benchmarks/oracle_city.py as a module."""
    spec = importlib.util.spec_from_file_location("oracle_city", BENCHMARK)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def forty(maker: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> CityPack:
    folder = tmp_path_factory.mktemp("cities") / "forty"
    maker.write_city(folder)
    assert not validate_pack(folder)
    return load_city(folder)


def test_the_pack_is_another_city(forty, toy):
    assert len(forty.stations.ids) == 40 == len(set(forty.stations.ids))
    assert len(forty.grid.feeder_kva) == 10 * len(toy.grid.feeder_kva)
    assert len({(a, b) for a, b in zip(forty.stations.lat, forty.stations.lon, strict=True)}) == 40


def test_the_shipped_model_answers_forty_stations_validly(forty):
    from ev_grid_oracle.policies.llm.small import make

    policy, pack = make(), packed(forty)
    names = [s.name for s in forty.scenarios]
    batch = Batch(forty, 2 * len(names), max_answers=pack.layout.dims["MP"])
    batch.reset([resolve(forty, seed=31 + k, scenario=names[k % len(names)]).world for k in range(batch.n)])
    policy.begin_batch([PolicyContext(pack)] * batch.n)
    answers, chosen = 0, set()
    for _ in range(16):
        rows = [batch.world.observe(e) for e in range(batch.n)]
        batch.answers[:] = 0
        batch.counts[:] = policy.answer_batch(rows, list(batch.answers), range(batch.n))
        for e in range(batch.n):
            given = batch.answers[e, : batch.counts[e]]
            answers += len(given)
            chosen |= set(given[given[:, r.D_KIND] == ActionKind.ROUTE, r.D_STATION].tolist())
        batch.step()
    accounts = batch.world.view("EP")
    assert accounts[:, r.A_REFUSED].sum() == 0 and accounts[:, r.A_INVALID].sum() == 0
    assert answers > 300
    assert len(chosen) > 25 and max(chosen) < 40  # it reads the city, it does not repeat one habit


def test_texts_of_forty_stations_name_them(forty):
    from ev_grid_oracle.episode.observe import LiveObservation
    from ev_grid_oracle.episode.session import decoder_of
    from ev_grid_oracle.policies.llm.small import make
    from ev_grid_oracle.policies.llm.small_text import texts
    from ev_grid_oracle.protocol import parse_action

    policy, pack = make(), packed(forty)
    batch = Batch(forty, 1, max_answers=pack.layout.dims["MP"])
    batch.reset([resolve(forty, seed=5, scenario="baseline").world])
    policy.begin(PolicyContext(pack))
    o = batch.world.observe(0)
    (text,) = texts(policy, [o], [0], predict=True)
    found = parse_action(text, LiveObservation(decoder_of(pack), np.array(o), (), None, {}, (), 0, {}))
    assert found.ok, found.errors
    named = {a.station_id for a in found.actions if a.station_id is not None}
    assert named and named <= set(forty.stations.ids)
    assert found.prediction is not None
