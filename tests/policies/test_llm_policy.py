"""Models as policies: what they answer, what is recorded where they do not, and how their files are loaded."""

from __future__ import annotations

import json
import shutil
import threading
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("llguidance", reason="the train extra is not installed")
pytest.importorskip("peft", reason="the train extra is not installed")

from llm_tools import begun, moments, room, saved, tiny

from ev_grid_oracle.city.model import CityPack
from ev_grid_oracle.episode.session import Session
from ev_grid_oracle.policies.llm.guard import Guard, LateError, ModelError, timeout_s
from ev_grid_oracle.policies.llm.hub import find_model, hash_of
from ev_grid_oracle.policies.llm.local import LocalEngine, load_engine
from ev_grid_oracle.policies.llm.policy import Ask, LLMPolicy, Reply
from ev_grid_oracle.policies.registry import make_policy
from ev_grid_oracle.schema import rows as r
from ev_grid_oracle.schema.errors import EVGridError, OptionError, UnknownPolicyError
from ev_grid_oracle.testing.policy import check_policy

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(scope="module")
def engine() -> LocalEngine:
    model, tokenizer = tiny()
    return LocalEngine("llm:tiny", model, tokenizer, batch=4)


class Faulty:
    """The tiny model behind a fault of its host."""

    batch, context, model_hash = 4, 4096, None

    def __init__(
        self, name: str, fault: BaseException | None = None, wait_s: float = 0.0, text: str = ""
    ) -> None:
        self.name, self._fault, self._wait_s, self._text = name, fault, wait_s, text

    def count(self, text: str) -> int:
        return len(text) // 3

    def replies(self, asks: Sequence[Ask], deadline: float) -> list[Reply]:
        time.sleep(self._wait_s)
        if self._fault is not None:
            raise self._fault
        return [Reply(self._text)] * len(asks)


def test_a_model_keeps_the_contract_of_a_policy(engine: LocalEngine) -> None:
    made: list[LLMPolicy] = []

    def make() -> LLMPolicy:
        made.append(LLMPolicy(engine, 60.0))
        return made[-1]

    check_policy(make, "toy", ticks=8)  # nothing refused, equal answers in both episodes
    assert all(not p.reasons and not p.invalid and p.source == "llm" for p in made)
    assert 0 < engine.chosen < 0.6 * engine.written  # what the grammar forces was not generated


def test_a_batch_answers_as_its_members_alone(engine: LocalEngine, city_toy: CityPack) -> None:
    seen = moments(city_toy, 6)
    policy = begun(LLMPolicy(engine, 60.0), city_toy)
    outs = [room(city_toy) for _ in seen]
    counts = policy.answer_batch([o.row for o in seen], outs, range(len(seen)))  # two calls: 4 and 2
    assert policy.tallies == [{"llm": n} for n in counts] and policy.refusals == [0] * len(seen)
    for obs, out, n in zip(seen, outs, counts, strict=True):
        alone = room(city_toy)
        assert policy.answer(obs.row, alone) == n > 0 and np.array_equal(alone, out)


def test_too_late_is_the_baselines_answer_and_says_so(city_toy: CityPack) -> None:
    obs = moments(city_toy, 1)[0]
    policy = begun(LLMPolicy(Faulty("slow", wait_s=0.6), 0.1), city_toy)
    theirs, ours = room(city_toy), room(city_toy)
    n = begun(make_policy("baseline"), city_toy).answer(obs.row, theirs)
    for _ in range(2):  # the second call finds the model still busy and does not wait for it
        ours[:] = 0
        assert policy.answer(obs.row, ours) == n and np.array_equal(ours, theirs)
        assert policy.source == "timeout" and policy.tallies == [{"timeout": n}] and policy.refused == 0
    assert sorted(policy.reasons.values()) == [n, n] and "busy" in policy.note


def test_a_fault_of_the_host_is_a_fallback_with_its_reason(city_toy: CityPack) -> None:
    obs = moments(city_toy, 1)[0]
    for fault, word in (
        (ModelError("The weights are gone."), "gone"),
        (RuntimeError("out of\nmemory"), "memory"),
    ):
        policy = begun(LLMPolicy(Faulty("broken", fault), 5.0), city_toy)
        n = policy.answer(obs.row, room(city_toy))
        assert policy.source == "fallback" and word in policy.note and "\n" not in policy.note
        assert sum(policy.reasons.values()) == n > 0 and not policy.invalid


def test_a_text_the_parser_refuses_is_the_models_invalid_answer(city_toy: CityPack) -> None:
    obs = moments(city_toy, 1)[0]
    policy = begun(LLMPolicy(Faulty("chatty", text="Sure, I would wait."), 5.0), city_toy)
    n = policy.answer(obs.row, room(city_toy))
    assert policy.source == "fallback" and policy.refused == 1 and dict(policy.invalid) == {"E_FORMAT": 1}
    assert dict(policy.reasons) == {"invalid answer: E_FORMAT": n}


