"""The page of environment variables. A test reads the sources and holds this table to what they read."""

from __future__ import annotations

from typing import NamedTuple

from docs_tables import NOTE, table


class Variable(NamedTuple):
    """One row: name, value where it is not set, what it does."""

    name: str
    unset: str
    meaning: str


GROUPS: dict[str, tuple[Variable, ...]] = {
    "Library and command line": (
        Variable(
            "EVGRID_CACHE_DIR",
            "`~/.cache/ev-grid-oracle`",
            "Where compiled kernels are kept. Several processes may share the folder.",
        ),
        Variable("NUMBA_CACHE_DIR", "", "Taken for the same where `EVGRID_CACHE_DIR` is not set."),
        Variable("XDG_CACHE_HOME", "`~/.cache`", "Parent of the cache folder where neither is set."),
        Variable("EVGRID_DEBUG", "", "Any value: an unforeseen error shows its traceback."),
    ),
    "Server": (
        Variable(
            "PORT", "8000", "Port of the `server` script and of the Gradio demo; `evgrid serve` has `--port`."
        ),
        Variable("SPACE_ID", "", "Set by a Space: the Gradio demo listens on all addresses, as with `PORT`."),
        Variable("EVGRID_CITY", "bengaluru", "Name or folder of the city that is served."),
        Variable("EVGRID_UI_DIR", "the build in the package", "Folder of the built command center."),
        Variable("MAX_CONCURRENT_ENVS", "64", "`/ws` sockets at once, 1 to 4096."),
        Variable("MAX_HTTP_SESSIONS", "512", "HTTP sessions kept, 1 to 65536; the least recently used goes."),
        Variable("MAX_DEMO_SESSIONS", "64", "Demo sessions kept, 1 to 4096."),
        Variable("SESSION_IDLE_TIMEOUT_S", "3600", "Seconds an unused HTTP or demo session is kept."),
        Variable(
            "OPENENV_MODE",
            "",
            "`production`: OpenEnv's own HTTP routes, without an episode that is kept between requests.",
        ),
    ),
    "Policies that run a model": (
        Variable(
            "ORACLE_LORA_REPO",
            "",
            "Model or adapter behind the policy `oracle`: a folder or a Hub id. Not set: the model in the "
            "package, else the planner.",
        ),
        Variable(
            "ORACLE_SKIP_LLM",
            "",
            "`1`: `oracle` is the baseline with source `skipped`, so that each paired difference is zero.",
        ),
        Variable(
            "ORACLE_ALLOWED_MODELS",
            "",
            "Patterns, with commas, of models that a visitor of the server may name. Not set: none.",
        ),
        Variable("ORACLE_THREADS", "1", "Threads of the small model."),
        Variable(
            "DEMO_ORACLE_INFERENCE_TIMEOUT_SEC",
            "120",
            "Seconds a model may think over a tick; then the baseline answers and the tick says `timeout`.",
        ),
        Variable(
            "EVGRID_OPENAI_GRAMMAR",
            "",
            "`llama.cpp` or `vllm`: how a grammar is sent to an OpenAI-compatible server.",
        ),
        Variable("OPENAI_API_KEY", "", "Key sent to an OpenAI-compatible server."),
        Variable("HF_HUB_OFFLINE", "", "`1`: models come from the local cache only."),
    ),
    "Ray": (Variable("RAY_ADDRESS", "", "Cluster of `evgrid eval --backend ray`; not set: one is started."),),
    "Checkout": (
        Variable("HF_SPACE_REPO_ID", "", "`owner/name` of the Space for `tools/sync_space_to_hub.py`."),
        Variable(
            "EVGRID_REFERENCE_DATA",
            "",
            "Folder of the reference data for `benchmarks/validation.py` and the tests that compare with it.",
        ),
        Variable("EVGRID_NOTEBOOK_PROFILE", "", "`tiny`: the training notebook runs its dry run."),
        Variable("EVGRID_NOTEBOOK_OUT", "`ev_oracle_grpo_road`", "Output folder of the training notebook."),
    ),
}

VARIABLES = tuple(v for group in GROUPS.values() for v in group)


def environment_page() -> str:
    """Every variable that the code reads."""
    text = "# Environment variables\n\n" + NOTE
    text += (
        "A value that cannot be read stops the program with `E_OPTION`. A flag of a command goes before its\n"
    )
    text += "variable. Variables that change results are written into the report or the trace, as the policy that acted.\n\n"
    for title, rows in GROUPS.items():
        text += f"## {title}\n\n"
        text += table(("variable", "not set", "meaning"), ((f"`{v.name}`", v.unset, v.meaning) for v in rows))
    return text
