"""A folder of finished episodes: what an interrupted evaluation goes on from, and what DuckDB reads.

::

    runs/x/plan.json                                   what is evaluated, and with which city, code and versions
    runs/x/parts/<scenario>--<policy>--00003.parquet   one finished block, one row an episode
    runs/x/manifest.json                               every row with its digest, once all are there

A part is written beside its place, flushed, then renamed: it is whole or not there, whatever kills the process.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from ev_grid_oracle.evaluation.provenance import identity
from ev_grid_oracle.evaluation.runner import Plan
from ev_grid_oracle.evaluation.score import table_sha256
from ev_grid_oracle.evaluation.store_columns import (
    HEAD,
    RECEIPT_COLUMNS,
    arrow,
    episodes_of,
    identity_of,
    table_of,
)
from ev_grid_oracle.evaluation.work import Episode, Task, row_sha256
from ev_grid_oracle.evaluation.writing import OutputError, to_json, write_atomic

SCHEMA = "evgrid.store/1"
_PLAIN = re.compile(r"[^A-Za-z0-9._-]")


class StoreError(OutputError):
    """A store cannot be gone on with, read or mixed."""


def part_name(task: Task) -> str:
    """File name of the block of `task`; names that a file cannot carry get a digest of their own."""

    def plain(name: str) -> str:
        text = _PLAIN.sub("_", name)
        return text if text == name else f"{text[:60]}-{hashlib.sha256(name.encode()).hexdigest()[:8]}"

    return f"{plain(task.scenario)}--{plain(task.policy)}--{task.block:05d}.parquet"


class Store:
    """The episodes in `folder`."""

    def __init__(self, folder: Path) -> None:
        arrow()
        self.folder = folder
        self.parts = folder / "parts"
        self._identity: dict[str, object] = {}

    # -- writing --------------------------------------------------------------------------------------
    @contextmanager
    def begun(self, plan: Plan) -> Iterator[None]:
        """The store, locked for this process, holding the plan; what it already holds must be of the same kind.

        Raises:
            StoreError: it is of another seed, length, city, code or version, or another process writes to it.
        """
        if self.folder.exists() and not self.folder.is_dir():
            raise StoreError(f"{str(self.folder)!r} is a file.", "Name a folder.")
        try:
            self.parts.mkdir(parents=True, exist_ok=True)
        except OSError as exc:
            raise StoreError(
                f"{str(self.folder)!r} cannot be made: {exc.strerror}.", "Choose another."
            ) from exc
        with _locked(self.folder / ".lock"):
            self._identity = wanted = kind_of(plan)
            before = self.plan()
            if before is not None:
                check_same(before["kind"], wanted, str(self.folder))  # type: ignore[arg-type]
                if before["block"] != plan.block:
                    raise StoreError(
                        f"{str(self.folder)!r} was begun in blocks of {before['block']}, this is {plan.block}.",
                        f"Give --block {before['block']}, or another folder.",
                    )
            for left in self.parts.glob("*.tmp"):
                left.unlink()
            write_atomic(
                self.folder / "plan.json", to_json({"schema": SCHEMA, **_plan_facts(plan), "kind": wanted})
            )
            (self.folder / "manifest.json").unlink(missing_ok=True)
            yield

    def add(self, task: Task, episodes: Sequence[Episode]) -> None:
        """Write one finished block, whole or not at all."""
        pa = arrow()
        table = table_of(episodes).replace_schema_metadata(
            {"evgrid": json.dumps(self._identity, sort_keys=True)}
        )
        path = self.parts / part_name(task)
        beside = path.with_name(f".{path.name}.{os.getpid()}.tmp")
        try:
            with beside.open("wb") as out:
                pa.parquet.write_table(table, out, compression="zstd")
                out.flush()
                os.fsync(out.fileno())
            beside.replace(path)
        except OSError as exc:
            beside.unlink(missing_ok=True)
            raise StoreError(
                f"{str(path)!r} cannot be written: {exc.strerror}.", "Make room, then go on."
            ) from exc

    def missing(self, tasks: Sequence[Task]) -> list[Task]:
        """Tasks that are not finished, in their order."""
        have = {head["episode_id"] for head in self.heads()}
        seeds = self._seeds(tasks)
        return [t for t in tasks if any(f"{t.scenario}/{seeds[k]}/{t.policy}" not in have for k in t.indices)]

    def _seeds(self, tasks: Sequence[Task]) -> dict[int, int]:
        from ev_grid_oracle.evaluation.seeds import episode_seed

        seed = int(self._identity["seed"])  # type: ignore[call-overload]
        return {k: episode_seed(seed, k) for k in {k for t in tasks for k in t.indices}}

    def finish(self, plan: Plan, receipts: int | None = 0) -> list[Episode]:
        """All episodes of the plan, read back, and the manifest written; receipts as in `episodes`.

        Raises:
            StoreError: a row is not what was written.
        """
        rows = self.episodes(receipts)
        for e in rows:
            if e.told_sha256 != e.row_sha256():
                raise StoreError(
                    f"The row {e.id} was altered.", "Remove its part: the block is played again."
                )
        everything = {e.id: e.row_sha256() for e in rows}
        document = {"schema": SCHEMA, "episodes": len(everything), "sha256": row_sha256(everything),
                    "rows": dict(sorted(everything.items()))}  # fmt: skip
        write_atomic(self.folder / "manifest.json", to_json(document))
        wanted = {(s, p) for s in plan.scenarios for p in plan.policies}
        return [e for e in rows if (e.scenario, e.policy) in wanted and e.index < plan.episodes]

    # -- reading --------------------------------------------------------------------------------------
    def plan(self) -> dict[str, object] | None:
        """What `plan.json` says; None where there is no store yet."""
        return self._document("plan.json")

    def manifest(self) -> dict[str, object] | None:
        """What `manifest.json` says; None while the evaluation is not finished."""
        return self._document("manifest.json")

    def _document(self, name: str) -> dict[str, object] | None:
        path = self.folder / name
        if not path.exists():
            return None
        try:
            found = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError) as exc:
            raise StoreError(
                f"{str(path)!r} cannot be read.", "Take a copy of it, or another folder."
            ) from exc
        if not isinstance(found, dict) or found.get("schema") != SCHEMA:
            raise StoreError(f"{str(path)!r} is of no store this library reads.", "Take another folder.")
        return found

    def files(self) -> list[Path]:
        """Parts, by name."""
        return sorted(p for p in self.parts.glob("*.parquet") if not p.name.startswith("."))

    def heads(self) -> list[dict[str, object]]:
        """Who and where of every row, without its values; checks that all parts are of one kind.

        Raises:
            StoreError: a part is damaged or of another kind, or an episode stands twice.
        """
        out: list[dict[str, object]] = []
        seen: dict[object, Path] = {}
        kind: dict[str, object] | None = self._identity or None
        for path in self.files():
            table = self._read(path, list(HEAD))
            found = identity_of(table.schema.metadata)
            if kind is None:
                kind = found
            check_same(found, kind, str(path))
            for row in table.to_pylist():
                if row["episode_id"] in seen:
                    raise StoreError(
                        f"The episode {row['episode_id']} stands twice: in {seen[row['episode_id']].name} and in "
                        f"{path.name}.",
                        "Take one of the two files away.",
                    )
                seen[row["episode_id"]] = path
                out.append(row)
        return out

    def episodes(self, receipts: int | None = None) -> list[Episode]:
        """All episodes, part by part.

        receipts: read those of episodes with a smaller index (None: all; 0: none, which is faster).
        """
        self.heads()
        out: list[Episode] = []
        for path in self.files():
            names = arrow().parquet.read_schema(path).names
            plain = [n for n in names if n not in RECEIPT_COLUMNS]
            if receipts is not None and receipts > 0:
                indices = self._read(path, ["episode_index"])["episode_index"].to_pylist()
                with_receipts = min(indices, default=receipts) < receipts
            else:
                with_receipts = receipts is None
            out += episodes_of(self._read(path, names if with_receipts else plain))
        return out

    def _read(self, path: Path, columns: list[str]):  # type: ignore[no-untyped-def]  # pyarrow carries no types
        pa = arrow()
        try:
            return pa.parquet.ParquetFile(path).read(columns=columns)
        except (OSError, pa.lib.ArrowException, KeyError) as exc:
            raise StoreError(
                f"{str(path)!r} is no part of a store, or is damaged.",
                "Remove it: its block is played again.",
            ) from exc


def kind_of(plan: Plan) -> dict[str, object]:
    """What must be equal for episodes to stand in one store."""
    return {
        **identity(plan.city),
        "episode_score_table": table_sha256(),
        "seed": plan.seed,
        "ticks": plan.ticks,
        "options": dict(plan.options),
    }


def _plan_facts(plan: Plan) -> dict[str, object]:
    return {
        "policies": list(plan.policies),
        "scenarios": list(plan.scenarios),
        "episodes": plan.episodes,
        "block": plan.block,
        "series": plan.series,
        "city_path": str(plan.city.path),
    }


def check_same(found: Mapping[str, object], wanted: Mapping[str, object], where: str) -> None:
    """Raise `StoreError` naming the first thing in which two kinds differ."""
    words = {"city": "city", "code_sha256": "code", "policies_sha256": "code of policies", "versions": "versions",
             "episode_score_table": "table of the episode score", "seed": "seed", "ticks": "ticks", "options": "options"}  # fmt: skip
    for key, word in words.items():
        if found.get(key) != wanted.get(key):
            raise StoreError(
                f"{where!r} is of other {word}: {found.get(key)!r}, here {wanted.get(key)!r}.",
                "Results of one kind only stand together: take another folder.",
            )


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """One writer at a time; the lock goes with the process, however it ends."""
    try:
        import fcntl
    except ImportError:  # no such lock on this system: the user takes care
        yield
        return
    with path.open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as exc:
            raise StoreError(
                f"Another process writes to {str(path.parent)!r}.", "Wait for it, or choose another folder."
            ) from exc
        yield
