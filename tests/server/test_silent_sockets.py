"""Sockets whose peer has gone without a word give their slots back; one that is merely quiet is kept."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("websockets", reason="needs the server extra")

from websockets.client import ClientProtocol
from websockets.frames import Frame, Opcode
from websockets.protocol import State
from websockets.sync.client import connect
from websockets.uri import parse_uri

pytestmark = pytest.mark.slow
LIMIT = 4
PING_EVERY_S, PING_LIMIT_S = 1.0, 4.0
PATIENCE_S = 180.0  # only a machine that hangs waits that long


class Server:
    """uvicorn as a child process, with a short ping limit and room for four sockets."""

    def __init__(self) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = int(probe.getsockname()[1])
        command = [
            sys.executable, "-m", "uvicorn", "ev_grid_oracle.server.app:app", "--port", str(self.port),
            "--log-level", "warning", "--ws-ping-interval", str(PING_EVERY_S), "--ws-ping-timeout", str(PING_LIMIT_S),
        ]  # fmt: skip
        variables = {**os.environ, "MAX_CONCURRENT_ENVS": str(LIMIT), "EVGRID_CITY": "toy"}
        self.process = subprocess.Popen(command, env=variables)

    def health(self) -> dict[str, Any] | None:
        """What `/healthz` says; None while nobody answers."""
        assert self.process.poll() is None, "the server has ended"
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/healthz", timeout=10) as reply:
                found: dict[str, Any] = json.load(reply)
                return found
        except OSError:
            return None

    def until(self, holds: Callable[[dict[str, Any]], bool]) -> None:
        """Wait until `/healthz` says so."""
        end = time.monotonic() + PATIENCE_S
        while True:
            health = self.health()
            if health is not None and holds(health):
                return
            assert time.monotonic() < end, health
            time.sleep(0.2)

    def memory_kb(self) -> int:
        lines = Path(f"/proc/{self.process.pid}/status").read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS:"))


class SilentPeer:
    """Starts an episode, then neither reads nor answers; its connection stays open, as a dead link's does."""

    def __init__(self, port: int, seed: int) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=60)
        self._protocol = ClientProtocol(parse_uri(f"ws://127.0.0.1:{port}/ws"))
        self._protocol.send_request(self._protocol.connect())
        self._flush()
        while self._protocol.state is not State.OPEN:
            self._receive()
        self._protocol.send_text(json.dumps({"type": "reset", "data": {"seed": seed}}).encode())
        self._flush()
        self.reply = self._text()

    def _flush(self) -> None:
        self._socket.sendall(b"".join(self._protocol.data_to_send()))

    def _receive(self) -> list[Any]:
        data = self._socket.recv(65536)
        assert data, "the server hung up"
        self._protocol.receive_data(data)
        return list(self._protocol.events_received())

    def _text(self) -> dict[str, Any]:
        data, final = b"", False
        while not final:
            for event in self._receive():
                if isinstance(event, Frame) and event.opcode in (Opcode.TEXT, Opcode.CONT):
                    data, final = data + event.data, event.fin
        found: dict[str, Any] = json.loads(data)
        return found

    def hang_up(self) -> None:
        self._socket.close()


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    made = Server()
    try:
        made.until(lambda health: bool(health["ready"]))
        yield made
    finally:
        made.process.terminate()
        made.process.wait(30)


def _ask(link: Any, kind: str, data: object) -> dict[str, Any]:
    link.send(json.dumps({"type": kind, "data": data}))
    found: dict[str, Any] = json.loads(link.recv())
    return found


def test_silent_sockets_are_freed_and_memory_stays(server: Server) -> None:
    rounds, memory = 4, []
    for n in range(rounds):
        peers = [SilentPeer(server.port, seed=10 * n + k) for k in range(LIMIT)]
        assert [p.reply["type"] for p in peers] == ["observation"] * LIMIT
        with connect(f"ws://127.0.0.1:{server.port}/ws", open_timeout=60) as fifth:
            assert json.loads(fifth.recv())["data"]["code"] == "CAPACITY_REACHED"
        server.until(lambda health: health["sessions"]["ws"] == 0)
        memory.append(server.memory_kb())
        for peer in peers:
            peer.hang_up()
    with ExitStack() as opened:
        for _ in range(LIMIT):
            link = opened.enter_context(connect(f"ws://127.0.0.1:{server.port}/ws", open_timeout=60))
            assert _ask(link, "reset", {"seed": 1})["type"] == "observation"
        server.until(lambda health: health["sessions"]["ws"] == LIMIT)
    server.until(lambda health: health["sessions"]["ws"] == 0)
    assert memory[-1] <= 1.1 * memory[0], memory


def test_a_quiet_socket_is_never_closed(server: Server) -> None:
    """It answers pings and says nothing for longer than the limit that ends a silent one."""
    silent = SilentPeer(server.port, seed=2)
    with connect(f"ws://127.0.0.1:{server.port}/ws", open_timeout=60) as quiet:
        first = _ask(quiet, "reset", {"seed": 1, "episode_id": "quiet"})
        assert first["type"] == "observation"
        server.until(lambda health: health["sessions"]["ws"] == 1)  # the silent one has gone
        time.sleep(PING_EVERY_S + PING_LIMIT_S)
        seen = _ask(quiet, "step", {})
        assert seen["data"]["observation"]["episode_id"] == "quiet"
        assert seen["data"]["observation"]["step"] == 1
    silent.hang_up()
