"""Text <-> actions: the grammar, the parser, the prompt and the worth of a forecast."""

from ev_grid_oracle.protocol.grammar import PROTOCOL_VERSION
from ev_grid_oracle.protocol.parse import parse_action
from ev_grid_oracle.protocol.prompt import build_prompt
from ev_grid_oracle.protocol.render import render_action, render_actions

__all__ = ["PROTOCOL_VERSION", "build_prompt", "parse_action", "render_action", "render_actions"]
