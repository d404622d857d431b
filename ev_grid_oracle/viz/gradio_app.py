"""The Gradio page: one `Blocks`, a world of its own for every visitor, no telemetry, nothing from another origin."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from typing import Any

from ev_grid_oracle.city.load import load_city
from ev_grid_oracle.schema.errors import EVGridError, MissingExtraError
from ev_grid_oracle.viz import gradio_map as m
from ev_grid_oracle.viz.gradio_state import LANES, TICKS, Visitor

WAITING = 32
"""Visitors' clicks that may wait; more are told that the page is busy."""
AT_ONCE = 4
"""Clicks worked on at a time."""
KEPT_S = 1800
"""Seconds that a visitor's world is kept without a click."""
VISITORS = 200
"""Worlds kept at most; the oldest gives way."""
Shown = tuple[Any, str, str, str, str]


def gradio() -> Any:
    """The library with its telemetry off; `MissingExtraError` with the line to install it."""
    os.environ["GRADIO_ANALYTICS_ENABLED"] = "False"
    os.environ["HF_HUB_DISABLE_TELEMETRY"] = "1"
    try:
        import gradio as found
    except ModuleNotFoundError as error:
        raise MissingExtraError(
            "The demo page needs gradio.", 'pip install "openenv-ev-grid-oracle[viz]"'
        ) from error
    return found


def build(city: str = "bengaluru", pause_s: float = 0.12) -> Any:
    """The page, its queue limited.

    Args:
        city: that is played.
        pause_s: between two ticks of a run, so that eyes can follow.
    """
    gr = gradio()
    pack = load_city(city)
    scenarios = [s.name for s in pack.scenarios]

    def show(visitor: Visitor, lane: str) -> Shown:
        run, shot = visitor.lanes[lane], visitor.now(lane)
        both = [visitor.now(name) for name in LANES]
        return (
            visitor, m.head_html(run, shot, visitor.seed), m.map_svg(run, shot), m.kpi_html(*both),
            m.feeders_html(run, shot),
        )  # fmt: skip

    def told(error: EVGridError) -> Exception:
        return gr.Error(str(error), print_exception=False)  # type: ignore[no-any-return]

    def new(scenario: str, seed: float, lane: str) -> Shown:
        try:
            return show(Visitor(city, scenario, seed), lane)
        except EVGridError as error:
            raise told(error) from error

    def step(visitor: Visitor | None, scenario: str, seed: float, lane: str) -> Shown:
        try:
            mine = visitor or Visitor(city, scenario, seed)
            mine.step()
            return show(mine, lane)
        except EVGridError as error:
            raise told(error) from error

    def run(visitor: Visitor | None, scenario: str, seed: float, lane: str) -> Iterator[Shown]:
        try:
            mine = visitor if visitor is not None and not visitor.done else Visitor(city, scenario, seed)
            for _ in range(TICKS):
                if mine.done:
                    break
                mine.step()
                yield show(mine, lane)
                time.sleep(pause_s)
        except EVGridError as error:
            raise told(error) from error

    def look(visitor: Visitor | None, scenario: str, seed: float, lane: str) -> Shown:
        try:
            return show(visitor or Visitor(city, scenario, seed), lane)
        except EVGridError as error:
            raise told(error) from error

    with gr.Blocks(analytics_enabled=False, title="EV Grid Oracle") as page:
        visitor = gr.State(None, time_to_live=KEPT_S)
        gr.Markdown(
            f"## EV Grid Oracle: {pack.name}, one evening, two dispatchers\n"
            "Both play the same cars, weather and jams. One evening is an example, not evidence."
        )
        with gr.Row():
            scenario = gr.Dropdown(scenarios, value=scenarios[0], label="Scenario", scale=2)
            seed = gr.Number(123, label="Seed", precision=0, minimum=0, maximum=2**32 - 1, scale=1)
            lane = gr.Radio(list(LANES), value=LANES[0], label="Shown on the map", scale=2)
        with gr.Row():
            fresh = gr.Button("New evening")
            one = gr.Button("Step")
            many = gr.Button(f"Run {TICKS} ticks", variant="primary")
            stop = gr.Button("Stop", variant="stop")
        head = gr.HTML(label="Now")
        with gr.Row():
            with gr.Column(scale=3):
                city_map = gr.HTML(label="Map")
            with gr.Column(scale=2):
                kpis = gr.HTML(label="KPIs")
                feeders = gr.HTML(label="Feeders")
        outputs = [visitor, head, city_map, kpis, feeders]
        inputs = [visitor, scenario, seed, lane]
        page.load(look, inputs, outputs, api_name="load", show_progress="hidden")
        fresh.click(new, [scenario, seed, lane], outputs, api_name="new", show_progress="hidden")
        scenario.input(new, [scenario, seed, lane], outputs, api_name=False, show_progress="hidden")
        one.click(step, inputs, outputs, api_name="step", show_progress="hidden")
        lane.input(look, inputs, outputs, api_name="show", show_progress="hidden")
        playing = many.click(run, inputs, outputs, api_name="run", show_progress="hidden")
        stop.click(None, None, None, cancels=[playing])
    page.queue(max_size=WAITING, default_concurrency_limit=AT_ONCE)
    return page


def launch(page: Any, host: str, port: int, *, block: bool) -> tuple[str, Any]:
    """Serve the page; returns its address and the server's app. Nothing is loaded from elsewhere."""
    gr = gradio()
    fonts = ["system-ui", "sans-serif"]
    theme = gr.themes.Base(font=fonts, font_mono=["ui-monospace", "monospace"])
    app, address, _ = page.launch(
        server_name=host, server_port=port or None, prevent_thread_lock=not block, quiet=not block, share=False,
        ssr_mode=False, theme=theme, css=m.STYLE, footer_links=["api"], enable_monitoring=False,
        state_session_capacity=VISITORS, show_error=True, inbrowser=False,
    )  # fmt: skip
    return str(address), app
