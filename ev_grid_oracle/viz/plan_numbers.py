"""The numbers that the written pages show: each one read from an artifact or from the city's pack.

`numbers` gives a flat table, name to text. A name whose source is missing is not guessed: its text says that
it has not been measured and which command measures it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from ev_grid_oracle.city.model import CityPack
from ev_grid_oracle.evaluation.plan_evidence import read_object

SOURCES: dict[str, str] = {
    "headroom": "python benchmarks/headroom.py --episodes 100",
    "bench_world": "evgrid bench world --json",
    "bench_server": "evgrid bench server --json",
    "bench_ui": "the browser tests of `web/`",
    "integrity": "python benchmarks/integrity.py --evaluations 2000",
    "invariants": "python benchmarks/invariants.py --episodes 5000",
    "same_results": "python benchmarks/same_results.py --old COMMIT",
    "powerflow": "python benchmarks/powerflow.py",
    "gym_learning": "python benchmarks/learn_gym.py",
    "oracle_eval": "python benchmarks/oracle_eval.py --episodes 64",
    "oracle_training": "evgrid train --profile cpu-small",
    "eval_snapshot": "python tools/write_eval_snapshot.py",
    "evaluation": "evgrid eval --policies baseline,greedy_counting,planner --scenarios all --out artifacts/evaluation.json",
    "bound": "python benchmarks/bound.py",
    "health": "python tools/health_report.py",
}
"""Artifact (`NAME.json`) and the command that makes it."""
ABSENT = "not measured yet"


class Table(dict[str, object]):
    """A JSON object whose parts are asked for by a path such as ``means/oracle/lost``."""

    def at(self, path: str) -> object:
        """What stands there, or None."""
        value: object = self
        for key in path.split("/"):
            value = value.get(key) if isinstance(value, Mapping) else None
        return value


def read_all(folder: Path) -> dict[str, Table]:
    """Every known artifact that is in `folder`."""
    return {
        name: Table(read_object(folder / f"{name}.json"))
        for name in SOURCES
        if (folder / f"{name}.json").is_file()
    }


def absent(name: str) -> str:
    """What a page says in place of a number of this artifact."""
    return f"{ABSENT} (`{SOURCES[name]}`)" if " " in SOURCES[name] else ABSENT


class Reader:
    """Reads fields of artifacts as text, and says of a missing one that it is missing."""

    def __init__(self, tables: Mapping[str, Table]) -> None:
        self.tables = tables

    def value(self, name: str, path: str) -> object:
        return self.tables[name].at(path) if name in self.tables else None

    def show(self, name: str, path: str, form: str = "", scale: float = 1.0) -> str:
        """The field in the given format; a number is multiplied by `scale` first."""
        found = self.value(name, path)
        if isinstance(found, bool) or found is None:
            return absent(name) if found is None else ("yes" if found else "no")
        if isinstance(found, list):
            if path.endswith("holes"):
                return str(len(found))
            return ", ".join(f"`{one}`" for one in found) or "none"
        if isinstance(found, int | float):
            return format(found * scale if scale != 1.0 else found, form)
        return str(found)

    def bar(self, start: str) -> str:
        """Value of the bar of the headroom whose name begins like this."""
        bars = self.value("headroom", "bars")
        for entry in bars if isinstance(bars, list) else []:
            if str(entry["bar"]).startswith(start):
                return str(entry["value"])
        return absent("headroom")

    def paired(self, one: str, other: str) -> str:
        """Composite of `one` less that of `other` on the oracle's evenings, with its interval; a tie is a tie."""
        where = f"against/{one}/{other}/pooled/composite_car_minutes"
        found = self.value("oracle_eval", where)
        if not isinstance(found, Mapping):
            return absent("oracle_eval")
        low, high = float(found["low"]), float(found["high"])
        tie = ", a tie" if low <= 0.0 <= high else ""
        return (
            f"{found['per_cent']:+.2f} % ({low:+.0f} to {high:+.0f} car-minutes an evening, "
            f"n {found['n']:.0f}{tie})"
        )


