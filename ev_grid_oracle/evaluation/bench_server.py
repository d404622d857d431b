"""How fast the service is, and whether many clients keep their own worlds: `evgrid bench server`.

A server is started as a process of its own. First one client alone: milliseconds of `/step` over HTTP and of a step
over `/ws`. Then the load: many sockets and many HTTP sessions at once, each playing its own seed. Every reply is
hashed; afterwards each trajectory is played again in this process, and must be equal. Memory of the server is read
at the start of the load, in the middle and at its end.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median, quantiles
from typing import Any

from ev_grid_oracle.schema.errors import EVGridError, MissingExtraError

APP = "ev_grid_oracle.server.app:app"
START_S = 180.0
Say = Callable[[str], None]


class LoadError(EVGridError):
    """The server did not answer as it must under load."""

    code = "E_INTERNAL"


@dataclass
class Track:
    """One client's episodes: how many steps of which seed, and the hash of every reply."""

    seed: int
    steps: int = 0
    total_steps: int = 0
    digest: Any = field(default_factory=hashlib.sha256)
    finished: list[tuple[int, int, str]] = field(default_factory=list)
    slowest_ms: float = 0.0

    def restart(self, seed: int) -> None:
        """Close the episode and begin the one of `seed`."""
        self.close()
        self.seed, self.steps, self.digest = seed, 0, hashlib.sha256()

    def close(self) -> None:
        """Keep the episode so far as (seed, steps, digest)."""
        self.finished.append((self.seed, self.steps, self.digest.hexdigest()))

    def note(self, reply: Mapping[str, Any], ms: float | None = None) -> None:
        """Take a reply into the hash; with `ms` it was a step."""
        shown = {k: v for k, v in reply["observation"].items() if k != "episode_id"}
        self.digest.update(json.dumps([shown, reply["reward"], reply["done"]], sort_keys=True).encode())
        if ms is not None:
            self.steps += 1
            self.total_steps += 1
            self.slowest_ms = max(self.slowest_ms, ms)


def answer(observation: Mapping[str, Any]) -> dict[str, Any]:
    """The first pending car to its best candidate: a rule that reads the reply, so that a mix-up shows."""
    candidates = observation["candidates"]
    if not candidates["car"] or candidates["car"][0] != 0:
        return {"actions": []}
    station = candidates["station"][0]
    rate = ("slow", "fast", "ultra_fast")[observation["stations"]["rate"][station]]
    chosen = {
        "ev_id": observation["pending"]["ev_id"][0],
        "action_type": "route",
        "station_id": observation["stations"]["id"][station],
        "charge_rate": rate,
    }
    return {"actions": [chosen]}


def bench_server(
    sockets: int = 64,
    sessions: int = 200,
    seconds: float = 120.0,
    alone_steps: int = 480,
    say: Say = lambda text: None,
) -> dict[str, object]:
    """Figures of a server on this machine; `equal_to_twin` False or `errors` above 0 is a finding.

    Args:
        sockets, sessions: `/ws` clients and HTTP sessions of the load.
        seconds: how long the load lasts.
        alone_steps: steps of the client that is measured alone.
    """
    try:
        import openenv  # noqa: F401
        import websockets  # noqa: F401
    except ImportError as missing:
        raise MissingExtraError(
            "The server and its bench need the `server` extra.",
            "Run: pip install 'openenv-ev-grid-oracle[server]'",
        ) from missing
    with running_server({"MAX_CONCURRENT_ENVS": str(sockets + 2)}, say) as (port, pid):
        say("one client alone")
        alone = asyncio.run(_alone(port, alone_steps))
        say(f"{sockets} sockets and {sessions} HTTP sessions for {seconds:g} s")
        load, tracks = asyncio.run(_load(port, pid, sockets, sessions, seconds))
    say("playing every trajectory again in this process")
    load["equal_to_twin"] = sum(_twin_equal(track) for track in tracks)
    load["trajectories"] = sum(len(track.finished) for track in tracks)
    return {"schema": 1, "alone": alone, "load": load}


