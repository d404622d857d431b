"""Carry out the steps of the Dockerfile in an empty folder and virtual environment, where no engine is at hand.

    python tools/image_steps.py FOLDER [--probe]

Each stage becomes a folder; COPY, ENV, WORKDIR and RUN do there what they say, `pip`, `python` and console
scripts being those of a new virtual environment. What only an engine can do (users, base images) is printed as
skipped. What the image would hold is listed, and junk in it is a fault. `--probe` then starts the image's own command,
measures how long it takes to become healthy and asks `/health`, `/ui/`, `/reset` and `/step`. Exit code 1: a fault.
"""

from __future__ import annotations

import argparse
import fnmatch
import json
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
import venv
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ONLY_AN_ENGINE = ("useradd ",)
MOST_STARTUP_S = 300.0
COLD_START_AIM_S = 15.0
JUNK = ("tests", "artifacts", "runs", "benchmarks", "node_modules", ".git", ".venv", ".env", "build", "dist")
"""Names that no folder of the project may have in the image."""


def instructions(text: str) -> Iterator[tuple[str, str]]:
    """(name, arguments) of each instruction, continuation lines joined."""
    whole = ""
    for line in text.splitlines():
        if not whole and (not line.strip() or line.lstrip().startswith("#")):
            continue
        whole += line.strip().removesuffix("\\")
        if not line.rstrip().endswith("\\"):
            name, _, rest = whole.partition(" ")
            yield name.upper(), rest.strip()
            whole = ""


def allowed(path: Path, rules: list[str]) -> bool:
    """Whether .dockerignore lets a path of the context through; the last rule that matches decides."""
    parts = path.as_posix()
    keep = True
    for rule in rules:
        negated, pattern = rule.startswith("!"), rule.removeprefix("!")
        heads = ["/".join(path.parts[:n]) for n in range(1, len(path.parts) + 1)]
        if pattern.startswith("**/"):
            hit = any(fnmatch.fnmatch(part, pattern[3:]) for part in path.parts)
        else:
            hit = any(fnmatch.fnmatch(head, pattern) for head in heads if "/" not in pattern or "/" in head)
            hit = hit or parts == pattern
        if hit:
            keep = negated
    return keep


class Stage:
    """One `FROM`: a folder that stands for the image's root."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.cwd = "/"
        self.env: dict[str, str] = {}
        self.command: list[str] = []
        self.bin = root / "venv" / "bin"
        root.mkdir(parents=True)

    def at(self, path: str) -> Path:
        """The place of an image's path in the folder."""
        return self.root / (path if path.startswith("/") else f"{self.cwd}/{path}").lstrip("/")

    def environment(self) -> dict[str, str]:
        """Variables of a RUN: the image's, its home inside the folder, the machine's for pip and npm."""
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("EVGRID_", "PYTHON", "VIRTUAL_ENV"))}
        homed = {k: str(self.at(v)) if v.startswith("/home/") else v for k, v in self.env.items()}
        return {**kept, **homed, "PATH": f"{self.bin}:{os.environ['PATH']}"}

    def run(self, line: str) -> None:
        """RUN, in the stage's folder; `/tmp` stays the machine's."""
        subprocess.run(["bash", "-euc", line], cwd=self.at("."), env=self.environment(), check=True)


def copy(stage: Stage, rest: str, stages: dict[str, Stage], rules: list[str]) -> None:
    """COPY from the context or from a stage, by name."""
    words = rest.split()
    flags = dict(w.removeprefix("--").split("=", 1) for w in words if w.startswith("--"))
    *sources, target = (w for w in words if not w.startswith("--"))
    for source in sources:
        origin = stages[flags["from"]].at(source) if "from" in flags else ROOT / source
        goal = stage.at(target)

        def left_out(folder: str, names: list[str], own: bool = "from" not in flags) -> list[str]:
            place = Path(folder)
            return [n for n in names if own and not allowed((place / n).relative_to(ROOT), rules)]

        if origin.is_dir():
            shutil.copytree(origin, goal, ignore=left_out, dirs_exist_ok=True)
        else:
            if target.endswith("/"):
                goal = goal / origin.name
            goal.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(origin, goal)


def build(folder: Path) -> Stage:
    """Carry out every stage; returns the last one. A step that fails raises CalledProcessError."""
    rules = [
        line.strip()
        for line in (ROOT / ".dockerignore").read_text().splitlines()
        if line.strip() and not line.startswith("#")
    ]
    stages: dict[str, Stage] = {}
    stage: Stage | None = None
    for name, rest in instructions((ROOT / "Dockerfile").read_text()):
        begun = time.monotonic()
        if name == "FROM":
            image, _, label = rest.partition(" AS ")
            stage = stages[label or image] = Stage(folder / (label or image))
            if image.startswith("python:"):
                venv.create(stage.root / "venv", with_pip=True)
            continue
        if stage is None:
            raise SystemExit(f"{name} stands before the first FROM")
        if name == "WORKDIR":
            stage.cwd = rest
            stage.at(".").mkdir(parents=True, exist_ok=True)
        elif name == "ENV":
            stage.env.update(word.split("=", 1) for word in rest.split())  # type: ignore[misc]
        elif name == "COPY":
            copy(stage, rest, stages, rules)
        elif name == "CMD":
            stage.command = json.loads(rest)
        elif name == "RUN" and not rest.startswith(ONLY_AN_ENGINE):
            stage.run(rest)
        else:
            print(f"skipped {name} {rest[:60]}")
            continue
        print(f"{time.monotonic() - begun:6.1f} s  {name} {rest[:80]}", flush=True)
    if stage is None or not stage.command:
        raise SystemExit("the Dockerfile has no stage with a CMD")
    return stage


