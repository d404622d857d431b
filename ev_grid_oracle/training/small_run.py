"""`evgrid train --profile cpu-small`: decisions, warm start, GRPO, export, report. Every stage goes on where it stopped.

data -> warm/ -> fresh data on the warm model's own states -> grpo/ (checkpoints, TensorBoard) -> model/ -> report.json
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from dataclasses import asdict
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ev_grid_oracle.city.load import load_city
from ev_grid_oracle.city.model import CityPack
from ev_grid_oracle.evaluation.provenance import provenance
from ev_grid_oracle.evaluation.writing import check_writable, to_json, write_atomic
from ev_grid_oracle.schema.errors import MissingExtraError, OptionError
from ev_grid_oracle.training.reporting import reporters
from ev_grid_oracle.training.small_profile import SmallProfile, profile_of

SCHEMA = "evgrid.train.small/1"
OUT = Path("runs/oracle")
WARM_SEED, VALID_SEED, FRESH_SEED = 11, 12, 13
"""Roots of the data's `SeedSequence`s; `training_seeds` keeps them off the frozen splits and the evaluation."""
Tell = Callable[[str], None]


def needs_train() -> None:
    """`MissingExtraError` where the `train` extra is not installed."""
    missing = [
        n
        for n in ("torch", "transformers", "trl", "datasets", "onnx", "onnxruntime", "tokenizers")
        if find_spec(n) is None
    ]
    if missing:
        raise MissingExtraError(
            f"Training needs {', '.join(missing)}.", 'pip install "openenv-ev-grid-oracle[train]"'
        )


def run(
    profile: str | SmallProfile,
    *,
    out: Path = OUT,
    seed: int = 0,
    uniform: bool = False,
    threads: int = 1,
    steps: int | None = None,
    report_to: str = "tensorboard",
    tell: Tell = print,
) -> dict[str, Any]:
    """Run or go on with a profile; returns what ``report.json`` holds.

    Args:
        profile: a name of `small_profile.PROFILES`, or sizes of one's own.
        seed: of weights, order and sampling.
        uniform: no curriculum: all states alike.
        threads: of torch.
        steps: of GRPO, instead of the profile's; 0 ends after the warm start.
        report_to: one of `reporting.REPORTERS`.

    Raises:
        MissingExtraError: the `train` extra or the reporter is not installed.
        OptionError: no such profile, or an option out of range.
    """
    if isinstance(profile, str):
        profile = profile_of(profile)
    if threads < 1 or threads > 64:
        raise OptionError(f"{threads} threads are out of range.", "Choose 1 to 64.")
    check_writable(out / "report.json")
    needs_train()
    logs = reporters(report_to)
    import torch

    torch.set_num_threads(threads)
    begun = time.perf_counter()
    city = load_city(profile.city)
    out.mkdir(parents=True, exist_ok=True)
    report: dict[str, Any] = {"schema": SCHEMA, "profile": asdict(profile), "seed": seed, "uniform": uniform}
    report["data"] = _data(profile, city, out, tell)
    report["warm"] = _warm(profile, out, seed, tell)
    if steps is None or steps > 0:
        report["grpo"] = _grpo(profile, city, out, seed, uniform, steps or profile.steps, logs, tell)
    report["seconds"] = round(time.perf_counter() - begun, 1)
    report["provenance"] = provenance(city)
    write_atomic(out / "report.json", to_json(report))
    tell(f"report: {out / 'report.json'}")
    return report


def _shares(tell: Callable[[str], None], whole: int) -> Callable[[int], None]:
    """A progress callback that says every further twentieth of `whole`, so that nobody waits without a word."""
    said = 0

    def progress(done: int) -> None:
        nonlocal said
        share = 20 * done // whole
        if share > said:
            said = share
            tell(f"  {done} of {whole} decisions")

    return progress


def _data(profile: SmallProfile, city: CityPack, out: Path, tell: Tell) -> dict[str, int]:
    from ev_grid_oracle.training.small_data import Collector, Decisions, collect

    counts: dict[str, int] = {}
    for name, root, n in (("warm", WARM_SEED, profile.decisions), ("valid", VALID_SEED, profile.valid)):
        path = out / f"{name}.npz"
        if not path.exists():
            tell(f"{name}: {n} decisions of the planner")
            collector = Collector(
                city, root, 0.75, profile.futures, profile.ticks, weight_of_others=profile.others
            )
            collect(collector, n, _shares(tell, n)).save(path)
        found = Decisions.load(path)
        counts |= {
            name: len(found.car_ids),
            f"{name}_feeders": len(found.relief_ids),
            f"{name}_worlds": len(found.world_ids),
        }
    return counts


