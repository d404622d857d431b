"""The big run dry: every object of it, two real steps of GRPO, and what is done with the adapter afterwards."""

from __future__ import annotations

import csv
import json
import math
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("trl", reason="the train extra is not installed")
pytest.importorskip("peft", reason="the train extra is not installed")
pytest.importorskip("llguidance", reason="the train extra is not installed")
pytest.importorskip("tensorboard", reason="the train extra is not installed")

import torch

from ev_grid_oracle.city.load import load_city
from ev_grid_oracle.policies.llm.hub import ModelFiles, find_model
from ev_grid_oracle.policies.llm.local import LocalEngine, read_model
from ev_grid_oracle.policies.registry import make_policy
from ev_grid_oracle.schema.errors import EVGridError
from ev_grid_oracle.testing.policy import check_policy
from ev_grid_oracle.training import big
from ev_grid_oracle.training.big_adapter import (
    agreement,
    check_merge,
    decisions,
    merge_adapter,
    save_adapter,
)
from ev_grid_oracle.training.big_model import TrainingError, random_base, trainable
from ev_grid_oracle.training.big_profile import DRY_RUN, T4_QWEN3B, grpo_arguments
from ev_grid_oracle.training.big_rewards import BigRewards
from ev_grid_oracle.training.big_tiny import tiny_model, tiny_tokenizer
from ev_grid_oracle.training.big_watch import Watch

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]


@pytest.fixture(scope="module", autouse=True)
def offline() -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HF_HUB_OFFLINE", "1")
        torch.set_num_threads(1)
        yield


@pytest.fixture(scope="module")
def dry(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], Path]:
    out = tmp_path_factory.mktemp("dry")
    return big.run(dry_run=True, out=out, tell=lambda line: None), out


def test_two_steps_with_every_log(dry: tuple[dict[str, Any], Path]) -> None:
    report, out = dry
    assert report["steps"] == 2 and len(report["history"]) == 2
    for entry in report["history"]:
        assert all(math.isfinite(v) for v in entry.values())
        assert {"loss", "kl", "entropy", "reward", "reward/env", "reward/format", "reward/prediction"} <= set(
            entry
        )
        assert {"answers/invalid", "answers/flags", "answers/route", "answers/load_shift"} <= set(entry)
    assert any(e["grad_norm"] > 0 and e["frac_reward_zero_std"] < 1 for e in report["history"])
    assert sorted(report["watch"]) == [0, 1, 2] and all(len(v) == 2 for v in report["watch"].values())
    assert json.loads((out / "report.json").read_text())["checks"] == report["checks"]
    samples = [json.loads(line) for line in (out / "samples.jsonl").read_text().splitlines()]
    assert len(samples) == 2 and all(-1 <= s["reward"] <= 1 for s in samples)
    assert list((out / "logs").glob("events.out.tfevents.*"))


def test_the_saved_adapter_decides_as_before_and_so_does_the_merge(dry: tuple[dict[str, Any], Path]) -> None:
    report, out = dry
    checks = report["checks"]
    assert checks["adapter"]["equal"] == checks["adapter"]["of"] > 5
    assert checks["merged"]["share"] >= 0.95 and checks["merged"]["of"] == checks["adapter"]["of"]
    files = find_model(str(out / "adapter"))
    assert files.base == (out / "base").resolve()
    model, _ = read_model(files)
    moved = [p.abs().max().item() for n, p in model.named_parameters() if "lora_B" in n]
    assert moved and max(moved) > 0.0  # it is not the zero that LoRA starts from
    saved, _ = read_model(ModelFiles(out / "merged"), dtype="auto")
    assert {p.dtype for p in saved.parameters()} == {torch.float16}
    assert not (out / "merged" / "adapter_config.json").exists()


def test_what_was_trained_plays(dry: tuple[dict[str, Any], Path]) -> None:
    _, out = dry
    for folder in (out / "adapter", out / "merged"):
        check_policy(lambda folder=folder: make_policy(f"llm:{folder}"), "toy", ticks=4)