def contents(stage: Stage) -> tuple[list[str], list[str]]:
    """Lines that list the image, and paths of the project's parts that should not be in it."""
    (package,) = stage.root.glob("venv/lib/python*/site-packages/ev_grid_oracle")
    lines, junk = [], []
    for name, top in (("/app", stage.at("/app")), ("site-packages/ev_grid_oracle", package)):
        files = sorted(p for p in top.rglob("*") if p.is_file())
        found = [p for p in files if set(p.relative_to(top).parts) & set(JUNK)]
        junk += [f"{name}/{p.relative_to(top)}" for p in found]
        folders: dict[str, list[int]] = {}
        for path in files:
            first, *rest = path.relative_to(top).parts
            folders.setdefault(f"{first}/" if rest else first, []).append(path.stat().st_size)
        lines += [f"{sum(v):>12,}  {name}/{k} ({len(v)} files)" for k, v in sorted(folders.items())]
    for name, top in (("compiled kernels", stage.at("/home/user")), ("site-packages", package.parent)):
        sizes = [p.stat().st_size for p in top.rglob("*") if p.is_file()]
        lines.append(f"{sum(sizes):>12,}  {name} ({len(sizes)} files)")
    kept = sorted(p.name.partition("-")[0] for p in package.parent.glob("*.dist-info"))
    return [*lines, f"{len(kept)} distributions: {', '.join(kept)}"], junk


def processor_s(pid: int) -> float | None:
    """Processor time that a process has used, where the system tells; it does not depend on what else runs."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return (int(fields[11]) + int(fields[12])) / float(os.sysconf("SC_CLK_TCK"))


def probe(stage: Stage) -> dict[str, object]:
    """Start the image's command on a free port and ask it; seconds to healthy and the replies' states."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [
        str(port) if word == "8000" else "127.0.0.1" if word == "0.0.0.0" else word for word in stage.command
    ]
    begun = time.monotonic()
    server = subprocess.Popen(
        [str(stage.bin / command[0]), *command[1:]], cwd=stage.at("."), env=stage.environment()
    )
    base = f"http://127.0.0.1:{port}"

    def ask(path: str, body: object = None) -> int:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(base + path, data, {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=60) as reply:
            reply.read()
            return int(reply.status)

    try:
        while True:
            try:
                ask("/health")
                break
            except (urllib.error.URLError, ConnectionError):
                if server.poll() is not None or time.monotonic() - begun > MOST_STARTUP_S:
                    raise SystemExit("the image's command did not become healthy") from None
                time.sleep(0.2)
        healthy_s, healthy_cpu_s = time.monotonic() - begun, processor_s(server.pid)
        first = time.monotonic()
        replies = {
            "/ui/": ask("/ui/"),
            "/reset": ask("/reset", {"seed": 7}),
            "/step": ask("/step", {"action": {"text": ""}}),
        }
        return {
            "healthy_s": healthy_s,
            "healthy_cpu_s": healthy_cpu_s,
            "first_step_s": time.monotonic() - first,
            "replies": replies,
        }
    finally:
        server.terminate()
        server.wait(timeout=30)


def main() -> int:
    """Exit code 1 when a reply is not 200."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, help="an empty or new folder")
    parser.add_argument("--probe", action="store_true", help="start the service and ask it")
    asked = parser.parse_args()
    if asked.folder.exists() and any(asked.folder.iterdir()):
        print(f"{asked.folder} is not empty: name a new folder", file=sys.stderr)
        return 3
    stage = build(asked.folder.resolve())
    lines, junk = contents(stage)
    print("\n".join(lines))
    for path in junk:
        print(f"junk in the image: {path}", file=sys.stderr)
    if not asked.probe:
        return int(bool(junk))
    found = probe(stage)
    print(json.dumps(found, indent=2))
    print(
        f"healthy after {found['healthy_s']:.1f} s (aim {COLD_START_AIM_S:.0f} s), "
        f"{found['healthy_cpu_s'] or 0.0:.1f} s of them processor time; load {os.getloadavg()[0]:.1f}"
    )
    replies = found["replies"]
    return int(bool(junk) or not isinstance(replies, dict) or any(code != 200 for code in replies.values()))


if __name__ == "__main__":
    raise SystemExit(main())
