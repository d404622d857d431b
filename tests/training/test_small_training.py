"""Data, labels, rewards and the run of the small oracle; the whole pipeline at the smallest size."""

# ruff: noqa: E402  the extras are asked for before anything that needs them
from __future__ import annotations

import json
import shutil

import numpy as np
import pytest

for _name in ("torch", "transformers", "trl", "datasets", "onnx", "onnxruntime", "tokenizers"):
    pytest.importorskip(_name, reason="needs the extra `train`")

import torch

from ev_grid_oracle.evaluation.seeds import episode_seeds
from ev_grid_oracle.evaluation.writing import clean
from ev_grid_oracle.interfaces.openenv.tasks import SPLITS, split_seeds
from ev_grid_oracle.policies.llm import small_words as w
from ev_grid_oracle.policies.llm.small_net import Net
from ev_grid_oracle.training import small_grpo, small_run
from ev_grid_oracle.training.small_data import Collector, Decisions, training_seeds
from ev_grid_oracle.training.small_export import export, torch_logits
from ev_grid_oracle.training.small_model import new_model
from ev_grid_oracle.training.small_warm import shuffled, soft

pytestmark = pytest.mark.filterwarnings("default")  # trl, torch and transformers warn about themselves


@pytest.fixture(scope="module")
def found(city):
    collector = Collector(city, 3, keep=1.0, futures=8, ticks=16)
    return collector.block(training_seeds(3, 2), [0, 4], np.random.default_rng(0))


def test_training_seeds_keep_off_what_is_held_out():
    seeds = training_seeds(11, 2000)
    held = (
        {s for split in SPLITS for s in split_seeds(split)}
        | set(episode_seeds(1, 1000))
        | set(episode_seeds(7, 1000))
    )
    assert len(set(seeds)) == 2000 and not held & set(seeds) and all(s % 4 == 0 for s in seeds)


def test_labels_are_whole_and_the_mask_of_tokens_is_the_mask_of_costs(found):
    assert len(found.car_ids) > 50
    least = np.nanmin(found.car_cost, 1)
    assert np.isfinite(least).all() and (found.car_lines >= 1).all()
    length = torch.tensor([w.CAR.length(int(n)) for n in found.car_lines])
    mask = small_grpo.legal(torch.from_numpy(found.car_ids.astype(np.int64)), length).numpy()
    assert np.array_equal(mask[:, :9], np.isfinite(found.car_cost)) and not mask[:, 9].any()
    if len(found.relief_ids):
        length = torch.tensor([w.RELIEF_QUESTION.length(int(n)) for n in found.relief_lines])
        mask = small_grpo.legal(torch.from_numpy(found.relief_ids.astype(np.int64)), length).numpy()
        assert np.array_equal(mask[:, :8], np.isfinite(found.relief_cost)) and mask[:, 9].all()


def test_shuffled_lines_keep_their_costs(found):
    ids, cost = shuffled(found.car_ids, found.car_lines, found.car_cost, w.CAR, np.random.default_rng(2))
    moved = 0
    for k in range(len(ids)):

        def lines(row, costs, k=k):
            body = row[w.CAR.head_words : w.CAR.head_words + 8 * w.CAR.line_words].reshape(8, -1)
            return sorted((tuple(body[j].tolist()), float(costs[j])) for j in range(int(found.car_lines[k])))

        assert lines(ids[k], cost[k]) == lines(found.car_ids[k], found.car_cost[k])
        moved += not np.array_equal(ids[k], found.car_ids[k])
    assert moved > 10 and np.array_equal(ids[:, : w.CAR.head_words], found.car_ids[:, : w.CAR.head_words])


def test_soft_labels_give_nothing_to_what_is_no_answer():
    label = soft(torch.tensor([[10.0, 14.0, float("nan")]]), 4.0)[0]
    assert (
        label[2] == 0.0
        and label.sum() == pytest.approx(1.0)
        and label[0] / label[1] == pytest.approx(np.e, rel=1e-4)
    )


def test_graph_answers_as_torch_on_a_thousand_prompts(found, tmp_path):
    model = new_model(1, width=32, layers=2, inner=64, heads=2).eval()
    export(model, tmp_path)
    rows = [
        found.car_ids[k % len(found.car_ids)][
            : w.CAR.length(int(found.car_lines[k % len(found.car_ids)]))
        ].astype(np.int32)
        for k in range(1000)
    ]
    for k, row in enumerate(rows):  # different prompts: the walk-ins of the first line vary
        row[w.CAR.head_words + 5] = w.FIRST["w"] + k % 81
    ours = np.concatenate([Net(tmp_path).last(rows[k : k + 50]) for k in range(0, 1000, 50)])
    theirs = torch_logits(model, rows)
    assert np.abs(ours - theirs).max() < 1e-4
    answers = list(small_grpo.ANSWERS)
    assert np.array_equal(ours[:, answers].argmax(1), theirs[:, answers].argmax(1))


def test_sampling_and_loss_see_one_distribution(found):
    model = new_model(2, width=32, layers=1, inner=64, heads=2).eval()
    ids = torch.from_numpy(found.car_ids[:32].astype(np.int64))
    length = torch.tensor([w.CAR.length(int(n)) for n in found.car_lines[:32]])
    odds = small_grpo.answer_log_odds(model, ids, length)
    mask = small_grpo.legal(ids, length)
    assert torch.allclose((odds.exp() * mask).sum(1), torch.ones(32), atol=1e-5)
    assert float(odds.exp()[~mask].sum()) == 0.0


def test_rewards_are_minus_the_cost_in_units_of_thirty_minutes():
    cost = [[30.0, 90.0, *[float("nan")] * 6, 60.0, float("nan")]] * 4
    taken = [[w.POINTER], [w.POINTER + 1], [w.DEFER_ID], [w.POINTER + 5]]
    assert small_grpo.marginal_cost(taken, cost) == [-1.0, -3.0, -2.0, -3.0]
    assert small_grpo.legal_format(taken, cost) == [0.0, 0.0, 0.0, small_grpo.ILLEGAL]


def test_the_whole_run_and_a_resumed_one_draw_the_same_curve(tmp_path):
    report = small_run.run("tiny-test", out=tmp_path, seed=1, tell=lambda text: None)
    assert report["grpo"]["steps"] == 4 and len(report["grpo"]["checks"]) == 3
    assert (tmp_path / "model-1" / "model.onnx").is_file() and any((tmp_path / "grpo-1" / "logs").iterdir())
    assert json.loads((tmp_path / "report.json").read_text())["warm"]["parameters"] > 10_000
    shutil.rmtree(tmp_path / "grpo-1" / "checkpoint-4")
    again = small_run.run("tiny-test", out=tmp_path, seed=1, tell=lambda text: None)
    assert clean(again["grpo"]["checks"]) == clean(report["grpo"]["checks"])
    ours, theirs = (r["grpo"]["history"][-1]["reward"] for r in (again, report))
    assert ours == pytest.approx(theirs, abs=1e-6) and np.isfinite(ours)
    last = [c["regret_min"] for c in report["grpo"]["checks"]]
    assert len(set(last)) > 1  # it moved
    assert Decisions.load(tmp_path / "warm.npz").car_ids.shape[0] == 320
