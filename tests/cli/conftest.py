"""Run one command line in this process and look at what it left."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from ev_grid_oracle.cli.main import call


@dataclass
class Done:
    code: int
    out: str
    err: str

    @property
    def json(self) -> object:
        """Standard output as JSON; NaN and infinities are refused."""

        def refuse(name: str) -> object:
            raise AssertionError(f"{name} in JSON")

        return json.loads(self.out, parse_constant=refuse)


@pytest.fixture
def evgrid(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Callable[..., Done]:
    """`evgrid("city", "list")`, started in an empty folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("EVGRID_DEBUG", raising=False)

    def run(*argv: object) -> Done:
        capsys.readouterr()
        code = call([str(a) for a in argv])
        out, err = capsys.readouterr()
        assert "Traceback" not in err + out
        return Done(code, out, err)

    return run
