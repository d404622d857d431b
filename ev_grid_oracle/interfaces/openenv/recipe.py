"""An episode as its recipe: city, options, and what was sent, tick by tick.

A recipe is all that is needed to have the episode again (`Recipe.play`), byte for byte, on any machine; with
a snapshot beside it a server can also go on without playing. Both are plain values, so that keeping them
on disk or in a data base is a matter of writing them there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from ev_grid_oracle.city.load import load_city
from ev_grid_oracle.city.model import CityPack
from ev_grid_oracle.episode.session import Session
from ev_grid_oracle.protocol import parse_action
from ev_grid_oracle.schema.action import Action
from ev_grid_oracle.schema.enums import ActionKind, Rate
from ev_grid_oracle.schema.errors import SnapshotError
from ev_grid_oracle.schema.observation import Observation
from ev_grid_oracle.version import __version__

Sent = Mapping[str, object] | None
"""One step: ``{"text": ..}``, ``{"actions": [..]}``, ``{"spawn": {..}}`` (no tick passes) or None."""

KEPT_TEXT = 4096
"""Longer texts are kept as what they were read as: the same world, without what stood around the answers."""

REFUSED: Mapping[str, object] = {"actions": [{}]}
"""Stands for a long text that was refused: all refusals are alike to the world."""


@dataclass
class Recipe:
    """What was asked for and what was sent.

    Attributes:
        options: of `reset`, complete and JSON-safe.
        steps: in order.
    """

    city_id: str
    city_sha256: str
    options: dict[str, object]
    steps: list[Sent] = field(default_factory=list)

    def add(self, sent: Sent, before: Observation) -> None:
        """Note a step that is about to be played on `before`."""
        text = None if sent is None else sent.get("text")
        self.steps.append(
            sent if not isinstance(text, str) or len(text) <= KEPT_TEXT else _short(text, before)
        )

    def to_dict(self) -> dict[str, object]:
        """JSON-safe."""
        return {
            "version": __version__,
            "city": {"id": self.city_id, "sha256": self.city_sha256},
            "options": dict(self.options),
            "steps": [None if s is None else dict(s) for s in self.steps],
        }

    @classmethod
    def from_dict(cls, kept: Mapping[str, object]) -> Recipe:
        """The recipe that `to_dict` gave; `SnapshotError` for anything else."""
        try:
            city = kept["city"]
            steps = kept["steps"]
            options = kept["options"]
            if not (isinstance(city, Mapping) and isinstance(steps, list) and isinstance(options, Mapping)):
                raise TypeError("city, options or steps")
            return cls(str(city["id"]), str(city["sha256"]), dict(options), list(steps))
        except (KeyError, TypeError) as exc:
            raise SnapshotError("This is no recipe of an episode.", "Use what to_dict() returned.") from exc

    def play(
        self,
        city: CityPack | None = None,
        spawn: Callable[[Session, Mapping[str, object]], object] | None = None,
    ) -> Session:
        """The episode again, up to the last step.

        Args:
            city: needed only where it is none that comes with the package.
            spawn: plays ``{"spawn": ..}`` steps; by default `episode.spawn.spawn`.
        """
        pack = city or load_city(self.city_id)
        if pack.sha256 != self.city_sha256:
            raise SnapshotError(
                f"The recipe is of city {self.city_id!r} in another version.", "Use the city it was made in."
            )
        session = Session(pack)
        session.reset(**self.options)  # type: ignore[arg-type]  # resolve() checks every one
        for sent in self.steps:
            car = None if sent is None else sent.get("spawn")
            if isinstance(car, Mapping):
                (spawn or _spawn)(session, car)
            else:
                session.step(sent)
        return session


def _spawn(session: Session, car: Mapping[str, object]) -> object:
    from ev_grid_oracle.episode.spawn import spawn

    return spawn(session, **dict(car))


def _short(text: str, before: Observation) -> Sent:
    read = parse_action(text, before)
    return {"actions": [_structured(a) for a in read.actions]} if read.ok else REFUSED


def _structured(a: Action) -> dict[str, object]:
    """An action as the structured form; `session.step` reads it back to an equal one."""
    return {
        "ev_id": a.ev_id,
        "action_type": ActionKind(a.kind).name.lower(),
        "station_id": a.station_id,
        "charge_rate": Rate(a.rate).name.lower(),
        "defer_minutes": a.defer_minutes,
        "confidence": a.confidence,
        "reason": a.reason,
    }
