"""Errors of the library: subclasses of `EVGridError` with a stable `code`, one sentence and its cure.

Bad input of a person or a program raises one of these. A bad answer of an agent never raises: it is
data (see `ev_grid_oracle.schema.codes`).
"""

from __future__ import annotations


class EVGridError(Exception):
    """Base of every error the library raises on purpose.

    Attributes:
        code: stable identifier, for instance ``E_CITY``.
        exit_code: what the command line exits with (2 usage, 3 bad input, 4 missing extra).
    """

    code = "E_INTERNAL"
    exit_code = 3

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(f"{message} {hint}".strip())
        self.message = message
        self.hint = hint


class UnknownCityError(EVGridError):
    code = "E_CITY"
    exit_code = 2


class UnknownScenarioError(EVGridError):
    code = "E_SCENARIO"
    exit_code = 2


class UnknownPolicyError(EVGridError):
    code = "E_POLICY"
    exit_code = 2


class OptionError(EVGridError):
    """An option of `reset` or of a command is out of its range."""

    code = "E_OPTION"
    exit_code = 2


class PackError(EVGridError):
    """A city pack does not hold; carries every fault found."""

    code = "E_PACK"


class SnapshotError(EVGridError):
    code = "E_SNAPSHOT"


class TraceError(EVGridError):
    code = "E_TRACE"


class NoEpisodeError(EVGridError):
    code = "E_NO_EPISODE"


class EpisodeOverError(EVGridError):
    code = "E_EPISODE_OVER"


class MissingExtraError(EVGridError):
    code = "E_EXTRA"
    exit_code = 4


class CapacityError(EVGridError):
    """An environment cannot hold what was asked for (too many answers, cars or events)."""

    code = "E_CAPACITY"
