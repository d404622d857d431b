"""`build_prompt`: an Observation as text, within a token budget.

Sections in the order of the text: time and city, cars with their candidate tables, stations,
announcements, feeders, answers already given, last tick, format contract and rules. When the budget is
short they shrink in this order, the least important first, each step on top of the ones before:

1. last tick;                        6. announcements;
2. feeders, 3 -> 1;                  7. candidates, 4 -> 2, then 1 a car;
3. stations without price and load   8. cars from the end, down to the first;
   (the candidates keep theirs);     9. no candidates.
4. candidates, 6 -> 4 a car;
5. no feeders;

Never pruned: time and city, the first car, a line for every station, format and rules. Where even these
are more than the budget, they are the prompt: a text cut at a token count would be a lie about the world
or about the format.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from ev_grid_oracle.protocol import prompt_sections as sec
from ev_grid_oracle.protocol.prompt_compact import compact_car
from ev_grid_oracle.protocol.tokens import estimate_tokens
from ev_grid_oracle.schema.action import Action
from ev_grid_oracle.schema.errors import OptionError
from ev_grid_oracle.schema.observation import Candidates, Observation

FULL_ROWS = 6  # for one car; several share the room
FULL_ROWS_SEVERAL = 4
COMPACT_ROWS = 4


@dataclass(frozen=True, slots=True)
class _Plan:
    """How much of each section is shown."""

    cars: int
    rows: int
    feeders: int = 3
    station_detail: bool = True
    announcements: bool = True
    feedback: bool = True


def build_prompt(
    obs: Observation,
    *,
    car: int | str | None = None,
    assumed: Sequence[Action] = (),
    style: Literal["full", "compact"] = "full",
    budget: int | None = None,
    count: Callable[[str], int] | None = None,
    rows: int | None = None,
    predict: bool = False,
) -> str:
    """Renders what may be known, and how to answer. The same arguments give the same text.

    Args:
        obs: the only source of facts.
        car: index in `obs.pending` or `ev_id`, for a prompt about that car alone; None: all.
        assumed: answers already given in this tick; the tables count them as inbound.
        style: "full" for language models, "compact" for small ones (see `prompt_compact`).
        budget: tokens at most; None: everything.
        count: tokens of a text; by default `estimate_tokens`, which is conservative.
        rows: candidates a car at most; by default 6, 4 if there are several cars or in the compact style.
        predict: ask for the ``<SIMULATE>`` block too.
    """
    indices = _indices(obs, car)
    given = tuple(assumed)
    tables: list[Candidates | None] = [
        obs.candidates(i, given) if obs.candidates_of is not None else None for i in indices
    ]
    size = count or estimate_tokens
    if style == "compact":
        return _fit(
            _compact_texts(obs, indices, tables, COMPACT_ROWS if rows is None else rows), budget, size
        )
    if style != "full":
        raise OptionError(f"style is {style!r}.", "It is full or compact.")
    asked = tuple(obs.pending[i].ev_id for i in indices)
    first = obs.pending[0].ev_id if obs.pending else None
    if rows is None:
        rows = FULL_ROWS if len(indices) <= 1 else FULL_ROWS_SEVERAL
    plans = _plans(len(indices), rows)
    texts = (_render(obs, indices, tables, given, p, sec.contract(asked, first, predict)) for p in plans)
    return _fit(texts, budget, size)


def _fit(texts: Iterator[str], budget: int | None, size: Callable[[str], int]) -> str:
    """The first text within the budget, else the last and smallest."""
    text = next(texts)
    while budget is not None and size(text) > budget:
        shorter = next(texts, None)
        if shorter is None:
            break
        text = shorter
    return text


def _plans(cars: int, rows: int) -> Iterator[_Plan]:
    plan = _Plan(cars=cars, rows=rows)
    yield plan
    steps: list[dict[str, int | bool]] = [{"feedback": False}]
    steps += [{"feeders": 1}, {"station_detail": False}]
    steps += [{"rows": r} for r in (4,) if r < rows]
    steps += [{"feeders": 0}, {"announcements": False}]
    steps += [{"rows": r} for r in (2, 1) if r < rows]
    steps += [{"cars": n} for n in range(cars - 1, 0, -1)]
    steps += [{"rows": 0}]
    for step in steps:
        plan = replace(plan, **step)  # type: ignore[arg-type]  # each step names one field of its own type
        yield plan


def _render(
    obs: Observation,
    indices: Sequence[int],
    tables: Sequence[Candidates | None],
    assumed: Sequence[Action],
    plan: _Plan,
    contract: str,
) -> str:
    if indices:
        cars = sec.cars(obs, indices, plan.cars, tables, plan.rows)
    else:
        cars = "CARS\nnone pending: answer with an empty text."
    sections = (
        sec.header(obs),
        cars,
        sec.stations(obs, plan.station_detail),
        sec.announcements(obs) if plan.announcements else "",
        sec.feeders(obs, plan.feeders) if plan.feeders else "",
        sec.assumed_line(assumed),
        sec.feedback(obs) if plan.feedback else "",
        contract,
    )
    return "\n\n".join(s for s in sections if s) + "\n"


def _compact_texts(
    obs: Observation, indices: Sequence[int], tables: Sequence[Candidates | None], rows: int
) -> Iterator[str]:
    """Fewer candidates first, then fewer cars."""
    for n_cars, n_rows in [(len(indices), r) for r in range(rows, 0, -1)] + [
        (n, 1) for n in range(len(indices) - 1, 0, -1)
    ]:
        pairs = zip(indices[:n_cars], tables, strict=False)
        yield "\n\n".join(compact_car(obs, obs.pending[i], t, n_rows) for i, t in pairs) + "\n"


def _indices(obs: Observation, car: int | str | None) -> tuple[int, ...]:
    n = len(obs.pending)
    if car is None:
        return tuple(range(n))
    if isinstance(car, str):
        for i, request in enumerate(obs.pending):
            if request.ev_id == car:
                return (i,)
        raise OptionError(f"No car {car!r} is pending.", "Use an id of obs.pending_ids.")
    if not 0 <= car < n:
        raise OptionError(f"car is {car}.", f"{n} cars are pending.")
    return (car,)
