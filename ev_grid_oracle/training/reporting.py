"""Where a training's curves go: the run's own TensorBoard log, and on request W&B or Trackio beside it."""

from __future__ import annotations

import os
from importlib.util import find_spec

from ev_grid_oracle.schema.errors import MissingExtraError, OptionError

REPORTERS = ("tensorboard", "wandb", "trackio", "none")
PROJECT = "ev-grid-oracle"
"""Name of the project there; `WANDB_PROJECT` wins for W&B."""


def reporters(asked: str) -> list[str]:
    """Integrations for `report_to` of TRL's config.

    W&B and Trackio come beside the TensorBoard log, from which the figures of a run are drawn. ``none`` keeps no log.

    Raises:
        OptionError: no such reporter.
        MissingExtraError: its package is not installed.
    """
    if asked not in REPORTERS:
        raise OptionError(f"There is no reporter {asked[:40]!r}.", f"Choose one of {', '.join(REPORTERS)}.")
    if asked == "none":
        return []
    if find_spec(asked) is None:
        raise MissingExtraError(
            f"Reporting to {asked} needs its package.", f"Run: pip install {asked}, or leave --report-to out."
        )
    if asked == "wandb":
        os.environ.setdefault("WANDB_PROJECT", PROJECT)
    return ["tensorboard"] if asked == "tensorboard" else ["tensorboard", asked]