def test_a_legal_text_that_the_verifier_refuses_stays_the_models(city_toy: CityPack) -> None:
    session = Session(city_toy)
    obs = session.reset(seed=3)
    while not obs.pending_ids:
        obs = session.step()
    text = (
        "ACTION: defer\nSTATION: NONE\nCHARGE_RATE: fast\nDEFER_MINUTES: 240\nREASON: later\nCONFIDENCE: 0.25"
    )
    policy = begun(LLMPolicy(Faulty("patient", text=text), 5.0), city_toy)
    out = room(city_toy)
    assert policy.answer(obs.row, out) == 1 and policy.source == "llm"
    assert out[0, r.D_CONF] == 2500
    errors = session.step(out[:1], source=policy.source).info["errors"]
    assert [e["code"] for e in errors] == ["E_TIME_WINDOW"]  # type: ignore[attr-defined]


def test_nobody_to_answer_asks_nobody(city_toy: CityPack) -> None:
    session = Session(city_toy)
    obs = session.reset(seed=3)
    while obs.pending_ids:
        obs = session.step()
    policy = begun(LLMPolicy(Faulty("unasked", RuntimeError("asked")), 5.0), city_toy)
    assert policy.answer(obs.row, room(city_toy)) == 0 and policy.source == "llm" and not policy.reasons


def test_files_of_a_model_and_their_hash(tmp_path: Path, city_toy: CityPack) -> None:
    folder = saved(tmp_path / "model")
    policy = make_policy(f"llm:{folder}")
    assert policy.name == f"llm:{folder}" and policy.model_hash == hash_of(find_model(str(folder)))  # type: ignore[attr-defined]
    obs = moments(city_toy, 1)[0]
    assert begun(policy, city_toy).answer(obs.row, room(city_toy)) > 0 and policy.source == "llm"
    assert load_engine("x", folder) is load_engine("x", folder)  # many environments, one model
    before = hash_of(find_model(str(folder)))
    (folder / "generation_config.json").write_text("{}")
    assert hash_of(find_model(str(folder))) != before
    assert make_policy(f"llm:{folder}").model_hash != before  # type: ignore[attr-defined]  # trained again in the same place


def test_a_folder_with_an_onnx_graph_is_a_small_oracle(tmp_path: Path, city_toy: CityPack) -> None:
    pytest.importorskip("onnxruntime", reason="the oracle extra is not installed")
    from ev_grid_oracle.policies.llm.resolve import SMALL_MODEL

    if not SMALL_MODEL.is_file():
        pytest.skip("no small model is shipped")
    folder = tmp_path / "mine"
    shutil.copytree(SMALL_MODEL.parent, folder)
    mine, shipped = make_policy(f"llm:{folder}"), make_policy("oracle")
    assert mine.name == f"llm:{folder}" and mine.source == "llm"
    for obs in moments(city_toy, 3):
        ours, theirs = room(city_toy), room(city_toy)
        n = begun(mine, city_toy).answer(obs.row, ours)
        assert n == begun(shipped, city_toy).answer(obs.row, theirs) and np.array_equal(ours, theirs)


def test_a_vocabulary_that_cannot_spell_the_answer_is_refused(tmp_path: Path) -> None:
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    core = Tokenizer(models.WordLevel({"<end>": 0, "?": 1, "1": 2}, unk_token="?"))
    core.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=core, eos_token="<end>", unk_token="?")
    folder = saved(tmp_path / "numbers")
    tokenizer.save_pretrained(folder)
    with pytest.raises(ModelError, match="cannot spell"):
        make_policy(f"llm:{folder}")


def test_pickled_broken_and_absent_weights_are_refused(tmp_path: Path) -> None:
    folder = saved(tmp_path / "model")
    weights = folder / "model.safetensors"
    weights.rename(folder / "pytorch_model.bin")
    with pytest.raises(ModelError, match=r"pickled weights only .*safe_serialization"):
        make_policy(f"llm:{folder}")
    (folder / "pytorch_model.bin").rename(folder / "notes.md")
    with pytest.raises(ModelError, match="holds no model"):
        make_policy(f"llm:{folder}")
    weights.write_bytes(b"\x10\x00\x00\x00\x00\x00\x00\x00not a header ...")
    with pytest.raises(ModelError, match="cannot be loaded"):
        make_policy(f"llm:{folder}")
    with pytest.raises(ModelError, match="no config"):
        make_policy(f"llm:{tmp_path}")
    for name in ("no/such/folder/here", "one two", "../up", str(weights)):
        with pytest.raises(EVGridError):
            make_policy(f"llm:{name}")


