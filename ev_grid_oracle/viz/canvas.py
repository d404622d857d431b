"""Pygame without a window: surfaces, letters, colours, and PNG bytes that do not vary.

Surfaces need no display, so a film is drawn on a machine without one; `open_window` is the only place that asks
for a screen. Letters are DejaVu Sans as matplotlib ships it, the same on every machine.
"""

from __future__ import annotations

import os
import struct
import zlib
from functools import lru_cache
from pathlib import Path
from typing import Any

from ev_grid_oracle.schema.errors import MissingExtraError, OptionError

WIDTH, HEIGHT = 1280, 720
"""Pixels of the layout; other sizes are scaled from it."""

Colour = tuple[int, int, int]

GROUND: Colour = (13, 18, 30)
PANEL: Colour = (20, 27, 43)
LINE: Colour = (44, 55, 80)
INK: Colour = (233, 238, 248)
MUTED: Colour = (150, 163, 188)
WATER: Colour = (24, 52, 82)
ROADS: tuple[Colour, ...] = ((92, 106, 140), (80, 94, 126), (68, 81, 110), (54, 65, 91), (46, 56, 79))
"""By class of road, the largest first."""
SKY: Colour = (86, 196, 255)
AMBER: Colour = (255, 190, 60)
RED: Colour = (255, 92, 72)
WALKIN: Colour = (196, 170, 255)
BASELINE: Colour = (240, 165, 55)
ORACLE: Colour = (66, 170, 255)
SCALE: tuple[tuple[float, Colour], ...] = (
    (0.0, (46, 125, 170)), (0.5, (52, 176, 160)), (0.8, (232, 206, 88)), (0.95, (240, 140, 50)), (1.05, (235, 70, 60)),
)  # fmt: skip
"""Load of a station or feeder -> colour; the legend is drawn from it too."""


def pygame() -> Any:
    """The library, without its greeting; `MissingExtraError` with the line to install it."""
    os.environ.setdefault("PYGAME_HIDE_SUPPORT_PROMPT", "1")
    try:
        import pygame as found
    except ModuleNotFoundError as error:
        raise MissingExtraError(
            "The city map needs pygame-ce.", 'pip install "openenv-ev-grid-oracle[viz]"'
        ) from error
    return found


def load_colour(frac: float) -> Colour:
    """The colour of a load; between the marks of `SCALE` colours are mixed."""
    low_at, low = SCALE[0]
    for at, colour in SCALE:
        if frac <= at:
            share = 0.0 if at == low_at else max(frac - low_at, 0.0) / (at - low_at)
            return mixed(low, colour, share)
        low_at, low = at, colour
    return SCALE[-1][1]


def mixed(a: Colour, b: Colour, share: float) -> Colour:
    """`a` at 0, `b` at 1."""
    red, green, blue = (round(x + (y - x) * share) for x, y in zip(a, b, strict=True))
    return red, green, blue


@lru_cache(maxsize=32)
def font(size: int, bold: bool = False) -> Any:
    """DejaVu Sans of a size in pixels."""
    found = pygame().font
    if not found.get_init():
        found.init()
    return found.Font(str(_font_file(bold)), size)


def _font_file(bold: bool) -> Path:
    try:
        import matplotlib
    except ModuleNotFoundError as error:
        raise MissingExtraError(
            "The city map takes its letters from matplotlib.", 'pip install "openenv-ev-grid-oracle[viz]"'
        ) from error
    return Path(matplotlib.get_data_path()) / "fonts" / "ttf" / f"DejaVuSans{'-Bold' if bold else ''}.ttf"


@lru_cache(maxsize=4096)
def words(text: str, size: int, colour: Colour, bold: bool = False) -> Any:
    """A line of text as a surface."""
    return font(size, bold).render(text, True, colour)


