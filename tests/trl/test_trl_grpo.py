"""`GRPOTrainer` takes both doors as they are: a random two-layer Qwen2 on the CPU, offline."""

from __future__ import annotations

import importlib.util
import math
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

pytest.importorskip(
    "trl.trainer.grpo_trainer", reason="the train extra is not installed", exc_type=ImportError
)

import torch
from transformers import Qwen2ForCausalLM
from transformers.utils import get_json_schema

from ev_grid_oracle.interfaces.trl_env import EVGridToolEnv

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]

CALL = '<tool_call>\n{"name": "advance", "arguments": {}}\n</tool_call><|im_end|>'


@pytest.fixture(scope="module")
def example() -> ModuleType:
    path = Path(__file__).parents[2] / "examples" / "grpo_min.py"
    spec = importlib.util.spec_from_file_location("grpo_min", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(autouse=True)
def offline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    torch.set_num_threads(1)


def logged(run: Any) -> list[dict[str, float]]:
    run.train()
    entries = [e for e in run.state.log_history if "reward" in e]
    assert all(math.isfinite(v) for e in entries for v in e.values())
    return entries


def test_tools_have_schemas() -> None:
    env = EVGridToolEnv("toy")
    for tool in (env.route_ev, env.defer_ev, env.shift_load, env.advance):
        schema = get_json_schema(tool)["function"]
        assert schema["description"] and all(
            p["description"] for p in schema["parameters"]["properties"].values()
        )


def test_reward_functions(example: ModuleType, tmp_path: Path) -> None:
    entries = logged(example.trainer("text", steps=5, out=str(tmp_path)))
    assert len(entries) == 5
    assert {f"rewards/{n}_reward/mean" for n in ("format", "env", "prediction")} <= set(entries[0])


def test_environment_factory_and_groups_share_their_seed(example: ModuleType, tmp_path: Path) -> None:
    entries = logged(example.trainer("tools", steps=5, out=str(tmp_path)))
    assert len(entries) == 5 and all(-1 < e["rewards/EVGridToolEnv/mean"] < 1 for e in entries)
    # a random model calls no tool: its group of four differs only if the members met different worlds
    assert all(e["reward_std"] == 0.0 for e in entries if e["tools/call_frequency"] == 0.0)


def test_tool_calls_reach_the_environment(example: ModuleType, tmp_path: Path) -> None:
    class Scripted(Qwen2ForCausalLM):
        """Calls `advance` in the first member of a group, and then stops."""

        script: tuple[list[int], list[int]] = ([], [])

        def generate(self, input_ids: torch.Tensor, **kwargs: Any) -> torch.Tensor:
            call, stop = self.script
            width = len(call)
            rows = []
            for k, ids in enumerate(input_ids):
                fresh = k == 0 and not _called(ids.tolist(), call)
                said = call if fresh else stop + [0] * (width - len(stop))
                rows.append(torch.cat([ids, torch.tensor(said)]))
            return torch.stack(rows)

    run = example.trainer("tools", steps=2, out=str(tmp_path), kind=Scripted)
    encode = run.processing_class.encode
    run.model.script = (encode(CALL), encode("<|im_end|>"))
    run.args.max_completion_length = run.max_completion_length = 2048
    entries = logged(run)
    assert all(e["tools/call_frequency"] > 0 and e["tools/failure_frequency"] == 0 for e in entries)


def _called(ids: list[int], call: list[int]) -> bool:
    return any(ids[k : k + len(call)] == call for k in range(len(ids) - len(call) + 1))
