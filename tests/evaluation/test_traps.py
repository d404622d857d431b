"""Every trap springs for its habit and spares the good dispatcher on the same evening; the terms alone punish the habit."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ev_grid_oracle.city.model import CityPack
from ev_grid_oracle.evaluation.traps import DIRECTIVE, TEXT, TRAPS, Outcome, Trap, avoid, trap, walk_into
from ev_grid_oracle.policies.registry import policy_names
from ev_grid_oracle.reward.terms import FLAG_NAMES, TERM_NAMES
from ev_grid_oracle.schema.errors import OptionError

PAGE = Path(__file__).resolve().parents[2] / "docs" / "judge-kit" / "trap-catalog.md"


@pytest.fixture(scope="module")
def played(city_blr: CityPack) -> dict[str, tuple[Outcome, Outcome]]:
    """(with the habit, the good dispatcher) by trap."""
    return {t.name: (walk_into(t, city_blr), avoid(t, city_blr)) for t in TRAPS}


@pytest.mark.parametrize("found", TRAPS, ids=lambda t: t.name)
def test_it_springs_for_the_habit_and_not_for_a_good_dispatcher(
    found: Trap, played: dict[str, tuple[Outcome, Outcome]]
) -> None:
    bad, good = played[found.name]
    assert bad.ticks.get(found.flag, 0) > 0 and bad.first is not None
    assert found.flag not in good.ticks and good.first is None
    assert bad.fine < good.fine or found.change == DIRECTIVE


@pytest.mark.parametrize("found", [t for t in TRAPS if t.change != DIRECTIVE], ids=lambda t: t.name)
def test_the_terms_alone_make_the_habit_a_loss(
    found: Trap, played: dict[str, tuple[Outcome, Outcome]]
) -> None:
    bad, good = played[found.name]
    assert bad.total - bad.fine < good.total - good.fine
    paid = [t for t in found.terms if t not in ("anti_hack", "format")]
    assert sum(bad.terms[t] for t in paid) < sum(good.terms[t] for t in paid)


def test_the_catalogue_covers_every_flag_and_every_scenario(city_blr: CityPack) -> None:
    assert {t.flag for t in TRAPS} == set(FLAG_NAMES)
    assert {t.scenario for t in TRAPS} == {s.name for s in city_blr.scenarios}
    assert len({t.name for t in TRAPS}) == len(TRAPS)
    assert all(set(t.terms) <= set(TERM_NAMES) for t in TRAPS)
    assert not {t.name for t in TRAPS} & set(policy_names())


def test_the_refused_text_has_the_effect_of_no_answer(
    city_blr: CityPack, played: dict[str, tuple[Outcome, Outcome]]
) -> None:
    found = next(t for t in TRAPS if t.change == TEXT)
    bad, _ = played[found.name]
    assert bad.ticks[found.flag] == 48  # every tick, and nothing else was charged for it
    assert bad.terms["format"] < 0.0


def test_the_page_tells_what_was_played(played: dict[str, tuple[Outcome, Outcome]]) -> None:
    text = PAGE.read_text(encoding="utf-8")
    for found in TRAPS:
        bad, good = played[found.name]
        body = text.split(f"## {found.name[0].upper()}{found.name[1:]}\n")[1].split("\n## ")[0]
        assert f"seed {found.seed}, flag `{found.flag}`" in body
        assert f"| reward | {bad.total:.2f} | {good.total:.2f} |" in body
        assert f"`{found.flag}` in {bad.ticks[found.flag]}" in body


def test_an_unknown_trap_is_named() -> None:
    with pytest.raises(OptionError, match="the usual place"):
        trap("the unusual place")


@pytest.mark.parametrize(
    "name",
    [
        "explanation/anti-exploit.md",
        "judge-kit/credit-assessment-pattern-map.md",
        "judge-kit/trap-catalog.md",
    ],
)
def test_every_path_that_the_pages_name_is_there(name: str) -> None:
    """Links, and paths in backticks or commands; those under artifacts/ are evidence that a checkout may lack."""
    root = PAGE.parents[2]
    text = (root / "docs" / name).read_text(encoding="utf-8")
    for link in re.findall(r"\]\(([^)#:]+)\)", text):
        assert (root / "docs" / name).parent.joinpath(link).exists(), link
    named = re.findall(r"(?:ev_grid_oracle|tests|benchmarks|examples|tools)/[\w./-]*\w", text)
    assert named or name.endswith("catalog.md")
    for path in named:
        assert (root / path).exists(), path
