"""A server as a process: from a checkout, from a wheel elsewhere, under load, through openenv's validator."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import sysconfig
import urllib.request
import venv
import warnings
from pathlib import Path

import pytest

from ev_grid_oracle.client import EvGridOracleEnv
from ev_grid_oracle.evaluation.bench_server import bench_server, running_server
from ev_grid_oracle.interfaces.openenv.local import LocalEvGridOracleEnv

ROOT = Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.slow


def test_the_stock_client_plays_what_the_twin_plays() -> None:
    with running_server({}, app="server.app:app", cwd=ROOT) as (port, _pid):
        with EvGridOracleEnv(base_url=f"http://127.0.0.1:{port}").sync() as env:
            twin = LocalEvGridOracleEnv()
            options = {"seed": 3, "scenario": "MonsoonStorm", "ticks": 6, "episode_id": "same"}
            a, b = env.reset(**options), twin.reset(**options)
            assert a.observation == b.observation
            while not a.done:
                a, b = env.step({"actions": []}), twin.step({"actions": []})
                assert a.observation == b.observation and a.reward == b.reward
            assert env.state() == twin.state()
        done = subprocess.run(
            [sys.executable, "-m", "openenv.cli", "validate", "--url", f"http://127.0.0.1:{port}", "--json"],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr


def test_load_of_twenty_seconds() -> None:
    figures = bench_server(sockets=64, sessions=200, seconds=20.0, alone_steps=48)
    load = figures["load"]
    assert isinstance(load, dict)
    assert load["errors"] == 0, load["first_error"]
    assert load["equal_to_twin"] == load["trajectories"] >= 264
    assert load["steps"] > 264


def test_openenv_validate_at_its_runtime_level() -> None:
    spec = importlib.util.spec_from_file_location("validate_runtime", ROOT / "tools" / "validate_runtime.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["validate_runtime"] = module
    spec.loader.exec_module(module)
    with warnings.catch_warnings():  # openenv's collector calls websockets in a way that 17.1 warns of
        warnings.simplefilter("ignore", DeprecationWarning)
        results = {r.check_id: r for r in module.validate().results}
    status = {check: result.status.value for check, result in results.items()}
    if status["runtime.startup"] != "pass" and module.LocalProvider.too_slow:
        pytest.skip(f"this machine could not start the service within {module.START_S:g} s")
    assert not {"fail", "error"} & set(status.values()), (status, results["runtime.startup"])
    for check in (
        "static.manifest", "runtime.startup", "runtime.observation_schema", "runtime.reward_well_formed",
        "runtime.state_contract",
    ):  # fmt: skip
        assert status[check] == "pass", status


def test_the_wheel_serves_elsewhere(tmp_path: Path) -> None:
    """Built, unpacked into an environment of its own, imported from there and asked for an episode."""
    pytest.importorskip("hatchling", reason="building a wheel needs hatchling")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)],
        cwd=ROOT, check=True, capture_output=True,
    )  # fmt: skip
    wheel = next(tmp_path.glob("*.whl"))
    home = tmp_path / "env"
    venv.create(home, with_pip=False)
    python = home / "bin" / "python"
    site = Path(
        subprocess.run(
            [str(python), "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"],
            capture_output=True, text=True, check=True,
        ).stdout.strip()
    )  # fmt: skip
    subprocess.run([sys.executable, "-m", "zipfile", "-e", str(wheel), str(site)], check=True)
    # the libraries come from this environment; the package itself must come from the wheel
    (site / "libraries.pth").write_text(sysconfig.get_path("purelib") + "\n")
    program = (
        "import ev_grid_oracle, json, sys\n"
        "from openenv import AutoAction, AutoEnv\n"
        "found = AutoEnv.get_env_info('ev-grid-oracle')\n"
        "assert found['package'] == 'openenv-ev-grid-oracle' and found['spec_version'] == 1, found\n"
        "assert AutoEnv.get_env_class('ev_grid_oracle').__name__ == 'EvGridOracleEnv'\n"
        "action = AutoAction.from_env('ev-grid-oracle')\n"
        "assert action(actions=[]).actions == [] and action.__module__ == 'ev_grid_oracle.models'\n"
        "from fastapi.testclient import TestClient\n"
        "from ev_grid_oracle.server.app import app\n"
        "reply = TestClient(app).post('/reset', json={'seed': 1})\n"
        "print(json.dumps([ev_grid_oracle.__file__, reply.status_code]))\n"
    )
    variables = {**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache")}  # openenv keeps what it discovered
    variables.setdefault("EVGRID_CACHE_DIR", str(Path.home() / ".cache" / "ev-grid-oracle"))
    done = subprocess.run(
        [str(python), "-c", program], cwd=tmp_path, env=variables, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    where, status = json.loads(done.stdout.strip().splitlines()[-1])
    assert Path(where).is_relative_to(site) and status == 200


def test_healthz_is_fast_beside_a_long_text() -> None:
    with running_server({}) as (port, _pid):
        base = f"http://127.0.0.1:{port}"

        def post(path: str, body: object) -> dict[str, object]:
            request = urllib.request.Request(
                base + path, json.dumps(body).encode(), {"Content-Type": "application/json"}
            )
            with urllib.request.urlopen(request, timeout=30) as reply:
                found: dict[str, object] = json.load(reply)
                return found

        post("/reset", {"seed": 1})
        text = "ACTION: route\nREASON: " + " " * 4000 + "x"
        seen = post("/step", {"action": {"text": text}})
        assert seen["observation"]["flags"] == {"invalid_action": 1}  # type: ignore[index]
        with urllib.request.urlopen(base + "/health", timeout=5) as reply:
            assert reply.status == 200