def test_adapters_are_lora_in_safetensors_with_a_known_base(tmp_path: Path, city_toy: CityPack) -> None:
    import torch
    from peft import LoraConfig, get_peft_model
    from transformers import AutoModelForCausalLM

    base = saved(tmp_path / "base")
    torch.manual_seed(1)
    adapted = get_peft_model(
        AutoModelForCausalLM.from_pretrained(base),
        LoraConfig(r=4, target_modules=["q_proj"], init_lora_weights=False),
    )
    folder = tmp_path / "adapter"
    adapted.save_pretrained(folder)
    config = json.loads((folder / "adapter_config.json").read_text())
    policy = make_policy(f"llm:{folder}")
    engine: LocalEngine = policy._engine  # type: ignore[attr-defined]
    prompt = torch.tensor([engine.tokens(moments(city_toy, 1)[0].prompt)])
    with torch.inference_mode():
        loaded, ours = engine.model(prompt).logits, adapted.eval()(prompt).logits
        plain = tiny()[0](prompt).logits
    assert torch.allclose(loaded, ours, atol=1e-5) and not torch.allclose(loaded, plain, atol=1e-3)
    assert begun(policy, city_toy).answer(moments(city_toy, 1)[0].row, room(city_toy)) > 0

    for change, words in (
        ({"peft_type": "IA3"}, "type 'IA3'"),
        ({"base_model_name_or_path": str(tmp_path / "gone")}, "no folder"),
        ({"base_model_name_or_path": str(folder)}, "adapter itself"),
        ({"base_model_name_or_path": None}, "does not say"),
    ):
        (folder / "adapter_config.json").write_text(json.dumps(config | change))
        with pytest.raises(ModelError, match=words):
            find_model(str(folder))
    (folder / "adapter_config.json").write_text(json.dumps(config))
    (folder / "adapter_model.safetensors").rename(folder / "adapter_model.bin")
    with pytest.raises(ModelError, match="pickled"):
        find_model(str(folder))


def test_the_oracle_is_what_the_environment_names(
    tmp_path: Path, city_toy: CityPack, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = saved(tmp_path / "model")
    monkeypatch.setenv("ORACLE_LORA_REPO", str(folder))
    oracle = begun(make_policy("oracle"), city_toy)
    oracle.answer(moments(city_toy, 1)[0].row, room(city_toy))
    assert (oracle.name, oracle.source) == (f"llm:{folder}", "llm")
    monkeypatch.setenv("ORACLE_SKIP_LLM", "1")
    assert (make_policy("oracle").name, make_policy("oracle").source) == ("baseline", "skipped")
    monkeypatch.delenv("ORACLE_SKIP_LLM")
    monkeypatch.setenv("ORACLE_LORA_REPO", str(tmp_path / "gone"))
    with pytest.raises(ModelError, match="no folder"):  # never another policy in silence
        make_policy("oracle")
    monkeypatch.delenv("ORACLE_LORA_REPO")
    monkeypatch.setattr("ev_grid_oracle.policies.llm.resolve.SMALL_MODEL", tmp_path / "none.onnx")
    assert make_policy("oracle").name == "planner"


def test_a_servers_clients_name_only_what_is_allowed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from ev_grid_oracle.policies.llm.resolve import allowed_models

    folder = saved(tmp_path / "model")
    monkeypatch.delenv("ORACLE_ALLOWED_MODELS", raising=False)
    for name in (f"llm:{folder}", "openai:http://127.0.0.1:1/v1#m"):
        with pytest.raises(UnknownPolicyError, match="may not be asked for"):
            make_policy(name, allow=allowed_models())
    monkeypatch.setenv("ORACLE_ALLOWED_MODELS", f" llm:{tmp_path}/* , openai:http://127.0.0.1:1/v1#m")
    assert make_policy(f"llm:{folder}", allow=allowed_models()).name == f"llm:{folder}"
    assert make_policy("openai:http://127.0.0.1:1/v1#m", allow=allowed_models()).source == "llm"
    with pytest.raises(UnknownPolicyError):
        make_policy("openai:http://169.254.169.254/v1#m", allow=allowed_models())
    assert make_policy("baseline", allow=()).name == "baseline"


def test_guard_hands_on_results_errors_and_deadlines(monkeypatch: pytest.MonkeyPatch) -> None:
    guard = Guard(5.0)
    assert guard.call(lambda deadline: deadline - time.monotonic()) == pytest.approx(5.0, abs=1.0)
    with pytest.raises(ZeroDivisionError):
        guard.call(lambda _: 1 / 0)
    hold = threading.Event()
    slow = Guard(0.05, "it")
    with pytest.raises(LateError, match="within"):
        slow.call(lambda _: hold.wait(30))
    with pytest.raises(LateError, match="busy"):
        slow.call(lambda _: True)
    hold.set()
    for _ in range(100):
        try:
            assert slow.call(lambda _: "free again") == "free again"
            break
        except LateError:
            time.sleep(0.05)
    else:
        pytest.fail("The guard never took work again.")
    monkeypatch.setenv("DEMO_ORACLE_INFERENCE_TIMEOUT_SEC", "2.5")
    assert timeout_s() == 2.5
    for wrong in ("soon", "0", "-1", "nan", "1e9"):
        monkeypatch.setenv("DEMO_ORACLE_INFERENCE_TIMEOUT_SEC", wrong)
        with pytest.raises(OptionError, match="DEMO_ORACLE"):
            timeout_s()
