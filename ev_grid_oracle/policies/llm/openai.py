"""A server of the OpenAI kind as a dispatcher: ``openai:<base_url>#<model>``.

Speaks ``POST <base_url>/chat/completions``. The answer is free text unless the server takes a grammar
(`GRAMMAR_VARIABLE`): an answer that the parser refuses is the model's invalid answer and counted as such. A
request is tried at most `TRIES` times, only where trying again can help (no connection, 408, 429, 5xx), and
never beyond the deadline.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from ev_grid_oracle.policies.llm.grammar import answer_grammar
from ev_grid_oracle.policies.llm.guard import LateError
from ev_grid_oracle.policies.llm.policy import TOKENS_A_CAR, Ask, Reply, rough_count
from ev_grid_oracle.schema.errors import MissingExtraError, OptionError

if TYPE_CHECKING:
    import httpx

GRAMMAR_VARIABLE = "EVGRID_OPENAI_GRAMMAR"
KEY_VARIABLE = "OPENAI_API_KEY"
GRAMMARS = ("", "llama.cpp", "vllm")
TRIES = 3
PAUSE_S = 0.25  # before the second try, then twice as long
CONNECT_S = 5.0
MAX_REPLY_BYTES = 1 << 20
_AGAIN = frozenset((408, 429, 500, 502, 503, 504))


class OpenAIEngine:
    """One model of one server.

    Args:
        url: base address, for instance ``http://127.0.0.1:8000/v1``.
        model: as the server calls it.
        grammar: field in which the server takes a grammar: "", "llama.cpp" or "vllm".
    """

    def __init__(self, url: str, model: str, grammar: str = "", batch: int = 4, context: int = 8192) -> None:
        self.name = f"openai:{url}#{model}"
        self.model_hash: str | None = None
        self.batch, self.context = batch, context
        self._url, self._model, self._grammar = f"{url.rstrip('/')}/chat/completions", model, grammar
        key = os.environ.get(KEY_VARIABLE, "").strip()
        self._headers = {"Authorization": f"Bearer {key}"} if key else {}

    def count(self, text: str) -> int:
        """Tokens, roughly: the server's vocabulary is not at hand."""
        return rough_count(text)

    def replies(self, asks: Sequence[Ask], deadline: float) -> list[Reply]:
        """See `policy.Engine`; the questions are sent side by side."""
        import httpx

        # redirects are not followed: the address that was allowed is the one that is asked
        with (
            httpx.Client(headers=self._headers, follow_redirects=False, trust_env=False) as client,
            ThreadPoolExecutor(self.batch) as pool,
        ):
            return list(pool.map(lambda ask: self._one(client, ask, deadline), asks))

    def _body(self, ask: Ask) -> dict[str, Any]:
        body: dict[str, Any] = {
            "model": self._model,
            "messages": [{"role": "user", "content": ask.prompt}],
            "temperature": 0,
            "max_tokens": TOKENS_A_CAR * len(ask.choices.cars) + 64,
            "stream": False,
        }
        if self._grammar:
            rules = answer_grammar(ask.choices, "gbnf")
            body |= (
                {"grammar": rules}
                if self._grammar == "llama.cpp"
                else {"structured_outputs": {"grammar": rules}}
            )
        return body

    def _one(self, client: httpx.Client, ask: Ask, deadline: float) -> Reply:
        import httpx

        body, why = self._body(ask), ""
        for attempt in range(TRIES):
            if attempt and not _pause(PAUSE_S * 2 ** (attempt - 1), deadline):
                break
            left = deadline - time.monotonic()
            if left <= 0.0:
                raise LateError("The server was not done within the time allowed.")
            try:
                limits = httpx.Timeout(left, connect=min(CONNECT_S, left))
                answer = client.post(self._url, json=body, timeout=limits)
            except httpx.TimeoutException as late:
                if time.monotonic() >= deadline:
                    raise LateError("The server was not done within the time allowed.") from late
                why = "the server cannot be reached in time"
                continue
            except httpx.HTTPError as fault:
                why = f"no connection: {type(fault).__name__}"
                continue
            if answer.status_code == httpx.codes.OK:
                return _read(answer)
            why = f"HTTP {answer.status_code}"
            if answer.status_code not in _AGAIN:
                break
        return Reply("", f"{why} from {urlsplit(self._url).netloc}")


def _read(answer: httpx.Response) -> Reply:
    """The text of the first choice."""
    if len(answer.content) > MAX_REPLY_BYTES:
        return Reply("", "the server's reply is longer than 1 MiB")
    try:
        text = answer.json()["choices"][0]["message"]["content"]
    except (ValueError, LookupError, TypeError):
        return Reply("", "the server's reply holds no choices[0].message.content")
    return Reply(text if isinstance(text, str) else "")


def _pause(seconds: float, deadline: float) -> bool:
    """Wait before another try; False where there is no time for one."""
    if time.monotonic() + seconds >= deadline:
        return False
    time.sleep(seconds)
    return True


def open_engine(address: str) -> OpenAIEngine:
    """The engine of ``<base_url>#<model>``.

    Raises:
        OptionError: the address is none, or the grammar's kind is unknown.
        MissingExtraError: httpx is not installed.
    """
    url, mark, model = address.partition("#")
    parts = urlsplit(url)
    if not mark or not model or parts.scheme not in ("http", "https") or not parts.hostname:
        raise OptionError(
            f"{address[:120]!r} is no address of a model.",
            "Write openai:http://127.0.0.1:8000/v1#model-name.",
        )
    if parts.username or parts.password or parts.query:
        raise OptionError(
            "The address holds a user, a password or a query.", f"Put a key into {KEY_VARIABLE} instead."
        )
    grammar = os.environ.get(GRAMMAR_VARIABLE, "").strip()
    if grammar not in GRAMMARS:
        raise OptionError(
            f"{GRAMMAR_VARIABLE} is {grammar[:40]!r}.", "Write llama.cpp or vllm, or leave it out."
        )
    try:
        import httpx  # noqa: F401  # only whether it is there
    except ImportError as missing:
        raise MissingExtraError(
            "OpenAI-compatible servers need httpx.", "Run: pip install 'openenv-ev-grid-oracle[server]'"
        ) from missing
    return OpenAIEngine(url, model, grammar)
