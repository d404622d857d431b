#!/usr/bin/env bash
# Everything a judge would check, in one command; what it printed is kept in assets/validation_output.txt.
#
#   ./validate-submission.sh          lint, types, tests, openenv validate, notebook, README commands, image steps
#   ./validate-submission.sh --quick  without the whole test suite and the image steps
set -uo pipefail
cd "$(dirname "$0")"
mkdir -p assets
OUT=assets/validation_output.txt
QUICK="${1:-}"
export PYTHONDONTWRITEBYTECODE=1
make .venv/.dev >/dev/null || { echo "the virtual environment could not be made"; exit 1; }
BIN=.venv/bin
FAILED=0
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

say "EV Grid Oracle, commit $(git rev-parse --short HEAD 2>/dev/null || echo unknown)$(git diff --quiet 2>/dev/null || echo ' (modified)'), $(date -u +%Y-%m-%dT%H:%MZ)"
step "ruff" "$BIN/ruff" check .
step "mypy --strict" "$BIN/mypy"
step "import rules" "$BIN/lint-imports"
step "reference pages" "$BIN/python" tools/gen_docs.py --check
step "results table" "$BIN/python" tools/write_results.py --check
step "lock file" "$BIN/python" tools/lock.py --check
step "openenv validate, static" "$BIN/openenv" validate . --level static
step "openenv validate, runtime" "$BIN/python" tools/validate_runtime.py
step "doctor" "$BIN/evgrid" doctor
step "README commands parse, links lead somewhere" "$BIN/python" -m pytest tests/docs
if [ "$QUICK" != "--quick" ]; then
  step "tests" "$BIN/python" -m pytest
  step "image steps" bash -c 'folder="$(mktemp -d)"; trap "rm -rf $folder" EXIT; '"$BIN"'/python tools/image_steps.py "$folder/image" --probe'
fi
say "$([ $FAILED -eq 0 ] && echo 'All steps passed.' || echo "$FAILED steps failed.")"
mv "$OUT.part" "$OUT"
exit $((FAILED > 0))
