"""Rows of a training set for TRL, and the episodes they name.

A row names a moment of a world: seed, scenario and other options of `reset`, and the `tick` up to which
`greedy_counting` has played. All members of a GRPO group get the same row and so meet the same moment;
without that, a group's baseline means nothing. The prompt says nothing of seed or scenario.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from ev_grid_oracle.city.load import load_city
from ev_grid_oracle.city.model import CityPack
from ev_grid_oracle.city.packed import PackedCity, packed
from ev_grid_oracle.episode.observe import LiveObservation
from ev_grid_oracle.episode.options import DEFAULTS
from ev_grid_oracle.episode.session import Session
from ev_grid_oracle.interfaces.openenv.tasks import is_frozen
from ev_grid_oracle.protocol import build_prompt
from ev_grid_oracle.schema.axes import DEFAULT_TICKS
from ev_grid_oracle.schema.errors import MissingExtraError, OptionError
from ev_grid_oracle.sim.dispatch.greedy import decide
from ev_grid_oracle.sim.world import Scratch

if TYPE_CHECKING:
    import numpy.typing as npt

HORIZON = 4
"""Ticks that the tool environment gives an agent where the row does not say."""
TOOLS_PROMPT = (
    "You dispatch electric cars to charging stations. Answer every pending car with a tool call, then call "
    "advance to let five minutes pass. Go on until the episode is over."
)


class Greedy:
    """`greedy_counting` as decision rows of an observation row."""

    def __init__(self, city: PackedCity) -> None:
        self._city = city
        self._s = Scratch.of(city.layout)

    def rows(self, obs: LiveObservation) -> npt.NDArray[np.int32]:
        """(n, 8) its answers."""
        c, s = self._city, self._s
        n: int = decide(
            obs.row, c.cf, c.ci, c.layout.at, c.bank.minutes, c.bank.km, s.dec, s.codes, s.travel, s.extra,
            s.added, s.times, s.out,
        )  # fmt: skip
        return s.dec[:n].copy()


def begin(session: Session, greedy: Greedy, row: Mapping[str, Any], horizon: int | None) -> LiveObservation:
    """Start the episode of `row` and let `greedy_counting` play up to its tick.

    Args:
        row: options of `reset` and `tick`; other columns, and those that are None, are left alone.
        horizon: the episode ends this many ticks after `tick`; None: as the row's `ticks` says.

    Raises:
        OptionError: an option or the tick is out of range.
    """
    options = {k: v for k, v in row.items() if k in DEFAULTS and v is not None}
    tick = whole("tick", row.get("tick", 0), 0)
    if horizon is not None:
        options["ticks"] = tick + whole("horizon", horizon, 1)
    elif tick >= options.get("ticks", DEFAULT_TICKS):
        raise OptionError(f"tick is {tick}.", "It lies before the end of the episode.")
    obs = session.reset(**options)
    for _ in range(tick):
        obs = session.step(greedy.rows(obs))
    return obs


def whole(name: str, value: object, low: int) -> int:
    """`value` as a whole number from `low`; None counts as `low`."""
    if value is None:
        return low
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < low:
        raise OptionError(f"{name} is {str(value)[:40]}.", f"Give a whole number from {low}.")
    return int(value)


def build_rows(
    n: int,
    *,
    city: CityPack | str = "bengaluru",
    seed: int = 0,
    scenarios: Sequence[str] = ("baseline",),
    kind: Literal["text", "tools"] = "text",
    style: Literal["full", "compact"] = "full",
    budget: int | None = None,
    predict: bool = False,
    horizon: int = HORIZON,
    ticks: int = DEFAULT_TICKS,
) -> list[dict[str, Any]]:
    """`n` rows at moments where at least one car is pending; seeds of the frozen splits are left out.

    Args:
        seed: of the set; a row plays ``SeedSequence(seed, spawn_key=(j,)).generate_state(1)[0]``, j rising.
        kind: "text": the prompt is the whole question, for the reward functions; "tools": the prompt is an
            instruction and `EVGridToolEnv.reset` adds the state.
        style, budget, predict: of `build_prompt`; kind "text" only.
        horizon: ticks the agent plays, kind "tools" only.

    Returns:
        Rows with `prompt` (a conversation), `seed`, `scenario`, `tick`, `ticks`, and `horizon` for tools.
    """
    if n < 1 or not scenarios:
        raise OptionError(
            f"{n} rows of {len(scenarios)} scenarios.", "Ask for at least one row and scenario."
        )
    if kind not in ("text", "tools"):
        raise OptionError(f"kind is {kind!r}.", "It is text or tools.")
    pack = load_city(city) if isinstance(city, str) else city
    session, greedy = Session(pack, record=False), Greedy(packed(pack))
    rows: list[dict[str, Any]] = []
    for world_seed, draw in _seeds(seed):
        scenario = scenarios[len(rows) % len(scenarios)]
        tick = int(draw % max(ticks - 12, 1))  # an hour is left: an answer must have time to show its worth
        row: dict[str, Any] = {"seed": world_seed, "scenario": scenario, "tick": tick, "ticks": ticks}
        obs = begin(session, greedy, row, None)
        while not obs.pending_ids and not obs.done:
            obs = session.step(greedy.rows(obs))
            row["tick"] += 1
        if obs.done:
            continue
        if kind == "tools":
            row = {k: v for k, v in row.items() if k != "ticks"} | {"horizon": horizon}
            prompt = TOOLS_PROMPT
        else:
            prompt = build_prompt(obs, style=style, budget=budget, predict=predict)
        rows.append({"prompt": [{"role": "user", "content": prompt}], **row})
        if len(rows) == n:
            break
    return rows


def _seeds(seed: int) -> Iterator[tuple[int, int]]:
    """World seeds outside the frozen splits, each with a number to draw its tick from.

    The spawn key is not an evaluation's: `evgrid eval` with the same seed plays other worlds.
    """
    for index in range(2**31):
        world, draw = np.random.SeedSequence(seed, spawn_key=(5, index)).generate_state(2)
        if not is_frozen(int(world)):
            yield int(world), int(draw)


def as_dataset(rows: Sequence[Mapping[str, Any]]) -> Any:
    """The rows as a `datasets.Dataset`, as `GRPOTrainer` takes them."""
    try:
        from datasets import Dataset
    except ImportError as missing:
        raise MissingExtraError(
            "Data sets for TRL need the `train` extra.", "Run: pip install 'openenv-ev-grid-oracle[train]'"
        ) from missing
    return Dataset.from_list([dict(row) for row in rows])


def worth(total: float, greedy: float, cars: int, n0: float) -> float:
    """A total reward beside `greedy_counting`'s on the same worlds, in (-1, 1); 0: equally good.

    x / (1 + |x|), x being the car-hours saved for each of `cars` cars: half an hour lost a car is -1/3, an
    hour -1/2. It never saturates, so that even bad answers can be told apart.
    """
    x = (total - greedy) * n0 / (60.0 * max(cars, 1))
    return x / (1.0 + abs(x))