def city_numbers(city: CityPack) -> dict[str, str]:
    """Counts and names of the pack."""
    kinds = ("slow", "fast", "ultra-fast")
    count = [int((city.stations.rate == rate).sum()) for rate in range(3)]
    return {
        "city": city.name,
        "city_id": city.id,
        "discom": city.discom,
        "city_sha": city.sha256[:12],
        "stations": str(len(city.stations.ids)),
        "slots": str(int(city.stations.slots.sum())),
        "station_kinds": ", ".join(f"{n} {kind}" for n, kind in zip(count, kinds, strict=True)),
        "station_names": ", ".join(city.stations.names[:6]),
        "first_station": city.stations.ids[0],
        "last_station": city.stations.ids[-1],
        "feeders": str(len(city.grid.feeder_ids)),
        "buses": str(len(city.grid.bus_ids)),
        "road_nodes": f"{len(city.roads.node_lat):,}",
        "road_links": f"{len(city.roads.link_from):,}",
        "zones": str(len(city.zones.ids)),
        "vehicles": str(len(city.vehicles.names)),
        "scenario_count": str(len(city.scenarios)),
        "scenario_names": ", ".join(f"`{s.name}`" for s in city.scenarios),
    }


def numbers(tables: Mapping[str, Table], city: CityPack) -> dict[str, str]:
    """Name to text of everything that a template may ask for outside its tables."""
    read = Reader(tables)
    fields: tuple[tuple[str, str, str, str, float], ...] = (
        ("world_ticks", "bench_world", "ticks_per_s_1_thread", ",.0f", 1.0),
        ("world_ticks_all", "bench_world", "ticks_per_s_all_threads", ",.0f", 1.0),
        ("world_threads", "bench_world", "threads", "", 1.0),
        ("session_ticks", "bench_world", "session_ticks_per_s", ",.0f", 1.0),
        ("fork_us", "bench_world", "fork_us", ".1f", 1.0),
        ("bytes_per_env", "bench_world", "bytes_per_env", ",", 1.0),
        ("compile_s", "bench_world", "compile_s", ".0f", 1.0),
        ("world_cpu", "bench_world", "provenance/machine/cpu", "", 1.0),
        ("invariant_episodes", "invariants", "episodes", ",", 1.0),
        ("invariant_ticks", "invariants", "ticks", ",", 1.0),
        ("invariant_violations", "invariants", "violations", "", 1.0),
        ("invariant_full", "invariants", "episodes_with_a_full_table", "", 1.0),
        ("invariant_away", "invariants", "cars_turned_away", "", 1.0),
        ("integrity_evaluations", "integrity", "evaluations", ",", 1.0),
        ("integrity_evenings", "integrity", "evenings", "", 1.0),
        ("integrity_holes", "integrity", "holes", "", 1.0),
        ("integrity_rank", "integrity", "reward/spearman", ".3f", 1.0),
        ("integrity_useless", "integrity", "reward/useless_above_baseline", "", 1.0),
        ("integrity_passed", "integrity", "passed", "", 1.0),
        ("powerflow_error", "powerflow", "worst_error_pu", ".1e", 1.0),
        ("gym_steps", "gym_learning", "steps", ",", 1.0),
        ("gym_learned", "gym_learning", "mean_episode_reward/learned", ".2f", 1.0),
        ("gym_random", "gym_learning", "mean_episode_reward/random", ".2f", 1.0),
        ("gym_baseline", "gym_learning", "mean_episode_reward/baseline", ".2f", 1.0),
        ("gym_greedy", "gym_learning", "mean_episode_reward/greedy_counting", ".2f", 1.0),
        ("gym_evenings", "gym_learning", "held_out_evenings", "", 1.0),
        ("oracle_p50", "oracle_eval", "speed/answer_p50_ms", ".2f", 1.0),
        ("oracle_answers", "oracle_eval", "answers/oracle/answers", ",.0f", 1.0),
        ("oracle_invalid", "oracle_eval", "answers/oracle/invalid", ".0f", 1.0),
        ("oracle_refused", "oracle_eval", "answers/oracle/refused", ".0f", 1.0),
        ("oracle_hash", "oracle_eval", "model_hash", "", 1.0),
        ("oracle_kva", "oracle_eval", "means/oracle/overload_kva_min", ",.0f", 1.0),
        ("planner_kva", "oracle_eval", "means/planner/overload_kva_min", ",.0f", 1.0),
        ("train_parameters", "oracle_training", "runs/seed 0/warm/parameters", ",", 1.0),
        ("train_decisions", "oracle_training", "runs/seed 0/data/warm", ",", 1.0),
        ("train_warm_min", "oracle_training", "runs/seed 0/warm/seconds", ".0f", 1.0 / 60.0),
        ("train_grpo_min", "oracle_training", "runs/seed 0/grpo/seconds", ".0f", 1.0 / 60.0),
        ("train_grpo_steps", "oracle_training", "runs/seed 0/grpo/steps", "", 1.0),
        ("train_best_step", "oracle_training", "runs/seed 0/grpo/best_step", "", 1.0),
        ("headroom_seed", "headroom", "seed", "", 1.0),
        ("headroom_command", "headroom", "provenance/command", "", 1.0),
        ("headroom_n", "headroom", "tables/baseline/planner/n", ".0f", 1.0),
        ("ui_kb", "bench_ui", "size/initial_kb_gz", ".0f", 1.0),
        ("ui_paint", "bench_ui", "paint_ms/first-contentful-paint", ".0f", 1.0),
        ("health_commit", "health", "commit", "", 1.0),
        ("health_files", "health", "totals/files", ",", 1.0),
        ("health_lines", "health", "totals/lines", ",", 1.0),
        ("health_tests", "health", "totals/tests", ",", 1.0),
        ("health_longest", "health", "totals/longest_lines", ",", 1.0),
        ("health_median", "health", "totals/median_lines", "", 1.0),
        ("health_over_limit", "health", "totals/over_limit", "", 1.0),
        ("health_ruff", "health", "lint/ruff", "", 1.0),
        ("health_mypy", "health", "lint/mypy", "", 1.0),
        ("health_imports", "health", "lint/imports", "", 1.0),
    )  # fmt: skip
    shown = {key: read.show(name, path, form, scale) for key, name, path, form, scale in fields}
    bars = {
        "bar_minutes": "minutes_to_charged",
        "bar_lost": "lost + stranded",
        "bar_walkins": "walk-in minutes",
        "bar_reward": "higher reward",
        "bar_kva": "overload kVA-minutes -50",
        "bar_overload_minutes": "overload minutes",
        "bar_composite": "composite at least",
        "bar_kva_greedy": "no more overload",
        "bar_aim": "aim: composite",
        "bar_clairvoyant": "clairvoyant against greedy_counting",
        "bar_clairvoyant_planner": "clairvoyant against planner",
    }
    shown |= {key: read.bar(start) for key, start in bars.items()}
    shown |= {
        "oracle_vs_baseline": read.paired("oracle", "baseline"),
        "oracle_vs_greedy": read.paired("oracle", "greedy_counting"),
        "oracle_vs_planner": read.paired("oracle", "planner"),
        "oracle_vs_warm": read.paired("oracle", "warm_start"),
        "planner_vs_greedy": read.paired("planner", "greedy_counting"),
    }
    return city_numbers(city) | shown


def markdown(head: Sequence[str], rows: Sequence[Sequence[object]], right: int = 1) -> str:
    """A Markdown table; columns from number `right` on stand to the right."""
    rule = ["---" if n < right else "--:" for n in range(len(head))]
    lines = [head, rule, *rows]
    return "\n".join("| " + " | ".join(str(c) for c in line) + " |" for line in lines)