def test_a_resumed_run_follows_the_same_curve(dry: tuple[dict[str, Any], Path], tmp_path: Path) -> None:
    report, out = dry
    shutil.copytree(out, tmp_path / "again")
    shutil.rmtree(tmp_path / "again" / "checkpoint-2")  # as if the run had died after its first step
    again = big.run(True, out=tmp_path / "again", resume=True, merge=False, tell=lambda line: None)

    def curve(history: list[dict[str, float]]) -> list[float]:
        return [e[k] for e in history for k in ("reward", "loss", "grad_norm", "kl")]

    assert again["steps"] == 2
    assert np.allclose(curve(again["history"]), curve(report["history"]), rtol=1e-4, atol=1e-9)


@pytest.fixture(scope="module")
def strong(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, list[Any]]:
    """(base, adapter, moments): an adapter that changes every decision it can."""
    from peft import LoraConfig, get_peft_model
    from transformers import AutoModelForCausalLM, AutoTokenizer

    root = tmp_path_factory.mktemp("strong")
    city = load_city("toy")
    rows = big.rows_of(DRY_RUN, city, 5)
    base = random_base(root / "base", [r["prompt"][0]["content"] for r in rows], 5)
    torch.manual_seed(3)
    lora = LoraConfig(
        r=4, lora_alpha=16, target_modules=["q_proj", "v_proj", "up_proj"], init_lora_weights=False
    )
    model = get_peft_model(AutoModelForCausalLM.from_pretrained(base, dtype=torch.float32), lora)
    tokenizer = AutoTokenizer.from_pretrained(base)
    save_adapter(model, tokenizer, root / "adapter", "../base")
    return base, root / "adapter", big.moments_of(city, rows[:6])


def test_a_merge_keeps_an_adapter_that_matters(strong: tuple[Path, Path, list[Any]], tmp_path: Path) -> None:
    base, adapter, moments = strong
    merged = merge_adapter(adapter, base, tmp_path / "merged")
    found = check_merge(adapter, base, merged, moments, 1400, "float16")
    plain = decisions(LocalEngine("base", *read_model(ModelFiles(base))), moments, 1400)
    adapted = decisions(LocalEngine("adapted", *read_model(ModelFiles(adapter, base))), moments, 1400)
    assert found.share >= 0.95 and agreement(plain, adapted).share < 0.95  # the base alone would not pass


def test_a_merge_that_decides_otherwise_is_thrown_away(
    strong: tuple[Path, Path, list[Any]], tmp_path: Path
) -> None:
    base, adapter, moments = strong
    model, tokenizer = read_model(ModelFiles(base))  # as if the adapter had been rounded away
    model.save_pretrained(tmp_path / "merged")
    tokenizer.save_pretrained(tmp_path / "merged")
    with pytest.raises(TrainingError, match="was removed"):
        check_merge(adapter, base, tmp_path / "merged", moments, 1400, "float16")
    assert not (tmp_path / "merged").exists()


def test_no_merge_into_a_quantized_base(strong: tuple[Path, Path, list[Any]], tmp_path: Path) -> None:
    base, adapter, _ = strong
    four = tmp_path / "four"
    model, tokenizer = read_model(ModelFiles(base))
    model.save_pretrained(four)
    tokenizer.save_pretrained(four)
    facts = json.loads((four / "config.json").read_text())
    facts["quantization_config"] = {"quant_method": "bitsandbytes", "load_in_4bit": True}
    (four / "config.json").write_text(json.dumps(facts))
    with pytest.raises(TrainingError, match="quantized"):
        merge_adapter(adapter, four, tmp_path / "merged")
    with pytest.raises(TrainingError, match="no adapter"):
        merge_adapter(base, base, tmp_path / "merged")
    assert not (tmp_path / "merged").exists()


def test_a_base_of_ones_own_needs_no_gpu_unless_it_is_quantized(
    strong: tuple[Path, Path, list[Any]], tmp_path: Path
) -> None:
    base, _, _ = strong
    made = trainable(replace(DRY_RUN, model=str(base)), tmp_path, [], 1)
    assert made.maker == "peft" and made.base == base.resolve() and made.peft_config.r == DRY_RUN.rank
    assert not list(tmp_path.iterdir())
    if not torch.cuda.is_available():
        with pytest.raises(TrainingError, match="needs a GPU"):
            trainable(replace(DRY_RUN, model=str(base), bits=4), tmp_path, [], 1)


