"""What the environment variables say, read and checked once when the app is made."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ev_grid_oracle.schema.errors import OptionError

MAX_BODY_BYTES = 1 << 20
"""Longest request body and socket frame; a text that the parser would read is 64 KiB at most."""


@dataclass(frozen=True)
class Settings:
    """Settings of one server process.

    Attributes:
        max_concurrent_envs: `/ws` sessions at once (``MAX_CONCURRENT_ENVS``).
        max_http_sessions: HTTP sessions kept (``MAX_HTTP_SESSIONS``); the least recently used one goes.
        session_idle_s: an HTTP or demo session unused for this long is dropped (``SESSION_IDLE_TIMEOUT_S``).
        max_demo_sessions: demo sessions kept (``MAX_DEMO_SESSIONS``).
        oracle_timeout_s: a demo lane's policy may think for this long
            (``DEMO_ORACLE_INFERENCE_TIMEOUT_SEC``), then the baseline answers.
        city: name or folder of the city (``EVGRID_CITY``).
        ui: folder of the built command center (``EVGRID_UI_DIR``), None where there is none.
    """

    max_concurrent_envs: int = 64
    max_http_sessions: int = 512
    session_idle_s: float = 3600.0
    max_demo_sessions: int = 64
    oracle_timeout_s: float = 120.0
    city: str = "bengaluru"
    ui: Path | None = None


def read_settings(variables: Mapping[str, str] | None = None) -> Settings:
    """Settings from environment variables; `OptionError` names the one that cannot be read."""
    env = os.environ if variables is None else variables
    return Settings(
        max_concurrent_envs=int(_number(env, "MAX_CONCURRENT_ENVS", 64, 1, 4096, whole=True)),
        max_http_sessions=int(_number(env, "MAX_HTTP_SESSIONS", 512, 1, 65536, whole=True)),
        session_idle_s=_number(env, "SESSION_IDLE_TIMEOUT_S", 3600.0, 1.0, 1e7),
        max_demo_sessions=int(_number(env, "MAX_DEMO_SESSIONS", 64, 1, 4096, whole=True)),
        oracle_timeout_s=_number(env, "DEMO_ORACLE_INFERENCE_TIMEOUT_SEC", 120.0, 0.001, 3600.0),
        city=env.get("EVGRID_CITY", "").strip() or "bengaluru",
        ui=_ui(env.get("EVGRID_UI_DIR", "").strip()),
    )


def _number(
    env: Mapping[str, str], name: str, usual: float, low: float, high: float, *, whole: bool = False
) -> float:
    text = env.get(name, "").strip()
    if not text:
        return usual
    try:
        value = float(int(text)) if whole else float(text)
    except ValueError:
        value = float("nan")
    if not low <= value <= high:
        kind = "a whole number" if whole else "a number"
        raise OptionError(f"{name} is {text[:40]!r}.", f"Give {kind} from {low:g} to {high:g}.")
    return value


def _ui(named: str) -> Path | None:
    """The folder with the command center: named, or in the package, or a checkout's `web/dist`."""
    package = Path(__file__).resolve().parent
    for folder in (
        [Path(named)] if named else [package / "static" / "ui", package.parents[1] / "web" / "dist"]
    ):
        if (folder / "index.html").is_file():
            return folder
    return None
