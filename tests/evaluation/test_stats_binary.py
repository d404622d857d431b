"""Wilson intervals, exact McNemar and Holm against published values, and their edges."""

from __future__ import annotations

import pytest

pytest.importorskip("statsmodels", reason="the fair statistics need the extra viz")

from ev_grid_oracle.evaluation.stats import holm
from ev_grid_oracle.evaluation.stats_binary import mcnemar, mcnemar_counts, wilson
from ev_grid_oracle.schema.errors import MissingExtraError, OptionError


@pytest.mark.parametrize(
    ("k", "n", "low", "high"),
    [(81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0.0, 0.1611), (1, 29, 0.0061, 0.1718)],
)
def test_wilson_is_newcombes_table(k: int, n: int, low: float, high: float) -> None:
    """Newcombe, Statistics in Medicine 17 (1998) 857, table I, method 3 (score, no correction)."""
    found = wilson(k, n)
    assert (found.low, found.high) == (pytest.approx(low, abs=6e-5), pytest.approx(high, abs=6e-5))


@pytest.mark.parametrize(
    ("k", "n", "low", "high"), [(0, 18, 0.0, 0.176), (18, 18, 0.824, 1.0), (14, 20, 0.481, 0.855)]
)
def test_wilson_at_the_edges(k: int, n: int, low: float, high: float) -> None:
    """Case EVA-04."""
    found = wilson(k, n)
    assert (found.low, found.high) == (pytest.approx(low, abs=5e-4), pytest.approx(high, abs=5e-4))
    assert found.note == ""
    if k == 0:
        assert str(found.low) == "0.0"  # neither -0.0 nor 1.4e-17
    if k == n:
        assert found.high == 1.0


def test_no_data_is_no_interval() -> None:
    found = wilson(0, 0)
    assert (found.rate, found.low, found.high, found.note) == (None, None, None, "no data")
    with pytest.raises(OptionError):
        wilson(3, 2)


def test_mcnemar_is_armitage_and_berrys_example() -> None:
    """Armitage and Berry, Statistical Methods in Medical Research (1994) p. 127: two media, 12 against 2 of 50
    specimens. StatsDirect's manual, "McNemar", gives their exact two-sided P (Liddell, 1983): 0.0129. By hand it is
    2 (1 + 14 + 91) / 2^14."""
    found = mcnemar_counts(20, 12, 2, 16)
    assert found.p == pytest.approx(0.0129, abs=5e-5)
    assert found.p == pytest.approx(2 * (1 + 14 + 91) / 2**14)
    assert (found.n, found.better) == (50, -1)


@pytest.mark.parametrize(
    "pairs", [[(True, True)] * 40, [(False, False)] * 40, [(True, False)], [(False, True)]]
)
def test_without_a_discordant_pair_there_is_no_evidence(pairs: list[tuple[bool, bool]]) -> None:
    """Case EVA-01: b + c = 0 divides nothing by zero; b = 1, c = 0 is p = 1 too."""
    assert mcnemar(pairs).p == 1.0


def test_pairs_with_a_missing_side_are_left_out() -> None:
    found = mcnemar([(True, None), (None, True), (False, True)])
    assert (found.n, found.only_reference, found.p) == (1, 1, 1.0)
    assert mcnemar([(None, None)]).p is None
    with pytest.raises(OptionError):
        mcnemar_counts(1, -1, 0, 0)


def test_holm_is_the_worked_example() -> None:
    """The numbers of Wikipedia's "Holm-Bonferroni method", by the procedure of Holm, Scandinavian Journal of
    Statistics 6 (1979) 65: of p = 0.01, 0.04, 0.03, 0.005 at 0.05 the first and the fourth are rejected (0.005 x 4,
    0.01 x 3), then 0.03 x 2 = 0.06 stops it."""
    found = holm({"a": 0.01, "b": 0.04, "c": 0.03, "d": 0.005})
    assert {k: v["reject"] for k, v in found.items()} == {"a": True, "b": False, "c": False, "d": True}
    corrected = {k: v["p_holm"] for k, v in found.items()}
    assert corrected == pytest.approx({"a": 0.03, "b": 0.06, "c": 0.06, "d": 0.02})


def test_holm_of_one_and_of_none() -> None:
    assert holm({"a": 0.04})["a"] == {"p": 0.04, "p_holm": 0.04, "reject": True}
    with_gap = holm({"a": 0.04, "b": None})
    assert with_gap["a"]["p_holm"] == 0.04
    assert with_gap["b"] == {"p": None, "p_holm": None, "reject": False}
    assert holm({}) == {}


def test_a_missing_library_is_told_with_its_cure(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "statsmodels", None)
    for name in [m for m in sys.modules if m.startswith("statsmodels.")]:
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(MissingExtraError, match=r"openenv-ev-grid-oracle\[viz\]"):
        wilson(1, 2)
