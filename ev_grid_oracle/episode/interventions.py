"""What a host does to a running world beside the answers of the agent, as a trace keeps it.

A person spawns a car (`episode.spawn`), the grid operator of the two-agent game orders a price factor
(`episode.ma_price`). Either happens at the start of a tick and changes the world as no answer could, so a trace
records it with the digest of the world right after: `evgrid verify` does the same again and names the first one
that is not what it says.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import cast

SPAWN, PRICE = "spawn", "price"
KINDS = (SPAWN, PRICE)

H_INTERVENED = 9
"""Column of a frame's whole numbers that `capture` leaves free: interventions before the tick."""


@dataclass(frozen=True)
class Intervention:
    """One of them.

    Attributes:
        tick: it happened at the start of this tick.
        kind: one of `KINDS`.
        given: what it was asked with; JSON-safe.
        digest: 32 hex digits over the world right after it.
    """

    tick: int
    kind: str
    given: Mapping[str, object] = field(default_factory=dict)
    digest: str = ""

    def to_dict(self) -> dict[str, object]:
        """JSON-safe; `read` gives an equal value."""
        return {"tick": self.tick, "kind": self.kind, "given": dict(self.given), "digest": self.digest}

    @classmethod
    def read(cls, kept: object) -> Intervention:
        """The intervention that `to_dict` gave; ValueError for anything else."""
        values = cast("Mapping[str, object]", kept) if isinstance(kept, Mapping) else {}
        tick, kind, given, digest = (values.get(k) for k in ("tick", "kind", "given", "digest"))
        if isinstance(tick, bool) or not isinstance(tick, int) or kind not in KINDS:
            raise ValueError("tick or kind")
        if not isinstance(given, Mapping) or not isinstance(digest, str) or len(values) != 4:
            raise ValueError("given or digest")
        return cls(tick, str(kind), dict(given), digest)
