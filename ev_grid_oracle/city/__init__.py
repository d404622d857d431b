"""A verified, immutable city: packs of tables, their checks and their arrays.

Names are loaded on first use, so that importing the package stays quick.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ev_grid_oracle.city.load import list_cities, load_city
    from ev_grid_oracle.city.model import CityPack
    from ev_grid_oracle.city.validate import validate_pack

__all__ = ["CityPack", "list_cities", "load_city", "validate_pack"]

_HOME = {"CityPack": "model", "list_cities": "load", "load_city": "load", "validate_pack": "validate"}


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
