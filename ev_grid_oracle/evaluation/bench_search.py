"""The integrity search: which policies are tried, and a ledger that lets a long search be stopped and called anew.

Half of the policies are drawn at random, half climb the reward itself (CMA-ES where the `cma` package is there, else
a Gaussian hill climb), with the penalties for flags on and off in turn. The search is a function of its seed and of
what it found, so that a second call walks the same way and reads what the ledger holds instead of playing it.
"""

from __future__ import annotations

import hashlib
import json
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from ev_grid_oracle.evaluation.bench_arena import F64, HABITS, HIGH, LOW, WIDE, Arena, Found, tuned
from ev_grid_oracle.evaluation.writing import check_writable, write_atomic
from ev_grid_oracle.schema import compiled
from ev_grid_oracle.schema.errors import OptionError

Point = tuple[F64, Found]
Say = Callable[[str], None]
SAY_S = 5.0


class Ledger:
    """Evaluations of an arena, kept in a file of one JSON object a line if `path` is given.

    Args:
        about: what the numbers depend on (city, evenings, seed); the kernels' digest is added.
        total: evaluations to come, for progress.

    Raises:
        OptionError: the file holds something else, or evaluations of something else.
    """

    def __init__(
        self, arena: Arena, path: Path | None, about: Mapping[str, object], total: int, say: Say = lambda text: None
    ) -> None:
        self._arena, self._path, self._say, self._total = arena, path, say, total
        self._known: dict[str, Found] = {}
        self.read, self.played, self._told = 0, 0, perf_counter()
        if path is None:
            return
        check_writable(path)
        head = {**about, "kernels": compiled.source_digest()}
        text = path.read_text(encoding="utf-8") if path.exists() else ""
        whole = text[: text.rfind("\n") + 1]  # a stopped process may leave half a line at the end
        if not whole:
            path.parent.mkdir(parents=True, exist_ok=True)
            whole = json.dumps(head) + "\n"
        try:
            first, *rest = (json.loads(line) for line in whole.splitlines())
            if first != head:
                raise OptionError(f"{str(path)!r} holds a search of another city, seed or version.", "Name another file.")
            for row in rest:
                self._known[row["x"]] = {k: np.array(v) for k, v in row["found"].items()}
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise OptionError(f"{str(path)!r} is no ledger of a search.", "Delete it or name another.") from error
        if whole != text:
            write_atomic(path, whole)

    def play(self, x: F64) -> Found:
        """Result of the policy at `x`, played or read."""
        name = hashlib.sha256(np.ascontiguousarray(x, np.float64).tobytes()).hexdigest()[:24]
        found = self._known.get(name)
        if found is not None:
            self.read += 1
            return found
        found = self._arena.point(x)
        self._known[name] = found
        self.played += 1
        if self._path is not None:
            with self._path.open("a", encoding="utf-8") as file:
                file.write(json.dumps({"x": name, "found": {k: v.tolist() for k, v in found.items()}}) + "\n")
        if perf_counter() - self._told > SAY_S:
            self._told = perf_counter()
            self._say(f"{self.read + self.played} of {self._total} policies played")
        return found


def random_point(rng: np.random.Generator) -> F64:
    """Tuned values, each with even chance drawn anew over its whole range; habits mostly weak."""
    x = tuned()
    wild = LOW + (HIGH - LOW) * rng.random(len(x))
    x = np.where(rng.random(len(x)) < rng.random(), wild, x)
    for k, name in enumerate(HABITS):
        if name in ("drop", "defer", "lower_rate", "shift"):
            x[len(WIDE) + k] *= rng.random() ** 2
    return x


def climber() -> str:
    """Which search climbs: CMA-ES if its package is there."""
    return "gaussian hill climb" if _cma() is None else "CMA-ES"


def _cma() -> Any | None:
    try:
        with warnings.catch_warnings():  # it warns where matplotlib, which this needs not, is absent
            warnings.simplefilter("ignore")
            import cma
    except ImportError:
        return None
    return cma


def climb(ledger: Ledger, rng: np.random.Generator, budget: int, key: str) -> list[Point]:
    """`budget` evaluations that climb the reward `key` from the tuned point."""
    span = HIGH - LOW
    out: list[Point] = []
    cma = _cma()
    if cma is None:
        best, value, width = tuned(), -np.inf, 0.15
        for _ in range(budget):
            x = np.clip(best + rng.normal(size=len(best)) * width * span * (rng.random(len(best)) < 0.3), LOW, HIGH)
            found = ledger.play(x)
            out.append((x, found))
            if found[key].mean() > value:
                best, value = x, float(found[key].mean())
            else:
                width = max(0.995 * width, 0.02)
        return out
    search = cma.CMAEvolutionStrategy(
        (tuned() - LOW) / span, 0.2, {"bounds": [0, 1], "seed": int(rng.integers(1, 2**31)), "verbose": -9}
    )
    while len(out) < budget:
        asked = search.ask()
        values = []
        for z in asked:
            x = LOW + span * np.asarray(z)
            found = ledger.play(x)
            out.append((x, found))
            values.append(-float(found[key].mean()))
        search.tell(asked, values)
    return out[:budget]


def search(ledger: Ledger, rng: np.random.Generator, evaluations: int, seconds: float) -> list[Point]:
    """All evaluations: random ones first, then a climb of the reward with and one without the flags' penalty.

    `seconds` ends the search early; which policies it then holds depends on the machine.
    """
    begun = perf_counter()
    points: list[Point] = []
    while len(points) < evaluations // 2 and perf_counter() - begun < 0.5 * seconds:
        x = random_point(rng)
        points.append((x, ledger.play(x)))
    left = evaluations - len(points)
    if seconds < 1e8:
        rate = len(points) / max(perf_counter() - begun, 1e-9)
        left = min(left, int(0.5 * seconds * rate))
    for key, share in (("reward", left // 2), ("reward_no_flags", left - left // 2)):
        points += climb(ledger, rng, share, key)
    return points
