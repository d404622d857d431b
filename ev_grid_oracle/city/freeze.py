"""Arrays of a pack are read-only: nobody can change a city that others share."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, TypeVar

import numpy as np

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

T = TypeVar("T", bound="DataclassInstance")


def frozen(part: T) -> T:
    """`part` itself, every array of it made read-only."""
    for f in fields(part):
        v = getattr(part, f.name)
        if isinstance(v, np.ndarray):
            v.setflags(write=False)
    return part
