"""`evgrid serve`: what is refused before anything is served."""

from __future__ import annotations

import socket
from collections.abc import Callable

import pytest


def test_a_taken_port_is_one_sentence(evgrid: Callable) -> None:
    pytest.importorskip("uvicorn", reason="needs the extra `server`")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = evgrid("serve", "--port", port)
    assert done.code == 2
    assert done.err.splitlines()[-1].startswith(
        f"evgrid: E_OPTION: Nobody can listen on 127.0.0.1 port {port}: "
    )
    assert "http://" not in done.err


def test_an_address_that_is_not_ours_is_one_sentence(evgrid: Callable) -> None:
    pytest.importorskip("uvicorn", reason="needs the extra `server`")
    done = evgrid("serve", "--host", "192.0.2.1")  # of the range for documents: no machine has it
    assert done.code == 2
    assert "evgrid: E_OPTION: Nobody can listen on 192.0.2.1 port 8000: " in done.err


def test_an_unknown_city_is_not_served(evgrid: Callable) -> None:
    pytest.importorskip("uvicorn", reason="needs the extra `server`")
    done = evgrid("serve", "--city", "atlantis")
    assert done.code == 2
    assert "E_CITY" in done.err
