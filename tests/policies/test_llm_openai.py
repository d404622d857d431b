"""Servers of the OpenAI kind: a real one (`transformers serve`) with a tiny model, and ones that misbehave."""

from __future__ import annotations

import copy
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("httpx", reason="the server extra is not installed")
pytest.importorskip("llguidance", reason="the train extra is not installed")
pytest.importorskip("transformers", reason="the train extra is not installed")

import httpx
from llm_tools import begun, moments, room, saved, send, serving, tiny

from ev_grid_oracle.city.model import CityPack
from ev_grid_oracle.episode.session import Session
from ev_grid_oracle.policies.llm.openai import TRIES, OpenAIEngine, open_engine
from ev_grid_oracle.policies.llm.policy import LLMPolicy
from ev_grid_oracle.policies.registry import make_policy
from ev_grid_oracle.schema import rows as r
from ev_grid_oracle.schema.errors import OptionError

pytestmark = pytest.mark.filterwarnings("ignore")

ANSWER = (
    "ACTION: load_shift\nSTATION: NONE\nCHARGE_RATE: fast\nDEFER_MINUTES: 5\nREASON: relief\nCONFIDENCE: 0.5"
)


def schooled(folder: Path, city: CityPack) -> Path:
    """A tiny model that has learnt to say `ANSWER` (one token of its vocabulary) whatever it is asked."""
    import torch

    from ev_grid_oracle.policies.llm.local import LocalEngine
    from ev_grid_oracle.training.big_tiny import tiny_model

    tokenizer = copy.deepcopy(tiny()[1])
    tokenizer.add_tokens([ANSWER])
    model = tiny_model(len(tokenizer))
    reader = LocalEngine("schooled", model, tokenizer)
    said = [*tokenizer.encode(ANSWER), tokenizer.eos_token_id]
    learner = torch.optim.AdamW(model.parameters(), lr=1e-2)
    prompts = [reader.tokens(obs.prompt) for obs in moments(city, 4)]
    model.train()
    for step in range(24):
        prompt = prompts[step % 4] if step >= 16 else prompts[step % 4][-100:]
        ids = torch.tensor([prompt + said])
        labels = torch.tensor([[-100] * len(prompt) + said])
        learner.zero_grad()
        model(input_ids=ids, labels=labels).loss.backward()
        learner.step()
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Base address of `transformers serve`, offline; models are named by their folders."""
    program = Path(sys.executable).parent / "transformers"
    if not program.is_file():
        pytest.skip("this release of transformers has no command line")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    log = tmp_path_factory.mktemp("serve") / "log"
    with log.open("w") as out:
        running = subprocess.Popen(
            [str(program), "serve", "--host", "127.0.0.1", "--port", str(port), "--device", "cpu"],
            stdout=out, stderr=out, env=os.environ | {"HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"},
        )  # fmt: skip
    try:
        for _ in range(300):
            if running.poll() is not None:
                pytest.skip(f"transformers serve does not start here: {log.read_text()[-300:]}")
            try:
                if httpx.get(f"http://127.0.0.1:{port}/health", timeout=2.0).status_code == 200:
                    break
            except httpx.HTTPError:
                time.sleep(0.2)
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        running.terminate()
        try:
            running.wait(60)
        except subprocess.TimeoutExpired:  # a busy machine: the server need not end politely
            running.kill()
            running.wait()


def test_a_real_servers_answer_is_played(server: str, tmp_path: Path, city_toy: CityPack) -> None:
    folder = schooled(tmp_path / "schooled", city_toy)
    policy = make_policy(f"openai:{server}#{folder}")
    session = Session(city_toy)
    obs = session.reset(seed=3)
    begun(policy, city_toy)
    played = 0
    while played < 2:
        out = room(city_toy)
        n = policy.answer(obs.row, out)
        if obs.pending_ids:
            assert n == 1 and policy.source == "llm"
            assert out[0, [r.D_KIND, r.D_STATION, r.D_RATE, r.D_DEFER, r.D_CONF]].tolist() == [
                2,
                -1,
                1,
                5,
                5000,
            ]
            played += 1
        obs = session.step(out[:n], source=policy.source)
        assert obs.info["errors"] == []
    assert isinstance(policy, LLMPolicy) and not policy.reasons and policy.model_hash is None


def test_a_real_servers_babble_is_an_invalid_answer(server: str, tmp_path: Path, city_toy: CityPack) -> None:
    folder = saved(tmp_path / "untrained")
    policy = begun(make_policy(f"openai:{server}#{folder}"), city_toy)
    obs, out = moments(city_toy, 1)[0], room(city_toy)
    n = policy.answer(obs.row, out)
    assert isinstance(policy, LLMPolicy)
    assert policy.source == "fallback" and policy.refused == 1 and sum(policy.invalid.values()) == 1
    assert sum(policy.reasons.values()) == n and policy.note.startswith("invalid answer: E_")


def test_a_model_the_server_does_not_have(server: str, city_toy: CityPack) -> None:
    policy = begun(make_policy(f"openai:{server}#nobody/nothing"), city_toy)
    n = policy.answer(moments(city_toy, 1)[0].row, room(city_toy))
    assert isinstance(policy, LLMPolicy)
    assert policy.source == "fallback" and n > 0 and policy.refused == 0 and "HTTP" in policy.note


def test_tries_are_bounded_and_only_where_they_can_help(city_toy: CityPack) -> None:
    seen: list[int] = []
    statuses: list[int] = []

    def answer(to: BaseHTTPRequestHandler) -> None:
        asked = json.loads(to.rfile.read(int(to.headers["Content-Length"])))
        assert asked["model"] == "m" and asked["temperature"] == 0 and asked["max_tokens"] > 64
        seen.append(status := statuses.pop(0))
        text = {"choices": [{"message": {"content": ANSWER}}]}
        body = b"not json" if status == 299 else json.dumps(text).encode()
        send(
            to,
            200 if status == 299 else status,
            body,
            Content_Type="application/json",
            Location="http://127.0.0.1:1/",
        )

    obs = moments(city_toy, 1)[0]
    with serving(answer) as address:
        policy = begun(make_policy(f"openai:{address}/v1#m"), city_toy)
        for plan, source, word in (
            ([503, 429, 200], "llm", ""),
            ([503] * 9, "fallback", "HTTP 503"),
            ([401] * 9, "fallback", "HTTP 401"),
            ([302] * 9, "fallback", "HTTP 302"),
            ([299] * 9, "fallback", "choices"),
        ):
            statuses[:], seen[:] = plan, []
            assert policy.answer(obs.row, room(city_toy)) > 0
            assert policy.source == source and word in policy.note  # type: ignore[attr-defined]
            assert len(seen) == (TRIES if plan[0] == 503 else 1)


def test_silence_is_a_timeout_and_nobody_a_fallback(city_toy: CityPack) -> None:
    obs = moments(city_toy, 1)[0]
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen(8)
        engine = OpenAIEngine(f"http://127.0.0.1:{silent.getsockname()[1]}/v1", "m")
        policy = begun(LLMPolicy(engine, 0.5), city_toy)
        assert policy.answer(obs.row, room(city_toy)) > 0 and policy.source == "timeout"
    policy = begun(LLMPolicy(OpenAIEngine("http://127.0.0.1:9/v1", "m"), 10.0), city_toy)
    assert policy.answer(obs.row, room(city_toy)) > 0 and policy.source == "fallback"
    assert "no connection" in policy.note


def test_the_grammar_travels_with_the_question_where_the_server_takes_one(
    city_toy: CityPack, monkeypatch: pytest.MonkeyPatch
) -> None:
    bodies: list[dict[str, Any]] = []

    def answer(to: BaseHTTPRequestHandler) -> None:
        bodies.append(json.loads(to.rfile.read(int(to.headers["Content-Length"]))))
        assert to.headers["Authorization"] == "Bearer secret"
        send(to, 200, json.dumps({"choices": [{"message": {"content": ANSWER}}]}).encode())

    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    obs = moments(city_toy, 1)[0]
    with serving(answer) as address:
        for kind in ("llama.cpp", "vllm", ""):
            monkeypatch.setenv("EVGRID_OPENAI_GRAMMAR", kind)
            begun(make_policy(f"openai:{address}#m"), city_toy).answer(obs.row, room(city_toy))
    assert bodies[0]["grammar"] == bodies[1]["structured_outputs"]["grammar"]
    assert bodies[0]["grammar"].startswith("root ::= ") and not {"grammar", "structured_outputs"} & set(
        bodies[2]
    )


def test_addresses_that_are_none(monkeypatch: pytest.MonkeyPatch) -> None:
    for address in (
        "",
        "m",
        "http://h/v1",
        "http://h/v1#",
        "ftp://h/v1#m",
        "http:///v1#m",
        "http://u:p@h/v1#m",
    ):
        with pytest.raises(OptionError):
            open_engine(address)
    monkeypatch.setenv("EVGRID_OPENAI_GRAMMAR", "xml")
    with pytest.raises(OptionError, match=r"llama\.cpp or vllm"):
        open_engine("http://h/v1#m")
