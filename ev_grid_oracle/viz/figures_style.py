"""How every figure looks and is saved: size, fonts, colours, caption, and bytes that do not vary.

Figures are 8.3 inches wide at 200 dpi: at the 830 px of a README column an inch is 100 px, so a 9 point letter
is about 12 px high. Colours are those of Okabe and Ito (2008), told apart by people with any common colour
vision; every colour is doubled by a marker or a hatch.
"""

from __future__ import annotations

import json
import os
import tempfile
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import Any

from ev_grid_oracle.evaluation.writing import check_writable
from ev_grid_oracle.schema.errors import MissingExtraError

WIDTH_IN = 8.3
DPI = 200
SMALL_PT, TEXT_PT, TITLE_PT = 7.5, 8.5, 11.0
CAPTION_CHARS = 138
"""Letters of 7.5 points that fit into a line of the caption."""
TITLE_IN = 0.105
"""Inches that a letter of a title takes."""

BLACK, ORANGE, SKY, GREEN = "#000000", "#E69F00", "#56B4E9", "#009E73"
YELLOW, BLUE, RED, PURPLE = "#F0E442", "#0072B2", "#D55E00", "#CC79A7"
GREY, PALE = "#7F7F7F", "#D9D9D9"

WIN, TIE_COLOUR, LOSS = BLUE, PALE, RED

_FIXED = {
    "baseline": ORANGE,
    "greedy_counting": SKY,
    "planner": BLUE,
    "oracle": BLUE,
    "clairvoyant": GREEN,
    "random": PURPLE,
    "always_defer": RED,
}
_SPARE = (GREEN, RED, PURPLE, BLACK, YELLOW, GREY)
_MARKERS = ("o", "s", "D", "^", "v", "P", "X", "<", ">", "*")

_STYLE: dict[str, Any] = {
    "font.family": "DejaVu Sans",  # shipped with matplotlib: the same letters on every machine
    "font.size": TEXT_PT,
    "axes.titlesize": TEXT_PT + 0.5,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.labelsize": TEXT_PT,
    "xtick.labelsize": SMALL_PT,
    "ytick.labelsize": SMALL_PT,
    "legend.fontsize": SMALL_PT,
    "legend.frameon": False,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#E6E6E6",
    "grid.linewidth": 0.7,
    "lines.linewidth": 1.4,
    "lines.markersize": 4.5,
    "hatch.linewidth": 0.6,
    "axes.formatter.useoffset": False,
    "svg.hashsalt": "ev-grid-oracle",
    "path.simplify": True,
}


def matplotlib() -> Any:
    """The library; `MissingExtraError` with the line to install it where it is not there."""
    try:
        import matplotlib as found
    except ModuleNotFoundError as error:
        raise MissingExtraError(
            "Figures need matplotlib.", 'pip install "openenv-ev-grid-oracle[viz]"'
        ) from error
    return found


@contextmanager
def style() -> Iterator[None]:
    """Defaults of the library, then ours: a user's own settings do not reach the figures."""
    matplotlib()
    from matplotlib.style import context

    with context(["default", _STYLE]):
        yield


def colours(policies: Sequence[str]) -> dict[str, str]:
    """A colour per policy; known names keep theirs, so that figures of different runs agree."""
    out: dict[str, str] = {}
    spare = [c for c in _SPARE if c not in {_FIXED.get(p) for p in policies}]
    for policy in policies:
        wanted = _FIXED.get(policy)
        if wanted is None or wanted in out.values():
            free = [c for c in spare if c not in out.values()] or [GREY]
            wanted = free[0]
        out[policy] = wanted
    return out


def markers(policies: Sequence[str]) -> dict[str, str]:
    """A marker per policy, in their order."""
    return {p: _MARKERS[n % len(_MARKERS)] for n, p in enumerate(policies)}


def new_figure(height_in: float, title: str, caption: str, legend: Sequence[str] = ()) -> Any:
    """A figure with its title at the top left and its caption below the axes; no global state.

    `height_in` is that of the axes. `legend` are the names that `title_legend` will show: room is kept for them
    beside the title, or in rows below it where they do not fit.
    """
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    lines = [piece for line in caption.split("\n") for piece in textwrap.wrap(line, CAPTION_CHARS)]
    foot_in = 0.09 + 0.155 * len(lines)
    beside = len(title) * TITLE_IN + sum(map(_name_in, legend)) < WIDTH_IN - 0.3
    columns = len(legend) if beside else max(1, int((WIDTH_IN - 0.2) / max(map(_name_in, legend))))
    rows = 0 if beside else -(-len(legend) // columns)
    head_in = 0.33 + 0.18 * rows
    height_in += foot_in + head_in
    bottom = foot_in / height_in
    room = (0.0, bottom, 1.0, 1.0 - bottom - head_in / height_in)
    layout = ConstrainedLayoutEngine(rect=room, w_pad=0.06, h_pad=0.06)
    figure: Any = Figure(figsize=(WIDTH_IN, height_in), dpi=DPI, layout=layout)
    figure.text(
        0.008, 1.0 - 0.07 / height_in, title, ha="left", va="top", fontsize=TITLE_PT, fontweight="bold"
    )
    figure.text(
        0.008, 0.05 / height_in, "\n".join(lines), ha="left", va="bottom", fontsize=SMALL_PT, color="#444444",
        linespacing=1.25,
    )  # fmt: skip
    figure.legend_place = (columns, beside, 1.0 - (0.03 if beside else 0.27) / height_in)
    return figure


def _name_in(name: str) -> float:
    """Inches that an entry of a legend takes."""
    return 0.52 + 0.063 * len(name)


def title_legend(figure: Any, handles: Sequence[Any], names: Sequence[str]) -> None:
    """The legend in the room that `new_figure` kept for it; the axes do not move."""
    columns, beside, top = figure.legend_place
    assert columns, "new_figure was told of no legend"
    legend = figure.legend(
        handles, names, loc="upper right" if beside else "upper left", ncols=columns, borderaxespad=0.0,
        bbox_to_anchor=(0.995 if beside else 0.005, top), columnspacing=1.4, handletextpad=0.5,
    )  # fmt: skip
    legend.set_in_layout(False)


def _plain_numbers(figure: Any) -> None:
    """Numbers on axes with thousands set apart, never as 1e4 or with an offset."""
    from matplotlib.ticker import FuncFormatter, ScalarFormatter

    def told(value: float, place: int) -> str:
        return f"{value:,.8g}".replace("-", "\u2212")

    for ax in figure.axes:
        for axis in (ax.xaxis, ax.yaxis):
            if type(axis.get_major_formatter()) is ScalarFormatter:
                axis.set_major_formatter(FuncFormatter(told))


def png(figure: Any, provenance: Mapping[str, object] | None = None) -> bytes:
    """The figure as PNG: no date, no version, so that equal input gives equal bytes.

    `provenance` of the results goes into a text chunk of that name, so that a picture says which code made it.
    """
    _plain_numbers(figure)
    metadata: dict[str, str | None] = {"Software": None}
    if provenance is not None:
        metadata["provenance"] = json.dumps(provenance, sort_keys=True)
    out = BytesIO()
    figure.savefig(out, format="png", dpi=DPI, metadata=metadata, facecolor="white")
    return out.getvalue()


def write_png(path: Path, data: bytes) -> None:
    """Write beside `path`, then put it in place at once."""
    check_writable(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        Path(name).chmod(0o644)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
