"""The prompt: the same text every time, every station in it, inside its budget, nothing that is no number."""

from __future__ import annotations

import dataclasses
import os
import re
import subprocess
import sys

import numpy as np
import pytest
from control_room import CARS, STATIONS, V0, make_observation, repo_file

from ev_grid_oracle.protocol import build_prompt, parse_action
from ev_grid_oracle.protocol.grammar import KEYS
from ev_grid_oracle.protocol.numbers import plain, tenth, whole
from ev_grid_oracle.protocol.prompt_compact import CANDIDATE, CANDIDATE_COLUMNS, HEADER, HEADER_COLUMNS
from ev_grid_oracle.protocol.tokens import estimate_tokens
from ev_grid_oracle.schema.action import Action
from ev_grid_oracle.schema.enums import ActionKind
from ev_grid_oracle.schema.errors import OptionError

GOLDEN = repo_file("tests/protocol/golden_prompt.txt")
CONTRACT = ("ANSWER with exactly", "RULES", *(f"{k}: " for k in KEYS))


def station_lines(text: str) -> dict[str, str]:
    block = text.split("STATIONS", 1)[1].split("\n\n")[0]
    return {line.split()[0]: line for line in block.splitlines()[1:]}


def rows_of(text: str) -> int:
    """Candidate rows: station id, then 12 numbers and a class."""
    return len(re.findall(r"^BLR-\d\d(?: [\d.-]+){12} (?:slow|fast|ultra_fast)$", text, re.MULTILINE))


def test_golden(obs):
    """One car's prompt, word for word. `EVG_GOLDEN=1` writes it anew; read the difference."""
    text = build_prompt(make_observation(1, reward=-1.234))
    if os.environ.get("EVG_GOLDEN"):
        GOLDEN.write_text(text, encoding="utf-8")
    assert text == GOLDEN.read_text(encoding="utf-8")


def test_same_text_every_time_and_in_another_process(obs):
    text = build_prompt(obs)
    assert text == build_prompt(make_observation()) == build_prompt(obs)
    code = "import sys; from control_room import make_observation as m; "
    code += "from ev_grid_oracle.protocol import build_prompt as b; sys.stdout.buffer.write(b(m()).encode())"
    env = {**os.environ, "PYTHONHASHSEED": "7", "PYTHONUTF8": "1"}
    env["PYTHONPATH"] = os.pathsep.join((str(repo_file(".")), str(repo_file("tests/protocol"))))
    out = subprocess.run(
        [sys.executable, "-c", code],
        env=env,
        capture_output=True,
        check=True,
    )
    assert out.stdout.decode() == text


def test_facts_are_there(obs):
    text = build_prompt(obs)
    assert "17:15 weekday summer, tick 3 of 48" in text
    assert "grid load 78%, renewable 31%, 641 gCO2/kWh, walk-ins 108% of usual" in text
    for word in (
        "EMERGENCY critical",
        "urgency 97%",
        "patience 35min",
        "ready_in 180min",
        "no dc",
        "koramangala",
    ):
        assert word in text
    assert "Three Wheeler" in text  # a line break in a name does not break a line
    assert "in 30 min: slots 2 at BLR-03: maintenance at BLR-03" in text
    assert "now: heat 3.5 sd 0.8 at city: hot evening" in text
    assert "LAST TICK" not in text and "LAST TICK: reward -1.5, flags idle" in build_prompt(
        make_observation(4, -1.5)
    )
    lines = station_lines(text)
    assert lines["BLR-05"] == "BLR-05 f12/12 q1 i1 w3 p18 l75 cap7kW 10min"
    assert lines["BLR-24"] == "BLR-24 u0/0 down p17 l50"
    assert "F04 load68 limit60" in text.split("FEEDERS")[1].splitlines()[1]  # tightest by present rating


@pytest.mark.parametrize("n_cars", [0, 1, 2, 4])
@pytest.mark.parametrize("budget", [None, 100, 700, 900, 1100, 1500, 2000])
def test_all_stations_and_the_contract_stay_and_the_budget_holds(n_cars, budget):
    observation = make_observation(n_cars, -1.0)
    text = build_prompt(observation, budget=budget)
    assert tuple(station_lines(text)) == STATIONS
    assert all(piece in text for piece in CONTRACT)
    floor = build_prompt(observation, budget=1)
    assert budget is None or estimate_tokens(text) <= max(budget, estimate_tokens(floor))
    assert estimate_tokens(floor) < 800