@contextmanager
def running_server(
    variables: Mapping[str, str], say: Say = lambda text: None, app: str = APP, cwd: Path | None = None
) -> Iterator[tuple[int, int]]:
    """A server as a child process: (port, process id); it is ended on the way out."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    command = [sys.executable, "-m", "uvicorn", app, "--port", str(port), "--log-level", "warning"]
    process = subprocess.Popen(command, env={**os.environ, **variables}, cwd=cwd)
    try:
        say("starting the server")
        _wait_ready(port, process)
        yield port, process.pid
    finally:
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(20)


def _wait_ready(port: int, process: subprocess.Popen[bytes]) -> None:
    until = time.monotonic() + START_S
    while time.monotonic() < until:
        if process.poll() is not None:
            raise LoadError(f"The server ended at once with {process.returncode}.", "Start it by hand.")
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/healthz", timeout=5.0) as reply:
                if json.load(reply)["ready"]:
                    return
        except (OSError, KeyError, ValueError):
            pass
        time.sleep(0.3)
    raise LoadError(f"The server is not ready after {START_S:g} s.", "See its log.")


class HttpLine:
    """One kept-alive HTTP connection of one session; leaner than a client library, so that it times the server."""

    def __init__(self, port: int, session: str) -> None:
        self._port = port
        self._session = session
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def post(self, path: str, body: object) -> dict[str, Any]:
        """The JSON reply; `LoadError` for anything but 200."""
        if self._streams is None:
            self._streams = await asyncio.open_connection("127.0.0.1", self._port)
        reader, writer = self._streams
        data = json.dumps(body).encode()
        head = (
            f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Session-ID: {self._session}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(data)}\r\n\r\n"
        )
        writer.write(head.encode() + data)
        top = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
        length = next(line for line in top.split("\r\n") if line.startswith("content-length:"))
        text = await reader.readexactly(int(length.split(":")[1]))
        if " 200 " not in top.split("\r\n")[0]:
            raise LoadError(f"{path} answered {text[:200]!r}.")
        found: dict[str, Any] = json.loads(text)
        return found

    def close(self) -> None:
        """Hang up."""
        if self._streams is not None:
            self._streams[1].close()


async def _alone(port: int, steps: int) -> dict[str, object]:
    """Times of one client's steps, first over HTTP, then over a socket."""
    http_ms: list[float] = []
    ws_ms: list[float] = []
    await _http_play(port, "alone", Track(1), lambda: len(http_ms) < steps, http_ms)
    await _ws_play(port, Track(1), lambda: len(ws_ms) < steps, ws_ms)
    return {"http_step_ms": _times(http_ms), "ws_step_ms": _times(ws_ms)}


