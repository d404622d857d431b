"""The written pages say what the artifacts say, number by number, and nothing that no artifact says."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest

from ev_grid_oracle.city.model import CityPack
from ev_grid_oracle.cli.main import call
from ev_grid_oracle.schema.errors import EVGridError
from ev_grid_oracle.viz import plan_document as plan
from ev_grid_oracle.viz import plan_links
from ev_grid_oracle.viz.plan_numbers import ABSENT, SOURCES

ROOT = Path(__file__).resolve().parent.parent.parent
PLAN = ROOT / "docs" / "technical-plan.md"


def artifact(name: str) -> dict[str, object]:
    found: dict[str, object] = json.loads((ROOT / "artifacts" / f"{name}.json").read_text())
    return found


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A copy of what the pages are made from."""
    shutil.copytree(ROOT / "artifacts", tmp_path / "artifacts", ignore=shutil.ignore_patterns("*.png"))
    (tmp_path / "docs").mkdir()
    shutil.copy(ROOT / "docs" / "links.toml", tmp_path / "docs")
    return tmp_path


@pytest.mark.parametrize("name", list(plan.PAGES))
def test_page_says_what_the_evidence_says(name: str) -> None:
    assert plan.differs(ROOT / plan.PAGES[name], plan.page(name, ROOT)) == ""


def test_plan_has_the_twelve_headings_in_order() -> None:
    text = re.sub(r"```.*?```", "", PLAN.read_text(), flags=re.DOTALL)
    assert tuple(re.findall(r"^#{2,} (.+)$", text, flags=re.MULTILINE)) == plan.HEADINGS
    assert len(plan.HEADINGS) == 12
    skill = (ROOT / "skills" / "ev-grid-oracle-technical-plan" / "SKILL.md").read_text()
    assert (
        tuple(re.findall(r"^\d+\. ([A-Z\d].+)$", skill.split("## The twelve")[1], flags=re.MULTILINE))
        == plan.HEADINGS
    )


def test_table_of_the_plan_holds_the_numbers_of_the_headroom() -> None:
    """Read back from the page and compared with the file, without the code that wrote it."""
    tables = artifact("headroom")["tables"]
    assert isinstance(tables, dict)
    section = PLAN.read_text().split("## Metrics & evaluation")[1]
    for scenario, by in tables.items():
        row = next(line for line in section.splitlines() if line.startswith(f"| {scenario} | "))
        cells = [[float(x.replace(",", "")) for x in cell.split("/")] for cell in row.split("|")[2:-1]]
        three = [by[p] for p in ("baseline", "greedy_counting", "planner")]
        assert cells[0] == [three[0]["n"]]
        for cell, key, unit, scale in (
            (cells[1], "minutes_to_charged", 0.05, 1),
            (cells[2], "lost_share", 0.05, 100),
            (cells[3], "walkin_minutes_to_charged", 0.05, 1),
            (cells[4], "overload_kva_min", 0.5, 1),
            (cells[5], "total_reward", 0.005, 1),
        ):
            for shown, policy in zip(cell, three, strict=True):
                assert shown == pytest.approx(scale * policy[key], abs=1.001 * unit), (scenario, key)


def test_other_numbers_of_the_plan_are_those_of_their_files(city_blr: CityPack) -> None:
    text = " ".join(PLAN.read_text().split())
    world, gym = artifact("bench_world"), artifact("gym_learning")
    assert f"{world['ticks_per_s_1_thread']:,.0f} ticks a second on one thread" in text
    assert f"{gym['steps']:,} steps" in text
    assert (
        f"{len(city_blr.stations.ids)} charging stations with {city_blr.stations.slots.sum()} slots" in text
    )
    assert f"{city_blr.name} ({city_blr.discom})" in text
    pooled = artifact("oracle_eval")["against"]["oracle"]["planner"]["pooled"]["composite_car_minutes"]  # type: ignore[index]
    tie = pooled["low"] <= 0 <= pooled["high"]
    assert f"against the planner: {pooled['per_cent']:+.2f} %" in text
    assert (f"n {pooled['n']}, a tie)" in text.split("against the planner:")[1][:90]) == tie


def test_sentences_around_the_numbers_are_true() -> None:
    """Words such as above and below are typed by hand: they hold for the numbers that stand beside them."""
    gym = artifact("gym_learning")["mean_episode_reward"]
    assert isinstance(gym, dict)
    assert gym["random"] < gym["baseline"] < gym["learned"] < gym["greedy_counting"]
    means = artifact("oracle_eval")["means"]
    assert isinstance(means, dict)
    assert means["oracle"]["overload_kva_min"] > means["planner"]["overload_kva_min"]
    history = artifact("health")["headroom_history"]
    assert isinstance(history, list)
    values = [
        [float(str(h[k]).replace("at most", "").split("%")[0]) for h in history]
        for k in ("composite", "walkin_minutes")
    ]
    assert values[0][-1] < values[0][0]
    assert values[1][-1] <= 2.0 < values[1][0]
    minutes = [float(str(h["minutes_baseline_scenario"]).split("%")[0]) for h in history]
    assert minutes[-1] > minutes[0]


