"""A stream that breaks: the page comes back by number, misses no frame and takes none twice."""

from __future__ import annotations

import contextlib
import json
import re
import socket
import threading
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from web_visit import Visitor, serving

from ev_grid_oracle.server.settings import Settings

FROM = re.compile(rb"GET /demo/live/\S*?from=(\d+)")
CHUNK = 65536


class Proxy:
    """TCP between the page and the server, which a test can cut and close."""

    def __init__(self, host: str, port: int) -> None:
        self.target = (host, port)
        self.asked: list[int] = []
        """`from` of every stream that was asked for."""
        self.closed = False
        self._live: list[socket.socket] = []
        self._lock = threading.Lock()
        self._door = socket.create_server(("127.0.0.1", 0))
        self.address = f"http://127.0.0.1:{self._door.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                page, _ = self._door.accept()
            except OSError:
                return
            if self.closed:
                page.close()
                continue
            server = socket.create_connection(self.target)
            with self._lock:
                self._live += [page, server]
            for a, b in ((page, server), (server, page)):
                threading.Thread(target=self._carry, args=(a, b, a is page), daemon=True).start()

    def _carry(self, source: socket.socket, sink: socket.socket, from_page: bool) -> None:
        try:
            while data := source.recv(CHUNK):
                if from_page:
                    self.asked += [int(m) for m in FROM.findall(data)]
                sink.sendall(data)
        except OSError:
            pass
        for end in (source, sink):
            _cut(end)

    def cut(self) -> None:
        """Break every connection that is open now."""
        with self._lock:
            live, self._live = self._live, []
        for end in live:
            _cut(end)

    def end(self) -> None:
        """Take no more, and break what is open."""
        self.closed = True
        _cut(self._door)  # a door that is closed without it lets one more in
        self.cut()


def _cut(end: socket.socket) -> None:
    with contextlib.suppress(OSError):  # the other thread was first
        end.shutdown(socket.SHUT_RDWR)
    end.close()


def _proxy(base: str) -> Proxy:
    at = urlsplit(base)
    return Proxy(str(at.hostname), int(at.port or 0))


@pytest.fixture
def proxy(base: str) -> Iterator[Proxy]:
    made = _proxy(base)
    yield made
    made.end()


def _step(base: str, session: str, ticks: int) -> list[dict[str, Any]]:
    """Play on the server itself: the page learns of it by its stream alone."""
    body = json.dumps({"session_id": session, "ticks": ticks}).encode()
    request = urllib.request.Request(f"{base}/demo/step", body, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=120) as reply:
        return list(json.load(reply)["events"])


def test_a_broken_stream_goes_on_where_it_broke(visit: Visitor, base: str, proxy: Proxy) -> None:
    one = visit(address=proxy.address)
    one.open("seed=7&lora=greedy_counting&played=0")
    one.until("s.link.value === 'open'")
    session = one.value("s.book.value.session.session_id")
    assert proxy.asked == [0]
    told = _step(base, session, 3)
    one.until("s.book.value.length === 3")

    proxy.cut()  # it breaks, and the server goes on meanwhile
    told += _step(base, session, 2)
    one.until("s.book.value.length === 5 && s.link.value === 'open'")
    assert proxy.asked == [0, 3]

    proxy.closed = True  # it breaks, and nobody answers for a while
    proxy.cut()
    one.until("s.link.value === 'lost'")
    bar = one.page.get_by_test_id("linkbar")
    assert "what you see may be stale. Reconnecting" in (bar.text_content() or "")
    assert one.page.get_by_text("stale: reconnecting").count() == 2  # on each map
    one.shot("24-stale")
    told += _step(base, session, 4)
    one.page.wait_for_timeout(1200)
    assert one.value("s.book.value.length") == 5
    proxy.closed = False
    one.until("s.book.value.length === 9 && s.link.value === 'open'")
    assert proxy.asked == [0, 3, 5] and bar.count() == 0

    told += _step(base, session, 1)  # and it is a stream again
    one.until("s.book.value.length === 10")
    assert one.value("s.book.value.events.map((e) => e.seq)") == list(range(10))
    digests = one.value(
        "s.book.value.events.map((e) => [e.lanes.baseline.frame.digest, e.lanes.oracle.frame.digest])"
    )
    assert digests == [[e["lanes"][lane]["frame"]["digest"] for lane in ("baseline", "oracle")] for e in told]
    assert [e for e in one.errors if "WebSocket" not in e and "net::ERR_" not in e] == []
    one.errors.clear()  # the browser itself logs a connection that was cut


def test_a_session_the_server_dropped_while_the_stream_was_broken(visit: Visitor, ui: Path) -> None:
    with serving(Settings(ui=ui, max_demo_sessions=1)) as base:
        proxy = _proxy(base)
        one = visit(address=proxy.address)
        page = one.open("seed=7&lora=greedy_counting&played=2&t=2")
        one.until("s.link.value === 'open'")
        body = json.dumps({"seed": 1, "oracle": "greedy_counting"}).encode()
        request = urllib.request.Request(f"{base}/demo/new", body, {"Content-Type": "application/json"})
        urllib.request.urlopen(request, timeout=120).close()  # the only place goes to another visitor
        proxy.cut()
        one.until("s.link.value === 'gone'")
        said = page.get_by_test_id("linkbar").text_content() or ""
        assert "The server no longer has this session. What was played is still here" in said
        page.get_by_label("To the start").click()
        one.until("s.at.value === 0 && s.book.value.length === 2")
        page.get_by_role("button", name="Step", exact=True).click()
        page.get_by_text("start it again (New)").wait_for()
        page.get_by_role("button", name="New", exact=True).click()
        one.until("s.link.value === 'open' && s.book.value.length === 0")
        page.get_by_role("button", name="Step", exact=True).click()
        one.until("s.at.value === 1")
        proxy.end()
    assert [e for e in one.errors if "WebSocket" not in e and "net::ERR_" not in e] == []
    one.errors.clear()
