"""`EVGrid-v0` as a native Gymnasium vector environment: one Batch, one compiled pass over all rows.

Row k equals a single `EVGridEnv` that was reset with row k's seed, autoresets included. The autoreset mode is
NEXT_STEP (the step after an end resets and ignores its action), SAME_STEP on request.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium.utils.seeding import np_random
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from ev_grid_oracle.city.load import load_city
from ev_grid_oracle.city.model import CityPack
from ev_grid_oracle.episode.batch import Batch
from ev_grid_oracle.episode.kpis import kpi_table
from ev_grid_oracle.episode.options import EpisodeOptions, resolve
from ev_grid_oracle.episode.told import Told, announcement
from ev_grid_oracle.interfaces.gymnasium_env import (
    action_space,
    checked_options,
    checked_seed,
    episode_options,
    observation_space,
)
from ev_grid_oracle.interfaces.masks import Looker
from ev_grid_oracle.interfaces.spaces import SLOTS
from ev_grid_oracle.reward.terms import TERM_NAMES
from ev_grid_oracle.schema import rows as r
from ev_grid_oracle.schema.errors import NoEpisodeError, OptionError

F32 = npt.NDArray[np.float32]
F64 = npt.NDArray[np.float64]
I64 = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]


class EVGridVectorEnv(VectorEnv[F32, I64, Any]):
    """`num_envs` environments of one city.

    Args:
        threads: threads that play and look; results do not depend on their number.
        autoreset_mode: NEXT_STEP or SAME_STEP.
        options: as for `EVGridEnv`.
    """

    def __init__(
        self,
        num_envs: int = 1,
        city: CityPack | str = "bengaluru",
        *,
        threads: int = 1,
        autoreset_mode: AutoresetMode = AutoresetMode.NEXT_STEP,
        render_mode: str | None = None,
        **options: object,
    ) -> None:
        if num_envs < 1 or threads < 1:
            raise OptionError(f"{num_envs} environments on {threads} threads.", "Give at least 1 of each.")
        if autoreset_mode not in (AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP):
            raise OptionError(f"autoreset_mode is {autoreset_mode}.", "It is NEXT_STEP or SAME_STEP.")
        if render_mode is not None:
            raise OptionError(f"render_mode is {render_mode!r}.", "A batch draws nothing; use EVGridEnv.")
        self.num_envs = num_envs
        self.metadata = {"autoreset_mode": autoreset_mode, "render_modes": []}
        self._same_step = autoreset_mode == AutoresetMode.SAME_STEP
        self._pack = load_city(city) if isinstance(city, str) else city
        self._defaults = checked_options(options)
        self._batch = Batch(self._pack, num_envs, threads, max_answers=SLOTS)
        self._lookers = [Looker(self._batch.world.city) for _ in range(threads)]
        self._pool = ThreadPoolExecutor(threads) if threads > 1 else None
        self.layout = self._lookers[0].layout
        self.single_observation_space = observation_space(self.layout)
        self.single_action_space = action_space(self.layout)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._rngs: list[np.random.Generator] = []
        self._told: list[Told] = [Told(())] * num_envs
        self._over: Bools = np.zeros(num_envs, np.bool_)
        self._seqs = np.zeros((num_envs, SLOTS), np.int32)
        self._shift = np.zeros(num_envs, np.int32)
        self._mask: npt.NDArray[np.int8] | None = None

    # -- life cycle -----------------------------------------------------------------------------------
    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[F32, dict[str, Any]]:
        """Start an episode in every row.

        Args:
            seed: a sequence gives each row its own; a number gives row k
                ``SeedSequence(seed, spawn_key=(k,)).generate_state(1)[0]``; None lets each row draw.
            options: options of this episode for every row.
        """
        given = checked_options(options or {})
        seeds = self._row_seeds(seed)
        fresh = [np_random(s)[0] for s in seeds]
        rngs = [
            new if s is not None or not self._rngs else old
            for s, new, old in zip(seeds, fresh, self._rngs or fresh, strict=True)
        ]
        if isinstance(seed, int):
            super().reset(seed=seed)
        resolved = [
            resolve(self._pack, **episode_options(self._defaults, given, s, rng))
            for s, rng in zip(seeds, rngs, strict=True)
        ]
        self._rngs = rngs
        self._start(range(self.num_envs), resolved)
        self._over[:] = False
        obs = self._look()
        return obs, self._facts(np.zeros(self.num_envs, np.bool_), start=True)

    def _row_seeds(self, seed: int | Sequence[int | None] | None) -> list[int | None]:
        if seed is None:
            return [None] * self.num_envs
        if isinstance(seed, Sequence | np.ndarray) and not isinstance(seed, str | bytes):
            if len(seed) != self.num_envs:
                raise OptionError(f"{len(seed)} seeds for {self.num_envs} rows.", "Give one for each row.")
            return [checked_seed(s) for s in seed]
        root = checked_seed(seed)
        return [
            int(np.random.SeedSequence(root, spawn_key=(k,)).generate_state(1)[0])
            for k in range(self.num_envs)
        ]

    def _start(self, envs: Sequence[int], options: Sequence[EpisodeOptions]) -> None:
        self._batch.reset([o.world for o in options], envs)
        for e, o in zip(envs, options, strict=True):
            self._told[e] = Told(o.scenario.events)

    def _restart(self, which: Bools) -> None:
        """New episodes, drawn by the rows themselves, where `which`."""
        envs = np.flatnonzero(which).tolist()
        self._start(
            envs,
            [resolve(self._pack, **episode_options(self._defaults, {}, None, self._rngs[e])) for e in envs],
        )

    def step(self, actions: I64) -> tuple[F32, F64, Bools, Bools, dict[str, Any]]:
        """One tick of every row: actions (num_envs, SLOTS).

        Returns:
            Observations (num_envs, size) float32, rewards (num_envs,) float64, terminations and truncations
            (num_envs,) bool, infos.
        """
        if self._mask is None:
            raise NoEpisodeError("No episode has been started.", "Call reset first.")
        choice = self.layout.checked(actions, (self.num_envs, SLOTS))
        batch, stale = self._batch, self._over
        rows, counts = self.layout.decisions(choice, self._seqs, self._shift)
        batch.answers[:] = rows
        batch.counts[:] = np.where(stale, 0, counts)
        rewards = batch.step().copy()  # a row that is over stays as it is, with reward 0
        if stale.any():
            self._restart(stale)
        state = batch.done
        over: Bools = state != 0
        infos: dict[str, Any] = {}
        if self._same_step and over.any():
            final, facts = self._look(), self._facts(over)
            self._restart(over)
            obs = self._look()
            held = np.full(self.num_envs, None, dtype=object)
            for e in np.flatnonzero(over):
                held[e] = final[e]
            infos = {
                "final_obs": held,
                "_final_obs": over.copy(),
                "final_info": facts,
                "_final_info": over.copy(),
            }
            infos |= self._facts(np.zeros_like(over), start=True)
            self._over = np.zeros_like(over)
        else:
            obs = self._look()
            infos = self._facts(over)
            self._over = over
        return obs, rewards, state == 1, state == 2, infos

    def close_extras(self, **kwargs: Any) -> None:
        """Let the threads go."""
        if self._pool is not None:
            self._pool.shutdown(wait=False)

    # -- looking --------------------------------------------------------------------------------------
    def action_masks(self) -> Bools:
        """(num_envs, SLOTS x choices) the choices that the verifier would accept now."""
        if self._mask is None:
            raise NoEpisodeError("No episode has been started.", "Call reset first.")
        return self._mask.reshape(self.num_envs, -1).astype(np.bool_)

    def _look(self) -> F32:
        world, n = self._batch.world, self.num_envs
        obs = np.zeros((n, self.layout.size), np.float32)
        mask = np.zeros((n, SLOTS, self.layout.choices), np.int8)
        bounds = np.linspace(0, n, len(self._lookers) + 1).astype(int).tolist()
        parts = list(zip(self._lookers, bounds[:-1], bounds[1:], strict=True))

        def part(looker: Looker, first: int, last: int) -> None:
            looker.many(world.f, world.i, first, last, obs, mask, self._seqs, self._shift)

        if self._pool is None:
            part(*parts[0])
        else:
            for job in [self._pool.submit(part, *p) for p in parts]:
                job.result()
        for e, told in enumerate(self._told):
            tick = world.scalar(e, r.Y_TICK)
            events = told.at(tick)
            if events:
                self._lookers[0].tell([announcement(self._pack, v, tick) for v in events], obs[e])
        self._mask = mask
        return obs

    def _facts(self, over: Bools, start: bool = False) -> dict[str, Any]:
        """Infos in Gymnasium's form: an array a key, and ``_key`` where it holds."""
        world, n = self._batch.world, self.num_envs
        everywhere = np.ones(n, np.bool_)
        mask = np.zeros(0, np.int8) if self._mask is None else self._mask.copy()
        infos: dict[str, Any] = {"action_mask": mask, "_action_mask": everywhere}
        if start:
            return infos
        terms = world.view("TERM").astype(np.float64) + 0.0
        infos["breakdown"] = {name: terms[:, k].copy() for k, name in enumerate(TERM_NAMES)}
        infos["_breakdown"] = everywhere.copy()
        infos["flag_counts"], infos["_flag_counts"] = world.view("FLAG").copy(), everywhere.copy()
        if over.any():
            table = kpi_table(world.view("EP").astype(np.float64), self._pack)
            infos["kpis"] = {name: np.where(over, values, np.nan) for name, values in table.items()}
            infos["_kpis"] = over.copy()
        return infos