def test_count_is_the_callers(obs):
    for budget in (1500, 2500, 3500):
        assert len(build_prompt(obs, budget=budget, count=len)) <= budget or budget < 2200
    assert build_prompt(obs, budget=10**6, count=len) == build_prompt(obs)


def test_sections_go_in_the_order_of_the_document():
    observation = make_observation(4, -1.0)
    full = estimate_tokens(build_prompt(observation))
    seen = []
    for budget in range(full, 300, -5):
        text = build_prompt(observation, budget=budget)
        seen.append(
            (
                "LAST TICK" in text,
                len(re.findall(r"^F\d\d load", text, re.MULTILINE)),
                " p18" in text,
                rows_of(text),
                "ANNOUNCED" in text,
                sum(f"\n{c} " in text for c in CARS),
            )
        )
    steps = list(dict.fromkeys(seen))
    assert steps[0] == (True, 3, True, 16, True, 4)
    assert steps[-1] == (False, 0, False, 0, False, 1)
    expected = [
        (False, 3, True, 16, True, 4),
        (False, 1, True, 16, True, 4),
        (False, 1, False, 16, True, 4),
        (False, 0, False, 16, True, 4),
        (False, 0, False, 16, False, 4),
        (False, 0, False, 8, False, 4),
        (False, 0, False, 4, False, 4),
        (False, 0, False, 3, False, 3),
        (False, 0, False, 2, False, 2),
        (False, 0, False, 1, False, 1),
    ]
    assert steps[1:-1] == expected


def test_shrinking_the_budget_never_lengthens_the_text():
    observation = make_observation(4, -1.0)
    sizes = [len(build_prompt(observation, budget=b)) for b in range(2600, 300, -50)]
    assert sizes == sorted(sizes, reverse=True)


def test_orders_of_size():
    one, four = build_prompt(make_observation(1)), build_prompt(make_observation(4))
    assert 700 <= len(one) / 3 <= 950
    assert 1000 <= len(four) / 3 <= 1350
    assert rows_of(one) == 6 and rows_of(four) == 16


def test_candidates_are_the_usable_ones_by_score(obs):
    text = build_prompt(obs, car=1)
    table = obs.candidates(1)
    order = [int(i) for i in np.argsort(table.score, kind="stable") if table.usable[i]][:6]
    rows = re.findall(r"^(BLR-\d\d)(?: [\d.-]+){12} ", text, re.MULTILINE)
    assert rows == [STATIONS[i] for i in order]
    s = order[0]
    st, row = obs.state.stations, next(line for line in text.splitlines() if line.startswith(f"{rows[0]} "))
    assert row.split()[1:] == [
        whole(table.travel_min[s]),
        whole(table.own_min[s]),
        "2.5",
        "3.3",
        whole(table.wait_min[s]),
        "0.8",
        "4.2",
        whole(100 * st.ratio[s]),
        whole(st.walkin_slot_min[s]),
        whole(st.price_inr_kwh[s]),
        whole(table.site_headroom_kw[s]),
        whole(100 * table.feeder_headroom_frac[s]),
        ("slow", "fast", "ultra_fast")[st.rate[s]],
    ]


def test_one_car_by_index_or_id_says_how_to_answer_it(obs):
    assert build_prompt(obs, car=2) == build_prompt(obs, car=CARS[2])
    assert f"EV_ID: {CARS[2]}" in build_prompt(obs, car=2) and CARS[1] not in build_prompt(obs, car=2)
    assert "EV_ID" not in build_prompt(obs, car=0) and "EV_ID: <id>" in build_prompt(obs)
    for wrong in (4, -1, "EV-9"):
        with pytest.raises(OptionError):
            build_prompt(obs, car=wrong)
    with pytest.raises(OptionError):
        build_prompt(obs, style="verbose")  # type: ignore[arg-type]


def test_assumed_answers_change_the_tables_and_are_named(obs):
    given = (Action(ActionKind.ROUTE, "BLR-01", ev_id=CARS[0]),)
    text = build_prompt(obs, car=1, assumed=given)
    assert f"ANSWERED: {CARS[0]} route BLR-01" in text
    before = next(line for line in build_prompt(obs, car=1).splitlines() if line.startswith("BLR-01 6 "))
    assert before not in text


def test_nothing_pending_asks_for_nothing():
    observation = make_observation(0)
    text = build_prompt(observation)
    assert "none pending: answer with an empty text" in text
    assert parse_action("", observation).ok and build_prompt(observation, style="compact").strip() == ""


