"""`evgrid doctor`: is this installation whole, and does it compute what it should?"""

from __future__ import annotations

import platform
from importlib.util import find_spec

import typer

from ev_grid_oracle.cli.options import Json
from ev_grid_oracle.cli.waiting import Waiting, load_simulator
from ev_grid_oracle.version import __version__

OPTIONAL = {
    "openenv": "server",
    "fastapi": "server",
    "gymnasium": "gym",
    "pettingzoo": "gym",
    "onnxruntime": "oracle",
    "tokenizers": "oracle",
    "torch": "train",
    "trl": "train",
    "peft": "train",
    "matplotlib": "viz",
    "statsmodels": "viz",
    "gradio": "viz",
    "pygame": "viz",
    "pyarrow": "scale",
    "duckdb": "scale",
    "ray": "scale",
    "power_grid_model": "grid",
    "pandapower": "grid",
    "pytest": "dev",
}
"""Modules that are not needed to run, and the extra that brings them."""

WHAT_FOR = {
    "server": "the OpenEnv service and the command center",
    "gym": "Gymnasium and PettingZoo environments",
    "oracle": "the small language model behind the policy oracle",
    "train": "evgrid train, and language models on this machine",
    "viz": "figures, Gradio page, Pygame map and film",
    "scale": "Parquet stores and Ray",
    "grid": "other power-flow solvers, as referees",
    "dev": "tests and checks",
}
"""What an extra is for."""

EXAMPLE = "Example: evgrid doctor --json"


def _self_test() -> tuple[bool, str]:
    """A short evening twice on the toy city gives one digest."""
    from ev_grid_oracle.city import load_city
    from ev_grid_oracle.episode.batch import Batch
    from ev_grid_oracle.episode.options import resolve

    pack = load_city("toy")
    digests = []
    for _ in range(2):
        batch = Batch(pack, 1)
        batch.reset([resolve(pack, seed=1, ticks=6).world])
        batch.play("greedy_counting", 6)
        digests.append(batch.world.digest(0))
    same = digests[0] == digests[1]
    return same, f"digest {digests[0]}" if same else f"two digests: {digests[0]} and {digests[1]}"


def doctor(json: Json = False) -> None:
    """Check versions, cache, cities and a short simulation; exit code 1 if something is wrong."""
    checks: list[dict[str, object]] = []

    def note(name: str, ok: bool, detail: str) -> None:
        checks.append({"check": name, "ok": ok, "detail": detail})

    with Waiting("Checking") as wait:
        load_simulator(wait)
        from ev_grid_oracle.city.load import DATA, list_cities
        from ev_grid_oracle.city.validate import validate_pack
        from ev_grid_oracle.evaluation.provenance import library_versions, machine
        from ev_grid_oracle.evaluation.writing import to_json
        from ev_grid_oracle.schema.compiled import cache_folder

        note("package", True, f"ev_grid_oracle {__version__}")
        python = platform.python_version_tuple()
        note("python", (3, 11) <= (int(python[0]), int(python[1])) < (3, 14), platform.python_version())
        for name, found in library_versions().items():
            note(name, found is not None, found or "missing: reinstall the package")
        for name in list_cities():
            wait.say(f"city {name}")
            faults = validate_pack(DATA / name)
            found = f"{len(faults)} faults; first: {faults[0]}" if faults else "no fault"
            note(f"city {name}", not faults, found)
        wait.say("a short simulation")
        note("simulation", *_self_test())
        folder = cache_folder()
        note("kernel cache", True, f"{folder}, {sum(1 for _ in folder.rglob('*.nbi'))} kernels")
        extras = {
            module: "installed" if find_spec(module) else f"missing, comes with the extra {extra!r}"
            for module, extra in OPTIONAL.items()
        }
    ok = all(c["ok"] for c in checks)
    if json:
        typer.echo(to_json({"ok": ok, "checks": checks, "optional": extras, "machine": machine()}), nl=False)
    else:
        for c in checks:
            typer.echo(f"{'ok  ' if c['ok'] else 'FAIL'}  {c['check']}: {c['detail']}")
        for module, state in extras.items():
            typer.echo(f"      optional {module}: {state}")
        lacking = {OPTIONAL[module] for module, state in extras.items() if state != "installed"}
        for extra in (e for e in WHAT_FOR if e in lacking):
            typer.echo(f'      for {WHAT_FOR[extra]}: pip install "openenv-ev-grid-oracle[{extra}]"')
        typer.echo("All is well." if ok else "Something is wrong: see FAIL above.")
    if not ok:
        raise typer.Exit(1)
