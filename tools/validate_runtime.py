"""`openenv validate` at its runtime level without Docker: the server runs as a process of this machine.

    python -B tools/validate_runtime.py [--json report.json]

A clean copy of the checkout is validated, since the check refuses a tree that changes under it (caches do). Exit
code 0 when no check fails; checks that openenv has not implemented, or that need a container, are shown as
skipped.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from openenv.validation import run_validation
from openenv.validation.providers import ExecResult, StartupError
from openenv.validation.types import CheckStatus, Level, ProviderCapability

ROOT = Path(__file__).resolve().parent.parent
START_S = 600.0
STOP_S = 60.0
SKIPPED = (".*", "__pycache__", "node_modules", "build", "dist", "runs", "artifacts", "outputs", "*.egg-info")


@dataclass
class LocalSubject:
    """A server that runs as a child process."""

    base_url: str
    process: subprocess.Popen[bytes]
    log: Path

    def inspect(self) -> dict[str, Any]:
        """What is known of it."""
        return {"provider": LocalProvider.name, "pid": self.process.pid}

    def logs(self, max_bytes: int = 65536) -> str:
        """The end of what it printed."""
        return self.log.read_bytes()[-max_bytes:].decode("utf-8", "replace")

    def exec(self, argv: list[str], timeout_s: float) -> ExecResult:
        """Run a command beside it."""
        start = time.monotonic()
        done = subprocess.run(argv, capture_output=True, text=True, timeout=timeout_s, check=False)
        return ExecResult(done.returncode, done.stdout, done.stderr, time.monotonic() - start)

    def stop(self) -> None:
        """End it."""
        self.process.terminate()
        try:
            self.process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


class LocalProvider:
    """Starts the package's own server; isolates nothing, so it offers no network policy."""

    name = "local-process"
    capabilities = frozenset({ProviderCapability.IMAGE_BUILD})
    supported_network_modes = frozenset({"public"})
    too_slow = False  # the last start was given up on a server that was still starting

    def __init__(self) -> None:
        self._root = ROOT

    def build(self, root: Path, execution: Any) -> str:
        """The "image" is the tree, named by the digest of its manifest; its code is compiled here, as an image's is.

        Compiling takes one to two minutes, more on a busy machine, and has no limit; starting afterwards has one.
        """
        self._root = Path(root)
        warm = "from ev_grid_oracle import make_session; make_session().reset(seed=1); import server.app"
        done = subprocess.run(
            [sys.executable, "-B", "-P", "-c", warm], env={**os.environ, "PYTHONPATH": str(ROOT)},
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        if done.returncode != 0:
            raise StartupError("the package cannot be imported: " + done.stderr[-2000:])
        return "sha256:" + hashlib.sha256((self._root / "openenv.yaml").read_bytes()).hexdigest()

    def start(self, spec: Any) -> LocalSubject:
        """Start uvicorn on a free port and wait until it is ready."""
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        log = Path(tempfile.mkstemp(prefix="evgrid-validate-", suffix=".log")[1])
        # the copy is validated, the tree it was copied from is served: compiled code is kept by path, and a
        # server in a new folder would compile for minutes before it answers
        # (uvicorn puts its folder before PYTHONPATH unless told which one that is)
        where = ["--app-dir", str(ROOT), "--port", str(port)]
        command = [sys.executable, "-B", "-P", "-m", "uvicorn", "server.app:app", *where]
        env = {**os.environ, **spec.env_vars, "PYTHONPATH": str(ROOT)}
        with log.open("wb") as out:
            process = subprocess.Popen(command, cwd=self._root, env=env, stdout=out, stderr=out)
        subject = LocalSubject(f"http://127.0.0.1:{port}", process, log)
        deadline = time.monotonic() + max(float(spec.startup_timeout_s), START_S)
        while time.monotonic() < deadline and process.poll() is None:
            if _ready(subject.base_url):
                return subject
            time.sleep(0.2)
        LocalProvider.too_slow = process.poll() is None
        subject.stop()
        raise StartupError("the server did not become ready: " + subject.logs(2000))


def _ready(base_url: str) -> bool:
    """Healthy, and the simulator compiled: a first start on a machine compiles for one to two minutes."""
    try:
        with urllib.request.urlopen(base_url + "/healthz", timeout=5) as reply:
            return bool(json.load(reply)["ready"])
    except (OSError, ValueError, KeyError):
        return False


def validate(root: Path = ROOT) -> Any:
    """The report of all levels up to runtime on a clean copy of `root`."""
    with tempfile.TemporaryDirectory(prefix="evgrid-validate-") as folder:
        copy = Path(folder) / "package"
        shutil.copytree(root, copy, ignore=shutil.ignore_patterns(*SKIPPED), symlinks=True)
        return run_validation(
            copy, max_level=Level.RUNTIME, provider=LocalProvider(), artifacts_dir=Path(folder) / "artifacts"
        )


def main() -> int:
    """Validate, print, say whether anything failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path, help="Write the report to this file.")
    asked = parser.parse_args()
    report = validate()
    failed = 0
    for check in report.results:
        print(f"{check.status.value.upper():6} {check.check_id}  {check.remediation or ''}".rstrip())
        failed += check.status in (CheckStatus.FAIL, CheckStatus.ERROR)
    if asked.json is not None:
        asked.json.write_text(json.dumps(report.model_dump(mode="json"), indent=1) + "\n", encoding="utf-8")
    print(f"{failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