def write(
    surface: Any, text: str, x: float, y: float, size: int, colour: Colour = INK, *, bold: bool = False,
    align: str = "left",
) -> int:  # fmt: skip
    """Write a line with its top at y, and x at its left, middle or right; returns its width in pixels."""
    line = words(text, size, colour, bold)
    width = int(line.get_width())
    surface.blit(line, (round(x - {"left": 0.0, "middle": 0.5, "right": 1.0}[align] * width), round(y)))
    return width


def fit(text: str, size: int, width: float, *, bold: bool = False) -> str:
    """`text`, cut with an ellipsis where it is wider than `width` pixels."""
    if font(size, bold).size(text)[0] <= width:
        return text
    while text and font(size, bold).size(f"{text}…")[0] > width:
        text = text[:-1]
    return f"{text.rstrip()}…"


def box(
    surface: Any, x: float, y: float, width: float, height: float, colour: Colour, radius: int = 6
) -> None:
    """A filled box with round corners."""
    pg = pygame()
    pg.draw.rect(
        surface, colour, pg.Rect(round(x), round(y), round(width), round(height)), border_radius=radius
    )


@lru_cache(maxsize=512)
def dot(radius: float, colour: Colour, ring: Colour | None, step_x: int, step_y: int) -> Any:
    """A smooth dot on a transparent surface; its middle is shifted by quarters of a pixel."""
    pg, k = pygame(), 8
    side = 2 * int(radius + 3)
    big = pg.Surface((side * k, side * k), pg.SRCALPHA)
    big.fill((*colour, 0))
    middle = (side * k // 2 + step_x * k // 4, side * k // 2 + step_y * k // 4)
    if ring is not None:
        pg.draw.circle(big, ring, middle, (radius + 1.2) * k)
    pg.draw.circle(big, colour, middle, radius * k)
    return pg.transform.smoothscale(big, (side, side))


def put_dot(
    surface: Any, x: float, y: float, radius: float, colour: Colour, ring: Colour | None = None
) -> None:
    """Draw a dot; it moves in quarters of a pixel, so that slow cars do not jump."""
    quarters_x, quarters_y = round(x * 4), round(y * 4)
    sprite = dot(radius, colour, ring, quarters_x % 4, quarters_y % 4)
    half = sprite.get_width() // 2
    surface.blit(sprite, (quarters_x // 4 - half, quarters_y // 4 - half))


def blank(colour: Colour = GROUND) -> Any:
    """A picture of the layout's size."""
    surface = pygame().Surface((WIDTH, HEIGHT), 0, 32)
    surface.fill(colour)
    return surface


def size_of(text: str) -> tuple[int, int]:
    """Width and height from ``1280x720``; even numbers, because films need them."""
    parts = text.lower().split("x")
    if len(parts) != 2 or not all(p.isascii() and p.isdigit() and len(p) <= 4 for p in parts):
        raise OptionError(f"The size {text[:20]!r} is none.", "Write it as 1280x720.")
    width, height = int(parts[0]), int(parts[1])
    if not (160 <= width <= 3840 and 90 <= height <= 2160) or width % 2 or height % 2:
        raise OptionError(
            f"The size {width}x{height} cannot be had.", "Choose even numbers from 160x90 to 3840x2160."
        )
    return width, height


def scaled(surface: Any, size: tuple[int, int]) -> Any:
    """The picture in another size; itself where it has that size."""
    return surface if surface.get_size() == size else pygame().transform.smoothscale(surface, size)


def rgb(surface: Any) -> bytes:
    """Pixels, row by row, three bytes each."""
    return bytes(pygame().image.tobytes(surface, "RGB"))


def png(pixels: bytes, width: int, height: int) -> bytes:
    """Pixels as PNG, written here because zlib lets other threads run and needs a third of the time.

    No row filters: large even areas pack best without. No date and no name of a tool: equal pixels, equal bytes.
    """
    step = 3 * width
    rows = b"".join(b"\0" + pixels[y * step : (y + 1) * step] for y in range(height))
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    parts = ((b"IHDR", head), (b"IDAT", zlib.compress(rows, 1)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
        for name, data in parts
    )
