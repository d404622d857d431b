"""Pages made of the code's own tables: world, terms, errors, command line."""

from __future__ import annotations

import inspect
from collections.abc import Iterable

from docs_tables import NOTE, table


def world_page() -> str:
    """Every field of every row."""
    from ev_grid_oracle.schema import rows as r

    names = {
        "f": "Environment, float64 row",
        "i": "Environment, int32 row",
        "cf": "City, float64 row",
        "ci": "City, int32 row",
        "o": "Observation, float64 row",
    }
    text = "# World: rows and fields\n\n" + NOTE
    text += inspect.cleandoc(r.__doc__ or "") + "\n\n"
    text += "Axis letters are those of `ev_grid_oracle/schema/axes.py`; a field is stored in C order.\n\n"
    for row, title in names.items():
        text += f"## {title}\n\n"
        fields = [f for f in r.FIELDS if f.row == row]
        text += table(
            ("field", "shape", "unit", "meaning"),
            ((f"`{f.name}`", " x ".join(map(str, f.shape)), f.unit, f.meaning) for f in fields),
        )
    text += "## Columns of a car\n\n"
    text += table(("column", "name"), ((n, f"`{name}`") for n, name in enumerate(r.CAR_COLUMNS)))
    text += "## Streams of random draws\n\n"
    text += table(("stream", "name"), ((n, name) for n, name in enumerate(r.STREAM_NAMES)))
    text += "## Constants of greedy_counting\n\n"
    return text + table(
        ("constant", "value"),
        ((f"`{name}`", value) for name, value in zip(r.GREEDY_NAMES, r.GREEDY_TUNED, strict=True)),
    )


def terms_page() -> str:
    """Reward terms, flags and KPIs."""
    from ev_grid_oracle.episode.kpis import KPIS
    from ev_grid_oracle.reward.terms import FLAGS, TERMS

    text = "# Reward terms, flags and KPIs\n\n" + NOTE
    text += (
        "The reward of a tick is the plain sum of its terms. N0 is the city's mean car-minutes a tick under\n"
    )
    text += "the baseline on its reference evening, so that a tick under the baseline costs about 1.\n\n"
    text += "## Terms\n\n"
    text += table(
        ("term", "unit", "sign", "role", "what it is"),
        ((f"`{t.name}`", t.unit, t.sign, t.role, t.sentence) for t in TERMS),
    )
    text += "## Flags\n\n"
    text += "A charged flag costs 10 car-minutes in `anti_hack`, at most once per car and tick.\n\n"
    text += table(
        ("flag", "threshold", "unit", "charged", "when"),
        (
            (f"`{f.name}`", f"{f.threshold:g}", f.unit, "yes" if f.charged else "no", f.sentence)
            for f in FLAGS
        ),
    )
    text += "## KPIs\n\nTaken after the settle; a value that does not exist is null.\n\n"
    return text + table(
        ("KPI", "unit", "better", "what it is"), ((f"`{k.name}`", k.unit, k.better, k.sentence) for k in KPIS)
    )


def errors_page() -> str:
    """Codes and exception classes."""
    from ev_grid_oracle.schema import errors
    from ev_grid_oracle.schema.codes import CODES

    text = "# Error codes\n\n" + NOTE
    text += "The stage says who judges: `parser` refuses the whole text, `verifier` one car's answer, `road` a move of\n"
    text += "the road task, which ends the trip; `session` and `library` raise.\n\n"
    text += table(
        ("code", "stage", "what is wrong", "what to do", "example"),
        ((f"`{c.code}`", c.stage, c.sentence, c.cure, c.example) for c in CODES.values()),
    )
    text += "## Exceptions\n\n"
    text += "All are subclasses of `EVGridError`; the exit code is what `evgrid` ends with.\n\n"
    classes = [
        c
        for _name, c in inspect.getmembers(errors, inspect.isclass)
        if issubclass(c, errors.EVGridError) and c.__module__ == errors.__name__
    ]
    return text + table(
        ("exception", "code", "exit code"), ((f"`{c.__name__}`", f"`{c.code}`", c.exit_code) for c in classes)
    )


def cli_page() -> str:
    """Every command with its arguments and options."""
    import typer.main

    from ev_grid_oracle.cli.main import app

    text = "# Command line\n\n" + NOTE
    text += "Exit codes: 0 ok, 1 a finding, 2 usage, 3 bad input, 4 a missing extra, 130 stopped from the\n"
    text += "keyboard. Progress goes to standard error; `--json` prints one document on standard output.\n"
    text += "`NO_COLOR` is respected. `evgrid --install-completion` sets up the shell.\n\n"
    root = typer.main.get_command(app)
    return text + "".join(_command("evgrid", root))


def _command(path: str, command: object) -> Iterable[str]:
    children = getattr(command, "commands", None)
    if children is not None:
        for name in sorted(children):
            yield from _command(f"{path} {name}", children[name])
        if not getattr(command, "invoke_without_command", False) or path == "evgrid":
            return
    yield f"## `{path}`\n\n"
    help_text = inspect.cleandoc(getattr(command, "help", None) or "")
    epilog = getattr(command, "epilog", None)
    yield help_text + "\n\n" + (f"{epilog}\n\n" if epilog else "")
    rows = []
    for p in command.params:  # type: ignore[attr-defined]
        if p.name == "help":
            continue
        is_argument = p.param_type_name == "argument"
        names = p.name.upper() if is_argument else ", ".join(p.opts + p.secondary_opts)
        default = "" if p.default is None or p.required else str(p.default)
        rows.append((f"`{names}`", "required" if p.required else default, p.help or ""))
    if rows:
        yield table(("option", "default", "meaning"), rows)
