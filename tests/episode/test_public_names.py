"""The front door: few names, loaded when asked for, and no compiler before one is needed."""

from __future__ import annotations

import subprocess
import sys

import pytest

import ev_grid_oracle


def test_few_public_names_and_all_of_them_there() -> None:
    assert len(ev_grid_oracle.__all__) <= 12
    for name in (*ev_grid_oracle.__all__, "EVGridCore", "GridState", "EVRequest", "SimulationPrediction"):
        assert getattr(ev_grid_oracle, name) is not None
    assert ev_grid_oracle.EVGridCore is ev_grid_oracle.Session  # type: ignore[attr-defined]
    assert "Session" in dir(ev_grid_oracle)
    with pytest.raises(AttributeError):
        _ = ev_grid_oracle.nothing  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "line",
    [
        "import ev_grid_oracle",
        "from ev_grid_oracle.protocol import parse_action",
        "from ev_grid_oracle.reward import TERMS",
        "from ev_grid_oracle import Action, EVGridError",
    ],
)
def test_importing_needs_no_compiler(line: str) -> None:
    code = f"{line}; import sys; print([m for m in ('numba', 'torch', 'fastapi') if m in sys.modules])"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"
