#!/usr/bin/env bash
# Everything a judge would check, in one command; what it printed is kept in assets/validation_output.txt.
#
#   ./validate-submission.sh          lint, types, tests, openenv validate, notebook, README commands, image steps
#   ./validate-submission.sh --quick  without the whole test suite, the notebook and the image steps
#
# What cannot be done on a machine (no npm, no train extra) is a line that begins with SKIP and says why.
set -uo pipefail
cd "$(dirname "$0")"
mkdir -p assets
OUT=assets/validation_output.txt
QUICK="${1:-}"
export PYTHONDONTWRITEBYTECODE=1
make .venv/.dev >/dev/null || { echo "the virtual environment could not be made"; exit 1; }
BIN=.venv/bin
FAILED=0
SKIPPED=0
: > "$OUT.part"

say() { echo "$*" | tee -a "$OUT.part"; }
step() { # name, command...
  local name="$1"; shift
  local begun=$SECONDS log
  log="$(mktemp)"
  if "$@" >"$log" 2>&1; then
    say "PASS  $name ($((SECONDS - begun)) s): $(tail -n 1 "$log" | cut -c1-160)"
  else
    FAILED=$((FAILED + 1))
    say "FAIL  $name ($((SECONDS - begun)) s)"
    tail -n 25 "$log" | tee -a "$OUT.part"
  fi
  rm -f "$log"
}

skip() { SKIPPED=$((SKIPPED + 1)); say "SKIP  $1: $2"; }
image_steps() { # the test, then what it measured
  local said rc
  said="$(EVGRID_TEST_IMAGE=1 "$BIN/python" -m pytest -rP tests/ship/test_image_steps.py 2>&1)"; rc=$?
  echo "$said"
  grep "healthy after" <<<"$said"
  return $rc
}

say "EV Grid Oracle, commit $(git rev-parse --short HEAD 2>/dev/null || echo unknown)$(git diff --quiet 2>/dev/null || echo ' (modified)'), $(date -u +%Y-%m-%dT%H:%MZ)"
step "ruff" "$BIN/ruff" check .
step "mypy --strict" "$BIN/mypy"
step "import rules" "$BIN/lint-imports"
step "reference pages" "$BIN/python" tools/gen_docs.py --check
step "results table" "$BIN/python" tools/write_results.py --check
step "documents that hold figures" "$BIN/evgrid" plan document --all --check
step "lock file" "$BIN/python" tools/lock.py --check
step "openenv validate, static" "$BIN/openenv" validate . --level static
step "openenv validate, runtime" "$BIN/python" tools/validate_runtime.py
step "doctor" "$BIN/evgrid" doctor
step "README commands parse, links lead somewhere" "$BIN/python" -m pytest tests/docs
if [ "$QUICK" != "--quick" ]; then
  step "tests" "$BIN/python" -m pytest
  if "$BIN/python" -c "import trl, llguidance" 2>/dev/null; then
    step "notebook" "$BIN/python" -m pytest tests/training/test_notebook.py
  else
    skip "notebook" "needs the train extra: $BIN/python -m pip install -e '.[train]'"
  fi
  if command -v npm >/dev/null; then
    step "image steps" image_steps
  else
    skip "image steps" "npm is not installed"
  fi
fi
say "$([ $FAILED -eq 0 ] && echo "No step failed" || echo "$FAILED steps failed"), $SKIPPED skipped."
mv "$OUT.part" "$OUT"
exit $((FAILED > 0))