def _warm(profile: SmallProfile, out: Path, seed: int, tell: Tell) -> dict[str, Any]:
    from ev_grid_oracle.training.small_data import Decisions
    from ev_grid_oracle.training.small_export import export
    from ev_grid_oracle.training.small_model import new_model, parameters_of
    from ev_grid_oracle.training.small_warm import Warm, regret

    folder = out / f"warm-{seed}"
    notes = folder / "training.json"
    if notes.exists():
        return dict(json.loads(notes.read_text(encoding="utf-8")))
    model = new_model(seed, **profile.sizes)
    log: list[dict[str, float]] = []
    tell(f"warm start: {parameters_of(model)} parameters, {profile.decisions} decisions")

    def keep(step: int, values: dict[str, float]) -> None:
        log.append({"step": float(step), **values})
        if step % 100 == 0:
            tell(f"  step {step}: decision loss {values['decision']:.3f}")

    seconds = Warm(model, Decisions.load(out / "warm.npz"), profile.warm, seed).run(keep)
    export(model, folder)
    found = {
        "seconds": round(seconds, 1), "parameters": parameters_of(model), "log": log,
        "valid": regret(model, Decisions.load(out / "valid.npz")),
    }  # fmt: skip
    write_atomic(notes, to_json(found))
    return found


def _grpo(
    profile: SmallProfile,
    city: CityPack,
    out: Path,
    seed: int,
    uniform: bool,
    steps: int,
    logs: list[str],
    tell: Tell,
) -> dict[str, Any]:
    from transformers import Qwen2ForCausalLM

    from ev_grid_oracle.training import small_curriculum
    from ev_grid_oracle.training.small_data import Collector, Decisions, collect
    from ev_grid_oracle.training.small_export import export
    from ev_grid_oracle.training.small_grpo import SmallGRPO, config
    from ev_grid_oracle.training.small_rehearsal import Rehearsal
    from ev_grid_oracle.training.small_score import oracle_at
    from ev_grid_oracle.training.small_watch import Watch, WatchCallback

    warm, name = out / f"warm-{seed}", f"{seed}{'-uniform' if uniform else ''}"
    fresh = out / f"fresh-{seed}.npz"
    if not fresh.exists():
        tell(f"fresh: {profile.fresh} decisions where the warm start leads")
        collector = Collector(
            city,
            FRESH_SEED,
            0.75,
            profile.group_futures,
            profile.ticks,
            on_policy=0.2,
            player=lambda: oracle_at(warm),
            weight_of_others=profile.others,
            city_ticks=profile.city_ticks,
        )
        collect(collector, profile.fresh, _shares(tell, profile.fresh)).save(fresh)
    folder = out / f"grpo-{name}"
    model, start = (Qwen2ForCausalLM.from_pretrained(str(warm)) for _ in range(2))
    names = [s.name for s in city.scenarios]
    drawn = small_curriculum.build(
        model, Decisions.load(fresh), steps * profile.groups, seed, names, profile.reliefs, uniform
    )
    folder.mkdir(parents=True, exist_ok=True)
    os.environ.setdefault("TRL_EXPERIMENTAL_SILENCE", "1")
    os.environ["TENSORBOARD_LOGGING_DIR"] = str(folder / "logs")
    watch = Watch(
        folder, city, Decisions.load(out / "valid.npz"), profile.check_every, profile.check_seeds, start
    )
    callback = WatchCallback(watch)
    args = config(
        folder,
        steps,
        seed,
        profile.groups,
        profile.rate,
        profile.beta,
        profile.scale_rewards,
        profile.check_every,
        logs,
    )
    rehearsal = Rehearsal(model, Decisions.load(out / "warm.npz"), seed)
    trainer = SmallGRPO(model, drawn.data, args, rehearsal, callbacks=[callback])
    callback.trainer = trainer
    last = sorted(folder.glob("checkpoint-*"), key=lambda p: int(p.name.rpartition("-")[2]))
    tell(f"GRPO: {steps} steps of {profile.groups} groups{f', from {last[-1].name}' if last else ''}")
    watch.remember(int(last[-1].name.rpartition("-")[2]) if last else -1)
    begun = time.perf_counter()
    trainer.train(resume_from_checkpoint=str(last[-1]) if last else None)
    best = folder / "best"
    final = Qwen2ForCausalLM.from_pretrained(str(best))
    export(final, out / f"model-{name}")
    found = {
        "seconds": round(time.perf_counter() - begun, 1), "steps": trainer.state.global_step, "best_step": watch.best,
        "stopped": watch.stopped, "checks": [asdict(c) for c in watch.checks], "traps": drawn.traps,
        "regret_min": drawn.regret_min, "history": [h for h in trainer.state.log_history if "reward" in h],
        "provenance": provenance(city),
    }  # fmt: skip
    write_atomic(folder / "training.json", to_json(found))
    return found