def test_a_model_without_an_adapter_is_not_saved_as_one(tmp_path: Path) -> None:
    tokenizer = tiny_tokenizer(["CARS"], 300)
    with pytest.raises(TrainingError, match="no adapter"):
        save_adapter(tiny_model(len(tokenizer)), tokenizer, tmp_path, "x")


def test_the_real_profile_asks_for_a_gpu_and_matches_the_recipe(tmp_path: Path) -> None:
    from trl import GRPOConfig

    arguments = GRPOConfig(**grpo_arguments(T4_QWEN3B, tmp_path, 1, False, "fp32"))
    assert (arguments.loss_type, arguments.scale_rewards) == ("dr_grpo", "none")
    assert arguments.num_generations == 8 and arguments.beta > 0 and arguments.temperature == 1.0
    assert arguments.reward_weights == [1.0, 0.1, 0.1]
    assert len(T4_QWEN3B.scenarios) == 11 and set(T4_QWEN3B.scenarios) == {
        s.name for s in load_city("bengaluru").scenarios
    }
    if torch.cuda.is_available():
        pytest.skip("this machine has a GPU")
    with pytest.raises(EVGridError, match=r"needs a GPU.*--dry-run"):
        big.run(out=tmp_path, tell=lambda line: None)


def test_rewards_log_what_the_answers_look_like() -> None:
    city = load_city("toy")
    rows = big.rows_of(DRY_RUN, city, 2)[:2]
    logged: dict[str, float] = {}
    rewards = BigRewards(city, futures=2, ahead=4)
    shift = "ACTION: load_shift\nSTATION: NONE\nCHARGE_RATE: fast\nDEFER_MINUTES: 5\nREASON: relief\nCONFIDENCE: 0.5"
    late = (
        "ACTION: defer\nSTATION: NONE\nCHARGE_RATE: fast\nDEFER_MINUTES: 240\nREASON: later\nCONFIDENCE: 0.5"
    )
    columns = {k: [row[k] for row in (*rows, rows[0])] for k in ("seed", "scenario", "tick", "ticks")}
    values = rewards.env([shift, "no", late], log_metric=logged.__setitem__, prompts=["x"] * 3, **columns)
    assert values[1] == -1.0 and all(math.isfinite(v) for v in values)
    assert logged["reward/env"] == pytest.approx(sum(values) / 3)
    assert logged["answers/invalid"] == logged["answers/refused"] == pytest.approx(1 / 3)
    assert (logged["answers/load_shift"], logged["answers/defer"], logged["answers/route"]) == (0.5, 0.5, 0.0)
    assert rewards.samples[-1].text == shift and rewards.samples[-1].reward == values[0]


def test_the_watch_stops_a_reward_that_parts_from_the_composite() -> None:
    rising = [0.1 * k for k in range(10)]
    worse = {0: [100.0, 110.0, 120.0], 50: [130.0, 141.0, 149.0]}
    assert (
        "29 car-minutes worse" in Watch(rising, worse).judge()
        or "car-minutes worse" in Watch(rising, worse).judge()
    )
    for rewards, composites in (
        (rising[::-1], worse),  # the reward falls: learning badly, not hacking
        (rising, {0: worse[50], 50: worse[0]}),  # better
        (rising, {0: [100.0, 110.0, 120.0], 50: [130.0, 80.0, 122.0]}),  # noise
        (rising[:4], worse),
        (rising, {0: worse[0]}),
    ):
        assert Watch(list(rewards), dict(composites)).judge() == ""


def test_curves_of_the_run(dry: tuple[dict[str, Any], Path], tmp_path: Path) -> None:
    report, out = dry
    tool = Path(__file__).parents[2] / "tools" / "export_grpo_tensorboard_plots.py"
    done = subprocess.run(
        [sys.executable, str(tool), "--logdir", str(out), "--out-dir", str(tmp_path)],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    table = list(csv.DictReader((tmp_path / "grpo_curves.csv").read_text().splitlines()))
    logged = {int(row["step"]): row for row in table if row["loss"]}
    for entry in report["history"]:
        row = logged[entry["step"]]
        for name in ("loss", "reward", "reward/env", "kl", "entropy"):
            assert float(row[name]) == pytest.approx(entry[name], rel=1e-4, abs=1e-9)
    for name in ("grpo_loss.png", "grpo_reward.png"):
        assert (tmp_path / name).stat().st_size > 5000
