"""``python -m viz.city_map``: the city in a window; SPACE plays a tick.

Without a screen set ``SDL_VIDEODRIVER=dummy`` and give ``--press``: the keys are pressed one after the other, then
the window closes, and ``--picture`` keeps what it showed last.
"""

from __future__ import annotations

from collections import deque
from pathlib import Path
from typing import Annotated, Any

import typer

from ev_grid_oracle.schema.errors import EVGridError, OptionError
from ev_grid_oracle.viz.frames_cli import call

EXAMPLE = "python -m viz.city_map --scenario heatwave_peak --seed 7"
NAMES = ("space", "p", "a", "s", "q", "escape")
FRAMES_A_SECOND = 30


class NoScreenError(EVGridError):
    """There is nothing to open a window on."""

    code = "E_OPTION"
    exit_code = 3


def city_map(
    seed: Annotated[int, typer.Option("--seed", help="Of the evening.")] = 123,
    scenario: Annotated[
        str, typer.Option("--scenario", help="The first scenario; S shows the next.")
    ] = "baseline",
    city: Annotated[str, typer.Option("--city", help="City.")] = "bengaluru",
    ticks: Annotated[int, typer.Option("--ticks", help="Ticks of five minutes, 1 to 288.")] = 48,
    press: Annotated[
        str, typer.Option("--press", help="Keys pressed for you, then the window closes: space,space,a,s,q.")
    ] = "",
    picture: Annotated[Path | None, typer.Option("--picture", help="Keep the last picture as PNG.")] = None,
) -> None:
    """The city in a window. SPACE plays a tick, P plays on, A toggles the policy, S the scenario, Q quits."""
    from ev_grid_oracle.evaluation.writing import check_writable
    from ev_grid_oracle.viz import canvas as c
    from ev_grid_oracle.viz.figures_style import write_png
    from ev_grid_oracle.viz.pygame_state import MapState

    keys = _keys(press)
    if not 1 <= ticks <= 288:
        raise OptionError(f"{ticks} ticks are out of range.", "Choose 1 to 288.")
    if picture is not None:
        check_writable(picture)
    c.pygame()
    state = MapState(city, seed, scenario, ticks)
    window = open_window()
    try:
        last = run_window(window, state, keys)
    finally:
        c.pygame().display.quit()
    if picture is not None:
        write_png(picture, c.png(c.rgb(last), c.WIDTH, c.HEIGHT))
        typer.echo(f"Picture: {picture}")
    lane = state.lanes[state.policy]
    typer.echo(f"{state.scenario}, {lane.badge}: {state.tick} of {ticks} ticks played.")


def _keys(press: str) -> deque[str] | None:
    names = [name.strip().lower() for name in press.split(",") if name.strip()]
    for name in names:
        if name not in NAMES:
            raise OptionError(f"There is no key {name[:20]!r}.", f"Keys: {', '.join(NAMES)}.")
    return deque(names) if names else None


def open_window() -> Any:
    """A window of the layout's size; `NoScreenError` where there is no screen."""
    from ev_grid_oracle.viz import canvas as c

    pg = c.pygame()
    try:
        pg.display.init()
        window = pg.display.set_mode((c.WIDTH, c.HEIGHT))
    except pg.error as error:
        raise NoScreenError(
            f"No window can be opened: {error}.", "Set SDL_VIDEODRIVER=dummy to do without."
        ) from error
    pg.display.set_caption("EV Grid Oracle")
    return window


def run_window(window: Any, state: Any, keys: deque[str] | None) -> Any:
    """Until the window is closed, Q is pressed, or `keys` have all been pressed; returns the last picture.

    Keys given are posted as the window's own events, one as soon as the cars of the tick before have arrived.
    """
    from ev_grid_oracle.viz import canvas as c

    pg = c.pygame()
    clock = pg.time.Clock()
    shown = state.picture()
    changed = True
    while not state.over:
        if keys is not None and not state.pass_time(60.0):  # no waiting for the cars to drive
            if not keys:
                break
            pg.event.post(pg.event.Event(pg.KEYDOWN, key=pg.key.key_code(keys.popleft())))
        for event in pg.event.get():
            if event.type == pg.QUIT:
                state.over = True
            elif event.type == pg.KEYDOWN:
                state.press(pg.key.name(event.key))
                changed = True
        seconds = clock.tick(0 if keys is not None else FRAMES_A_SECOND) / 1000.0
        if state.pass_time(seconds) or changed or keys is not None:
            shown = state.picture()
            window.blit(shown, (0, 0))
            pg.display.flip()
            changed = False
    return shown


def main() -> int:
    """The command; returns its exit code."""
    return call(city_map, "viz.city_map", EXAMPLE)
