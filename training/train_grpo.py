# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # GRPO for a dispatcher: Qwen2.5-3B-Instruct, QLoRA, TRL
#
# The same code as `evgrid train --profile t4-qwen3b`; `training/train_grpo.ipynb` is made from
# `training/train_grpo.py` by `python tools/build_notebook.py`.
#
# **Run order on Colab**
#
# 1. Runtime > Change runtime type > T4 GPU.
# 2. Upload or clone the repository and open this notebook from its `training/` folder.
# 3. Run all cells, top to bottom. The first one installs, the second says what will run.
# 4. If the session ends early, run all cells again: the training goes on from its last checkpoint.
#
# **What is there afterwards** (in `ev_oracle_grpo_road/` at the root of the repository)
#
# | file | what it is |
# |---|---|
# | `logs/` | TensorBoard: loss, KL, entropy, `reward/<name>`, shares of answers, composite of validation evenings |
# | `checkpoint-*/` | to go on from |
# | `adapter/` | the LoRA adapter (safetensors), loaded again and asked the same questions after saving |
# | `merged/` | base and adapter as one 16-bit model, kept only if it decides as the two side by side |
# | `samples.jsonl` | answers as they were given, with their reward |
# | `report.json` | profile, history, checks, provenance |
# | `grpo_loss.png`, `grpo_reward.png`, `grpo_curves.csv` | the curves |
# | `eval.json` | paired evaluation of the adapter against `baseline` and `greedy_counting` |

# %%
# Install from the checkout where the package or its extras are missing; on a GPU bitsandbytes too, for QLoRA. Unsloth
# is used where it imports; install it first if its release goes with the TRL at hand.
# ruff: noqa: E402 (a notebook imports where it needs)
import os
import subprocess
import sys
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

HERE = Path.cwd()
ROOT = HERE if (HERE / "pyproject.toml").is_file() else HERE.parent
NEEDED = ("ev_grid_oracle", "torch", "trl", "peft", "llguidance", "tensorboard", "matplotlib")
PIP = [sys.executable, "-m", "pip", "install", "-q"]
if not all(find_spec(name) for name in NEEDED):
    subprocess.run([*PIP, "-e", f"{ROOT}[train]"], check=True)
    sys.path.insert(0, str(ROOT))

import torch

GPU = torch.cuda.is_available()
if GPU and find_spec("bitsandbytes") is None:
    subprocess.run([*PIP, "bitsandbytes"], check=True)
print(ROOT, "GPU" if GPU else "no GPU")

# %%
# Settings. Without a GPU, or with EVGRID_NOTEBOOK_PROFILE=tiny, every part runs with a random shrunk model.
DRY_RUN = os.environ.get("EVGRID_NOTEBOOK_PROFILE") == "tiny" or not GPU
OUT = Path(os.environ.get("EVGRID_NOTEBOOK_OUT", ROOT / "ev_oracle_grpo_road"))
CITY, EPISODES, TICKS = ("toy", 2, 4) if DRY_RUN else ("bengaluru", 8, 48)
SEED = 1
print("dry run" if DRY_RUN else "t4-qwen3b", "->", OUT)

# %% [markdown]
# ## What the model reads and what it may answer
#
# A row of the training set is a moment of a world; the members of a group get the same one. When the model plays,
# its answer is held to a grammar made of the stations, rates and deferrals that are legal at that moment; while it
# learns, it samples freely, so that the loss sees the probabilities of what was sampled.

# %%
from ev_grid_oracle.city import load_city
from ev_grid_oracle.policies.llm.grammar import answer_grammar, choices_of
from ev_grid_oracle.training import big
from ev_grid_oracle.training.big_profile import DRY_RUN as DRY_PROFILE
from ev_grid_oracle.training.big_profile import T4_QWEN3B

PROFILE = DRY_PROFILE if DRY_RUN else T4_QWEN3B
city = load_city(PROFILE.city)
few = big.rows_of(replace(PROFILE, rows=2), city, SEED)
print(few[1]["prompt"][0]["content"])
print(answer_grammar(choices_of(big.moments_of(city, few)[1])))

# %% [markdown]
# ## Train, save, check, merge

# %%
report = big.run(dry_run=DRY_RUN, out=OUT, seed=SEED, resume=True)
print("steps", report["steps"], "| stopped:", report["stopped"] or "no", "| checks:", report["checks"])

# %% [markdown]
# ## Curves

# %%
from ev_grid_oracle.training.big_curves import export_curves

pictures = export_curves(OUT / "logs", OUT)
if find_spec("IPython") is not None:
    from IPython.display import Image, display

    for path in pictures[:2]:
        display(Image(filename=str(path)))

# %% [markdown]
# ## Is it better?
#
# Paired: every policy plays the same evenings, which the training never saw. A few episodes only say whether the
# adapter plays; for a claim take `--episodes 64` and all scenarios.

# %%
from ev_grid_oracle.cli.main import call

policies = f"baseline,greedy_counting,llm:{OUT / 'adapter'}"
code = call(
    ["eval", "--policies", policies, "--city", CITY, "--episodes", str(EPISODES), "--ticks", str(TICKS), "--seed", "7",
     "--out", str(OUT / "eval.json")]
)  # fmt: skip
assert code == 0, f"evgrid eval ended with {code}"

# %% [markdown]
# ## All of it is there

# %%
for name in ("logs", "adapter", "merged", "samples.jsonl", "report.json", "grpo_loss.png", "grpo_reward.png",
             "grpo_curves.csv", "eval.json"):  # fmt: skip
    assert (OUT / name).exists(), name
print(f"Next: evgrid eval --policies baseline,greedy_counting,planner,llm:{OUT / 'adapter'} --scenarios all --episodes 64")