def test_a_changed_number_is_drift(checkout: Path, capsys: pytest.CaptureFixture[str]) -> None:
    line = ["plan", "document", "--root", str(checkout)]
    assert call(line) == 0
    assert call([*line, "--check"]) == 0
    path = checkout / "artifacts" / "headroom.json"
    data = json.loads(path.read_text())
    data["tables"]["CricketFinal"]["planner"]["lost_share"] += 0.01
    path.write_text(json.dumps(data))
    capsys.readouterr()
    assert call([*line, "--check"]) == 1
    told = capsys.readouterr().out
    assert "technical-plan.md" in told and "CricketFinal" in told


def test_what_is_not_measured_is_said_to_be_absent(checkout: Path) -> None:
    (checkout / "artifacts" / "oracle_eval.json").unlink()
    (checkout / "artifacts" / "headroom.json").unlink()
    for name in plan.PAGES:
        text = plan.page(name, checkout)
        assert f"{ABSENT} (`{SOURCES['oracle_eval']}`)" in text
        assert "{{" not in text
    assert f"By scenario: {ABSENT}" in plan.page("technical-plan", checkout)


def test_links_have_one_owner(checkout: Path) -> None:
    assert plan_links.NOT_PUBLISHED in plan_links.line(dict.fromkeys(plan_links.KINDS, ""))
    (checkout / "docs" / "links.toml").write_text('[links]\nspace = "https://example.org/space"\n')
    (checkout / "README.md").write_text(f"# A\n\n{plan_links.BEGIN}\nold\n{plan_links.END}\n")
    assert call(["plan", "document", "--all", "--root", str(checkout)]) == 0
    for page in (
        "README.md",
        "docs/technical-plan.md",
        "docs/hf-mini-blog-ev-grid-oracle.md",
        "CYCLE_1_REPORT.md",
    ):
        assert "https://example.org/space" in (checkout / page).read_text(), page
    assert (checkout / "README.md").read_text().startswith(f"# A\n\n{plan_links.BEGIN}\n[Space")
    (checkout / "docs" / "links.toml").write_text("")
    assert call(["plan", "document", "--all", "--check", "--root", str(checkout)]) == 1


@pytest.mark.parametrize(
    "text", ["[links]\nspace = 3\n", "[links]\nspace = 'http://x'\n", "[links]\nother = ''\n", "[links\n"]
)
def test_bad_links_are_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "links.toml"
    path.write_text(text)
    with pytest.raises(EVGridError):
        plan_links.read_links(path)


@pytest.mark.parametrize(
    ("options", "code"),
    [
        (["--all", "--out", "x.md"], 2),
        (["--template", "mine.md"], 2),
        (["--template", "mine.md", "--out", "x.md"], 3),
        (["--city", "atlantis"], 2),
    ],
)
def test_bad_options_end_in_one_sentence(
    options: list[str],
    code: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert call(["plan", "document", *options]) == code
    assert "Traceback" not in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_broken_artifact_and_unknown_mark(checkout: Path, capsys: pytest.CaptureFixture[str]) -> None:
    own = checkout / "own.md"
    own.write_text("{{city}} has {{dragons}}\n")
    line = [
        "plan",
        "document",
        "--root",
        str(checkout),
        "--template",
        str(own),
        "--out",
        str(checkout / "page.md"),
    ]
    assert call(line) == 3
    assert "'dragons'" in capsys.readouterr().err
    own.write_text("{{city}}: {{stations}} stations\n\n{{table:headroom}}\n")
    assert call(line) == 0
    assert (checkout / "page.md").read_text().startswith("Bengaluru: 25 stations\n\n| scenario")
    (checkout / "artifacts" / "headroom.json").write_text('{"tables": ')
    assert call(line) == 3
    assert "headroom.json" in capsys.readouterr().err


def test_another_city_gives_its_own_names(tmp_path: Path, city_toy: CityPack) -> None:
    text = plan.page("technical-plan", tmp_path, city="toy")
    assert f"technical plan, {city_toy.name} ({city_toy.discom})" in text
    assert "Bengaluru" not in text.replace("data/bengaluru", "")
    assert ABSENT in text


def test_paths_that_the_pages_name_exist() -> None:
    pages = [ROOT / p for p in plan.PAGES.values()]
    pages += sorted((ROOT / "skills").rglob("*.md"))
    pages += [
        ROOT / "docs" / "judge-kit" / "index.md",
        ROOT / "docs" / "hackathon-official-resources.md",
        ROOT / "assets" / "README.md",
    ]
    made = {"artifacts/evaluation.json", "artifacts/frames_2min"}
    for page in pages:
        text = page.read_text()
        open_boxes = {line for line in text.splitlines() if line.startswith("- [ ]") or "| absent;" in line}
        kept = "\n".join(line for line in text.splitlines() if line not in open_boxes)
        for name in re.findall(
            r"`((?:ev_grid_oracle|docs|tools|training|artifacts|validation|viz|benchmarks)/[\w./-]+)`", kept
        ):
            assert (ROOT / name).exists() or name.rstrip("/") in made, (page.name, name)
        for target in re.findall(r"\]\(([^)#]+)\)", text):
            if not target.startswith("http"):
                assert (page.parent / target).exists(), (page.name, target)
