"""Can somebody listen there? Asked before a page's address is printed."""

from __future__ import annotations

import os
import socket


def why_not(host: str, port: int) -> str | None:
    """Why nobody can listen on `host` and `port`, in the system's words; None where it can be done."""
    try:
        family, *_, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, socket.SOCK_STREAM) as probe:
            if os.name == "posix":  # as a server does: the port of one that has just ended is free
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(address)
    except OSError as fault:
        return fault.strerror or str(fault)
    return None