async def _load(
    port: int, pid: int, sockets: int, sessions: int, seconds: float
) -> tuple[dict[str, object], list[Track]]:
    """The load: figures and what every client saw."""
    start = time.monotonic()

    def going() -> bool:
        return time.monotonic() < start + seconds

    over_ws = [Track(1000 + k) for k in range(sockets)]
    over_http = [Track(5000 + k) for k in range(sessions)]
    memory: list[int] = []
    jobs = [_ws_play(port, track, going) for track in over_ws]
    jobs += [_http_play(port, f"load-{k}", track, going) for k, track in enumerate(over_http)]
    watch = asyncio.create_task(_watch_memory(pid, memory, seconds))
    results = await asyncio.gather(*jobs, return_exceptions=True)
    watch.cancel()
    elapsed = time.monotonic() - start
    failed = [r for r in results if isinstance(r, BaseException)]
    tracks = over_ws + over_http
    steps = sum(t.total_steps for t in tracks)
    middle = memory[len(memory) // 2] if memory else 0
    return {
        "sockets": sockets,
        "sessions": sessions,
        "seconds": round(elapsed, 2),
        "steps": steps,
        "steps_per_s": round(steps / elapsed, 1),
        "ws_steps": sum(t.total_steps for t in over_ws),
        "http_steps": sum(t.total_steps for t in over_http),
        "slowest_step_ms": round(max((t.slowest_ms for t in tracks), default=0.0), 1),
        "errors": len(failed),
        "first_error": f"{type(failed[0]).__name__}: {failed[0]}"[:300] if failed else "",
        "memory_mb": {"first": memory[0] if memory else 0, "middle": middle, "last": memory[-1] if memory else 0},
    }, tracks  # fmt: skip


async def _http_play(
    port: int, name: str, track: Track, going: Callable[[], bool], times: list[float] | None = None
) -> None:
    """Episode after episode in one HTTP session while `going`."""
    line = HttpLine(port, name)
    reply = await line.post("/reset", {"seed": track.seed})
    track.note(reply)
    while going():
        if reply["done"]:
            track.restart(track.seed + 10_000)
            reply = await line.post("/reset", {"seed": track.seed})
            track.note(reply)
        start = time.perf_counter()
        reply = await line.post("/step", {"action": answer(reply["observation"])})
        _took(track, reply, start, times)
    track.close()
    line.close()


async def _ws_play(
    port: int, track: Track, going: Callable[[], bool], times: list[float] | None = None
) -> None:
    """Episode after episode over one socket while `going`."""
    from websockets.asyncio.client import connect

    async with connect(f"ws://127.0.0.1:{port}/ws", open_timeout=60, ping_interval=None) as link:

        async def ask(kind: str, data: object) -> dict[str, Any]:
            await link.send(json.dumps({"type": kind, "data": data}))
            reply = json.loads(await link.recv())
            if reply["type"] != "observation":
                raise LoadError(f"The socket answered {str(reply)[:200]}")
            found: dict[str, Any] = reply["data"]
            return found

        reply = await ask("reset", {"seed": track.seed})
        track.note(reply)
        while going():
            if reply["done"]:
                track.restart(track.seed + 10_000)
                reply = await ask("reset", {"seed": track.seed})
                track.note(reply)
            start = time.perf_counter()
            reply = await ask("step", answer(reply["observation"]))
            _took(track, reply, start, times)
    track.close()


def _took(track: Track, reply: Mapping[str, Any], start: float, times: list[float] | None) -> None:
    ms = (time.perf_counter() - start) * 1000.0
    track.note(reply, ms)
    if times is not None:
        times.append(ms)


def _twin_equal(track: Track) -> int:
    """How many of a client's episodes are what the environment gives in this process."""
    from openenv.core.env_server.serialization import serialize_observation

    from ev_grid_oracle.interfaces.openenv.environment import EVGridEnvironment
    from ev_grid_oracle.models import EVGridAction

    equal = 0
    twin = EVGridEnvironment()
    for seed, steps, digest in track.finished:
        mine = Track(seed)
        reply = serialize_observation(twin.reset(seed=seed))
        mine.note(reply)
        for _ in range(steps):
            reply = serialize_observation(
                twin.step(EVGridAction.model_validate(answer(reply["observation"])))
            )
            mine.note(reply, 0.0)
        equal += mine.digest.hexdigest() == digest
    return equal


async def _watch_memory(pid: int, found: list[int], seconds: float) -> None:
    """Resident memory of the server in MB, once a second from a quarter of the load on."""
    await asyncio.sleep(seconds / 4.0)
    while True:
        try:
            for line in Path(f"/proc/{pid}/status").read_text().splitlines():
                if line.startswith("VmRSS:"):
                    found.append(int(line.split()[1]) // 1024)
        except OSError:
            return
        await asyncio.sleep(1.0)


def _times(values: list[float]) -> dict[str, float]:
    cuts = quantiles(values, n=20)
    return {"p50": round(median(values), 3), "p95": round(cuts[-1], 3), "max": round(max(values), 3)}
