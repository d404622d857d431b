"""Decisions to learn from: the planner's costs on training evenings of every scenario.

Seeds come from a `SeedSequence` of their own and skip the frozen splits and the evenings of the evaluation. Half of the
evenings are played by the planner, the other half by others (greedy_counting, greedy with a third of its answers drawn
at random, or a given policy): a learner must know what to do where its own mistakes lead. Labels are always the
planner's. How many decisions there are is fixed by the profile before any reinforcement learning.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields
from pathlib import Path

import numpy as np
import numpy.typing as npt

from ev_grid_oracle.city.model import CityPack
from ev_grid_oracle.city.packed import packed
from ev_grid_oracle.episode.batch import Batch
from ev_grid_oracle.episode.options import resolve
from ev_grid_oracle.evaluation.seeds import episode_seeds
from ev_grid_oracle.interfaces.openenv.tasks import SPLITS, is_frozen, split_seeds
from ev_grid_oracle.policies.base import F64, I32, Policy, PolicyContext
from ev_grid_oracle.policies.llm import small_words as w
from ev_grid_oracle.policies.llm.small_look import AHEAD_TICKS, Eyes
from ev_grid_oracle.policies.registry import make_policy
from ev_grid_oracle.schema import rows as r
from ev_grid_oracle.schema.axes import DEFAULT_TICKS
from ev_grid_oracle.schema.enums import ActionKind
from ev_grid_oracle.sim.world import World
from ev_grid_oracle.training.small_city_ahead import CityAhead
from ev_grid_oracle.training.small_teacher import Teacher, routed

ENVIRONMENTS = 16
EVALUATION_SEEDS = (0, 1, 7)
RANDOM_SHARE = 0.33
I16 = npt.NDArray[np.int16]


def training_seeds(seed: int, count: int) -> list[int]:
    """World seeds of training evenings: the last two bits name the train split, frozen and evaluation seeds are skipped."""
    taken = {s for split in SPLITS for s in split_seeds(split)}
    for evaluation in EVALUATION_SEEDS:
        taken.update(episode_seeds(evaluation, 1000))
    found: list[int] = []
    for word in np.random.SeedSequence(seed, spawn_key=(6, 1)).generate_state(2 * count + 64):
        value = int(word) & ~3
        if value not in taken and not is_frozen(value):
            taken.add(value)
            found.append(value)
    return found[:count]


@dataclass
class Decisions:
    """Questions and labels, one row each; token rows are padded with 0 behind.

    Attributes:
        car_ids: (N, T) tokens; `car_lines` (N,) lines; `car_cost` (N, 9) car-minutes of lines 1 to 8 and a deferral
            (nan: not an answer); `car_why` (N,) REASON; `car_scenario` (N,) index in the city's scenarios.
        relief_ids, relief_lines, relief_cost: the same of feeders, (M, 8) cost of each cap against none.
        world_ids: (W, T); `world_truth` (W, 2 + 2 x 8): load and share above the clock's, then occupied and queued of
            each line's station five ticks later.
    """

    car_ids: I16
    car_lines: I16
    car_cost: npt.NDArray[np.float32]
    car_why: I16
    car_scenario: I16
    relief_ids: I16
    relief_lines: I16
    relief_cost: npt.NDArray[np.float32]
    world_ids: I16
    world_truth: npt.NDArray[np.float32]

    def save(self, path: Path) -> None:
        """Write to `path` (npz); a reader never sees half a file."""
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_name(f".{path.stem}.part.npz")
        np.savez_compressed(part, **{f.name: getattr(self, f.name) for f in fields(self)})
        part.replace(path)

    @classmethod
    def load(cls, path: Path) -> Decisions:
        """Read what `save` wrote."""
        with np.load(path, allow_pickle=False) as found:
            return cls(**{f.name: found[f.name] for f in fields(cls)})

    @classmethod
    def join(cls, parts: Sequence[Decisions]) -> Decisions:
        """All rows of `parts` in order."""
        return cls(**{f.name: np.concatenate([getattr(p, f.name) for p in parts]) for f in fields(cls)})


def _padded(rows: Sequence[npt.NDArray[np.int32]], length: int) -> I16:
    out = np.zeros((len(rows), length), np.int16)
    for k, row in enumerate(rows):
        out[k, : len(row)] = row
    return out


class Collector:
    """Plays blocks of evenings and writes down what the planner thinks of them.

    Args:
        keep: share of car decisions that is written down.
        others: names of the policies that play the off-policy half, or makers of them.
        futures: of the planner's costs.
        city_ticks: H > 0: lines cost what H ticks of the whole city cost (`small_city_ahead`), an ablation.
    """

    def __init__(
        self,
        city: CityPack,
        seed: int,
        keep: float = 0.5,
        futures: int = 64,
        ticks: int = DEFAULT_TICKS,
        others: Sequence[str] = ("greedy_counting", "random"),
        on_policy: float = 0.5,
        player: Callable[[], Policy] | None = None,
        world_every: int = 7,
        weight_of_others: float = 1.0,
        city_ticks: int = 0,
    ) -> None:
        self.city, self.seed, self.keep, self.futures, self.ticks = city, seed, keep, futures, ticks
        self.others, self.on_policy, self.player, self.world_every = (
            tuple(others),
            on_policy,
            player,
            world_every,
        )
        self.packed = packed(city)
        self.eyes = Eyes(self.packed)
        self.teacher = Teacher(futures, weight_of_others)
        self.ahead = CityAhead(city, city_ticks) if city_ticks > 0 else None

    def blocks(self, weights: Sequence[float] | None = None) -> Iterator[Decisions]:
        """Blocks of `ENVIRONMENTS` evenings without end; `weights` of the scenarios (uniform without)."""
        names = [s.name for s in self.city.scenarios]
        seeds = training_seeds(self.seed, 4096)
        rng = np.random.default_rng(np.random.SeedSequence(self.seed, spawn_key=(6, 2)))
        turn = 0
        while True:
            if weights is None:
                chosen = [(turn * ENVIRONMENTS + k) % len(names) for k in range(ENVIRONMENTS)]
            else:
                chosen = rng.choice(
                    len(names), ENVIRONMENTS, p=np.asarray(weights) / np.sum(weights)
                ).tolist()
            worlds = [seeds[(turn * ENVIRONMENTS + k) % len(seeds)] for k in range(ENVIRONMENTS)]
            yield self.block(worlds, chosen, rng)
            turn += 1

    def _players(self, count: int, rng: np.random.Generator) -> list[Policy | None]:
        """None: the planner itself; `random` mixes greedy's answers with drawn ones."""
        out: list[Policy | None] = []
        for _ in range(count):
            if rng.random() < self.on_policy:
                out.append(None)
            elif self.player is not None:
                out.append(self.player())
            else:
                out.append(make_policy(self.others[int(rng.integers(len(self.others)))]))
        return out

    def block(self, seeds: Sequence[int], scenarios: Sequence[int], rng: np.random.Generator) -> Decisions:
        """Play one block; seeds and scenario indices by environment."""
        n, names = len(seeds), [s.name for s in self.city.scenarios]
        batch = Batch(self.city, n, max_answers=self.packed.layout.dims["MP"])
        batch.reset(
            [
                resolve(self.city, seed=s, scenario=names[k], ticks=self.ticks).world
                for s, k in zip(seeds, scenarios, strict=True)
            ]
        )
        twin = Batch(self.city, n, max_answers=batch.max_answers)
        players = self._players(n, rng)
        for player in players:
            if player is not None:
                player.begin(PolicyContext(self.packed, int(rng.integers(2**31))))
        kept = _Kept()
        row = np.zeros(self.packed.layout.sizes["o"])
        plan = np.zeros_like(batch.answers[0])
        for tick in range(self.ticks):
            batch.answers[:] = 0
            look_ahead = tick % self.world_every == self.world_every - 1 and tick + AHEAD_TICKS < self.ticks
            asked = []
            for e in range(n):
                o = batch.world.observe(e, row)
                self.teacher.begin(PolicyContext(self.packed, int(rng.integers(2**31))))
                for found in self.teacher.reliefs(o, self.eyes):
                    kept.relief(found.question.ids, found.cost)
                count = self.teacher.answer(o, plan)
                self._cars(batch.world, e, o, plan, count, scenarios[e], rng, kept)
                player = players[e]
                if player is None:
                    batch.answers[e] = plan
                    batch.counts[e] = count
                else:
                    batch.counts[e] = player.answer(o, batch.answers[e])
                    if player.name == "random":
                        batch.counts[e] = self._mixed(
                            o, plan, count, batch.answers[e], int(batch.counts[e]), rng
                        )
                if look_ahead:
                    asked.append((*self.eyes.world(o), self.eyes.reference(o)))
            if look_ahead:
                self._truth(batch, twin, asked, kept)
            batch.step()
        return kept.decisions()

    def _cars(
        self, world: World, e: int, o: F64, plan: I32, count: int, scenario: int, rng: np.random.Generator, kept: _Kept
    ) -> None:  # fmt: skip
        place = {int(q): k for k, q in enumerate(self.eyes.pending(o)[:, r.P_SEQ])}
        for j in range(count):
            if plan[j, r.D_KIND] == ActionKind.LOAD_SHIFT or rng.random() >= self.keep:
                continue
            question = self.eyes.car(o, place[int(plan[j, r.D_SEQ])], routed(plan, j))
            if not len(question.stations):
                continue
            label = self.teacher.labels(o, plan, count, j, self.eyes, question.stations, question.may_defer)
            cost = label.cost
            if self.ahead is not None:
                cost = self.ahead.costs(world, e, plan, count, j, question)
            kept.car(question.ids, cost, label.defer, label.why, scenario)

    @staticmethod
    def _mixed(o: F64, plan: I32, count: int, out: I32, drawn: int, rng: np.random.Generator) -> int:
        """The planner's answers, a third of them replaced by those drawn for the same car."""
        by_car = {int(row[r.D_SEQ]): row.copy() for row in out[:drawn]}
        out[:count] = plan[:count]
        for j in range(count):
            other = by_car.get(int(plan[j, r.D_SEQ]))
            if (
                other is not None
                and plan[j, r.D_KIND] != ActionKind.LOAD_SHIFT
                and rng.random() < RANDOM_SHARE
            ):
                out[j] = other
        return count

    def _truth(
        self, batch: Batch, twin: Batch, asked: Sequence[tuple[I32, I32, tuple[float, float]]], kept: _Kept
    ) -> None:
        """Play the five ticks on a copy: the answers given, then greedy_counting."""
        for name in ("f", "i", "u"):
            getattr(twin.world, name)[:] = getattr(batch.world, name)
        twin.answers[:], twin.counts[:] = batch.answers, batch.counts
        twin.invalid[:] = 0
        twin.step()
        twin.play("greedy_counting", AHEAD_TICKS - 1)
        at = self.packed.layout.at
        for e, (ids, stations, (load, share)) in enumerate(asked):
            end = twin.world.observe(e)
            x = int(at[r.O_X])
            occupied = end[int(at[r.O_OCC]) : int(at[r.O_OCC]) + self.eyes.n_s][stations]
            queued = end[int(at[r.O_QUEUE]) : int(at[r.O_QUEUE]) + self.eyes.n_s][stations]
            truth = np.zeros(2 + 2 * w.MOST_LINES, np.float32)
            truth[:2] = end[x + r.OX_GRID] - load, end[x + r.OX_RENEW] - share
            truth[2 : 2 + len(stations)] = occupied
            truth[2 + w.MOST_LINES : 2 + w.MOST_LINES + len(stations)] = queued
            if len(stations) == w.MOST_LINES:
                kept.world(ids, truth)