def test_forecast_block_on_request(obs):
    assert "<SIMULATE>" not in build_prompt(obs)
    text = build_prompt(obs, predict=True, budget=1)
    assert all(
        line in text for line in ("<SIMULATE>", "T+5_GRID_LOAD_PCT: ", "T+5_TOP_STATIONS: ", "</SIMULATE>")
    )


def test_no_number_that_is_none():
    observation = make_observation(4, float("nan"))
    broken = observation.candidates(0)
    for name in ("travel_min", "own_min", "wait_min", "free_at_arrival", "site_headroom_kw"):
        getattr(broken, name)[:] = np.nan
    broken.feeder_headroom_frac[:] = -np.inf
    observation = dataclasses.replace(observation, candidates_of=lambda i, a: broken)
    observation.state.stations.price_inr_kwh[:] = np.nan
    observation.state.stations.limit_kw[:] = 0.0
    observation.state.feeders.limit_frac[2] = 0.0
    observation.state.feeders.load_frac[3] = np.nan
    for style in ("full", "compact"):
        text = build_prompt(observation, style=style)
        assert not re.search(r"(?<![A-Za-z])(nan|inf|None)(?![A-Za-z])", text)
    assert " - " in build_prompt(observation) and " f-60 " in text and " d-40 " in text


def test_compact_is_a_header_and_a_line_of_integers_per_candidate(obs):
    text = build_prompt(obs, car=3, style="compact")
    lines = [line.split() for line in text.splitlines()]
    assert len(lines) == 5 and len(lines[0]) == 1 + len(HEADER_COLUMNS) == 9 and lines[0][0] == "car"
    assert all(len(line) == len(CANDIDATE_COLUMNS) == 12 for line in lines[1:])
    car, table, st = obs.pending[3], obs.candidates(3), obs.state.stations
    first = int(np.argmin(np.where(table.usable, table.score, np.inf)))
    head = dict(zip(HEADER_COLUMNS, (int(n[1:]) for n in lines[0][1:]), strict=True))
    row = dict(zip(CANDIDATE_COLUMNS, (int(n[1:]) for n in lines[1]), strict=True))
    assert head["time"] == 1035 // 15 and head["patience"] == 38 and head["need"] == 25 and head["kind"] == 3
    assert head["ready_in"] == 18 and head["left"] == min(obs.state.ticks - obs.state.tick, 60)
    assert row["travel"] == whole_of(table.travel_min[first]) and row["score"] == 0
    assert (
        row["slots"] == st.slots_up[first]
        and row["inbound"] == st.inbound[first]
        and row["type"] == st.rate[first]
    )
    assert head["best"] + row["extra"] == pytest.approx(
        table.travel_min[first] + table.own_min[first], abs=1.0
    )
    assert row["feeder"] == whole_of(100 * table.feeder_headroom_frac[first])
    assert car.flexible and 50 <= len(text.split()) <= 70
    assert len(build_prompt(obs, car=3, style="compact", rows=6).splitlines()) == 7


def whole_of(value: float) -> int:
    return int(np.floor(value + 0.5))


def test_compact_columns_cut_at_their_ends():
    by_name = {c.name: c for c in (*HEADER, *CANDIDATE)}
    assert by_name["travel"].word(12.4) == "t12" and by_name["travel"].word(12.5) == "t13"
    assert by_name["travel"].word(1e6) == "t90" and by_name["travel"].word(float("nan")) == "t90"
    assert by_name["free"].word(float("-inf")) == "f-60" and by_name["free"].word(-3.0) == "f-3"
    assert len({c.letter for c in by_name.values()}) == len(by_name)


def test_compact_within_a_budget(obs):
    def words(text: str) -> int:
        return len(text.split())

    for budget in (256, 200, 150, 90, 50, 22):
        assert words(build_prompt(obs, style="compact", budget=budget, count=words)) <= budget
    first = build_prompt(obs, car=0, style="compact", rows=1)
    assert build_prompt(obs, style="compact", budget=22, count=words) == first


def test_numbers():
    assert [whole(x) for x in (0.5, 1.5, 2.49, -0.4, float("nan"), float("inf"))] == [
        "1",
        "2",
        "2",
        "0",
        "-",
        "-",
    ]
    assert [tenth(x) for x in (0.84, 2.0, 0.25, -0.34, -0.01, float("nan"))] == [
        "0.8",
        "2",
        "0.3",
        "-0.3",
        "0",
        "-",
    ]
    assert plain(0.12345) == "0.1235" and plain(float("inf")) == "-"


def test_estimate_is_conservative():
    assert estimate_tokens("") == 0
    assert estimate_tokens("1234567890") == 10  # digits are tokens
    assert estimate_tokens(V0) >= len(V0) / 3.2
