"""The order of a city's stations and of the pending cars changes no answer of `oracle`."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from ev_grid_oracle.city.packed import packed
from ev_grid_oracle.policies.llm.small_look import Eyes
from ev_grid_oracle.policies.llm.small_net import Net
from ev_grid_oracle.schema import rows as r

pytest.importorskip("onnxruntime", reason="needs the extra `oracle`")

BENCHMARK = Path(__file__).resolve().parents[2] / "benchmarks" / "oracle_order.py"


@pytest.fixture(scope="module")
def lab() -> ModuleType:
    """benchmarks/oracle_order.py as a module."""
    spec = importlib.util.spec_from_file_location("oracle_order", BENCHMARK)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["oracle_order"] = module  # its dataclass looks its module up
    spec.loader.exec_module(module)
    return module


def policy(folder: Path | None = None):
    from ev_grid_oracle.policies.llm.small import SmallOracle

    return SmallOracle() if folder is None else SmallOracle(net=Net(folder))


def test_a_shuffled_city_is_the_same_city(city, lab):
    pack = packed(city)
    order = np.random.default_rng(2).permutation(25).astype(np.int32)
    other = lab.shuffled_city(pack, order)
    assert other.pack.stations.ids == tuple(city.stations.ids[k] for k in order) != city.stations.ids
    ours, theirs = (c.layout.view(c.ci, "J_FEEDER")[:25] for c in (pack, other))
    assert np.array_equal(theirs, ours[order]) and not np.array_equal(theirs, ours)
    o = lab.rows_of(city, 1, 1)[0]
    row = lab.shuffled_row(pack, o, order, np.arange(0, dtype=np.int32))
    assert np.array_equal(pack.layout.view(row, "O_OCC")[:25], pack.layout.view(o, "O_OCC")[:25][order])
    n = int(o[int(pack.layout.at[r.O_X]) + r.OX_NINB])
    assert n > 0
    told = pack.layout.view(row, "O_INBND")[:n, r.I_STATION].astype(int)
    truth = pack.layout.view(o, "O_INBND")[:n, r.I_STATION].astype(int)
    assert [other.pack.stations.ids[k] for k in told] == [city.stations.ids[k] for k in truth]


def test_no_answer_changes(city, lab):
    found = lab.order_changes(city, policy(), 3, 3)
    assert found["decisions"] > 60 and found["changed_share"] == 0.0


def test_no_answer_of_an_untrained_model_changes(city, lab, untrained):
    found = lab.order_changes(city, policy(untrained), 3, 2)
    assert found["decisions"] > 40 and found["changed_share"] == 0.0


def test_the_comparison_sees_an_order_that_matters(city, lab, monkeypatch):
    monkeypatch.setattr(Eyes, "order", lambda self, o: list(range(len(self.pending(o)))))
    assert lab.order_changes(city, policy(), 11, 3)["changed_share"] > 0.0