class _Kept:
    """Rows of one block."""

    def __init__(self) -> None:
        self.cars: list[tuple[I32, F64, int, int]] = []
        self.reliefs: list[tuple[I32, F64]] = []
        self.worlds: list[tuple[I32, npt.NDArray[np.float32]]] = []

    def car(self, ids: I32, cost: F64, defer: float, why: int, scenario: int) -> None:
        padded = np.full(w.MOST_LINES + 1, np.nan)
        padded[: len(cost)] = cost
        if np.isfinite(defer):
            padded[-1] = defer
        self.cars.append((ids, padded, why, scenario))

    def relief(self, ids: I32, cost: F64) -> None:
        padded = np.full(w.MOST_LINES, np.nan)
        padded[: len(cost)] = cost
        self.reliefs.append((ids, padded))

    def world(self, ids: I32, truth: npt.NDArray[np.float32]) -> None:
        self.worlds.append((ids, truth))

    def decisions(self) -> Decisions:
        most = w.MOST_LINES

        def lines(costs: Sequence[F64]) -> I16:
            return np.array([np.isfinite(c[:most]).sum() for c in costs], np.int16)

        costs, caps = [c[1] for c in self.cars], [c[1] for c in self.reliefs]
        return Decisions(
            car_ids=_padded([c[0] for c in self.cars], w.CAR.length(most)),
            car_lines=lines(costs),
            car_cost=np.array(costs, np.float32).reshape(-1, most + 1),
            car_why=np.array([c[2] for c in self.cars], np.int16),
            car_scenario=np.array([c[3] for c in self.cars], np.int16),
            relief_ids=_padded([c[0] for c in self.reliefs], w.RELIEF_QUESTION.length(most)),
            relief_lines=lines(caps),
            relief_cost=np.array(caps, np.float32).reshape(-1, most),
            world_ids=_padded([c[0] for c in self.worlds], w.WORLD_QUESTION.length(most)),
            world_truth=np.array([c[1] for c in self.worlds], np.float32).reshape(-1, 2 + 2 * most),
        )


def collect(
    collector: Collector, decisions: int, progress: Callable[[int], None] = lambda done: None
) -> Decisions:
    """Blocks until there are `decisions` car decisions; exactly that many are returned."""
    parts: list[Decisions] = []
    done = 0
    for part in collector.blocks():
        parts.append(part)
        done += len(part.car_ids)
        progress(min(done, decisions))
        if done >= decisions:
            break
    found = Decisions.join(parts)
    for name in ("car_ids", "car_lines", "car_cost", "car_why", "car_scenario"):
        setattr(found, name, getattr(found, name)[:decisions])
    return found
