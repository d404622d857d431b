"""A tiny random model, its files, moments to ask it about, and servers on this machine."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import numpy as np

from ev_grid_oracle.city import load_city
from ev_grid_oracle.city.model import CityPack
from ev_grid_oracle.city.packed import packed
from ev_grid_oracle.episode.observe import LiveObservation
from ev_grid_oracle.episode.session import Session
from ev_grid_oracle.policies.base import Policy, PolicyContext
from ev_grid_oracle.schema import rows as r


@lru_cache(maxsize=1)
def tiny() -> tuple[Any, Any]:
    """(model, tokenizer): random weights, a vocabulary made of a few prompts."""
    from ev_grid_oracle.training.big_tiny import tiny_model, tiny_tokenizer

    texts = [obs.prompt for obs in moments(load_city("toy"), 6)]
    tokenizer = tiny_tokenizer(texts, 700)
    return tiny_model(len(tokenizer)).eval(), tokenizer


def saved(folder: Path) -> Path:
    """The tiny model as files."""
    model, tokenizer = tiny()
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def moments(city: CityPack, n: int, **options: Any) -> list[LiveObservation]:
    """`n` observations with pending cars, one every other tick, answered by nobody."""
    session = Session(city, record=False)
    obs = session.reset(**{"seed": 3, **options})
    found: list[LiveObservation] = []
    while len(found) < n and not obs.done:
        if obs.pending_ids:
            found.append(obs)
        obs = session.step()
    return found


def begun(policy: Policy, city: CityPack) -> Policy:
    policy.begin(PolicyContext(packed(city)))
    return policy


def room(city: CityPack) -> np.ndarray[Any, np.dtype[np.int32]]:
    """Where a policy writes its decisions."""
    return np.zeros((packed(city).layout.dims["MP"], r.N_DCOL), np.int32)


@contextmanager
def serving(handle: Callable[[BaseHTTPRequestHandler], None]) -> Iterator[str]:
    """A server on this machine; its address."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            handle(self)

        do_HEAD = do_POST = do_GET

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()


def send(to: BaseHTTPRequestHandler, status: int, body: bytes, **headers: str) -> None:
    to.send_response(status)
    for name, value in {"Content-Length": str(len(body)), **headers}.items():
        to.send_header(name.replace("_", "-"), value)
    to.end_headers()
    if to.command != "HEAD":
        to.wfile.write(body)
