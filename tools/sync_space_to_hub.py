"""Upload this tree to a Docker Space on the Hugging Face Hub.

    HF_SPACE_REPO_ID=owner/name python tools/sync_space_to_hub.py [--dry-run] [--skip-build]

Builds the command center, lists what the Space needs (artifacts, node_modules, runs, .git and everything that git
ignores stay here), refuses files that look like secrets, then makes one commit through the Hub's API.
`--dry-run` prints the exact list and the total, and sends nothing.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
if str(ROOT) not in sys.path:  # the script runs where the package is not installed, too
    sys.path.insert(0, str(ROOT))

from ev_grid_oracle.training import secret_search  # noqa: E402  # found through the line above

LEFT_OUT = ("artifacts/", "runs/", ".git/", ".ci/", "tests/", "benchmarks/", "web/node_modules/", "docs/lab/")
MADE = re.compile(r"[^/]+\.evt|results\.json")
"""What the commands of README and tutorials leave at the top of a checkout."""
BUILT = "ev_grid_oracle/server/static/ui"
REPO_ID = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*")


class Refused(Exception):
    """Why nothing is sent, in one sentence."""


def _goes(name: str) -> bool:
    """A file that the Space needs."""
    return not name.startswith(LEFT_OUT) and not MADE.fullmatch(name) and (ROOT / name).is_file()


def listing() -> list[Path]:
    """Files of the upload, relative and sorted: tracked or new, not ignored, plus the built command center."""
    done = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"], cwd=ROOT, capture_output=True
    )
    if done.returncode:
        raise Refused("This folder is not a git checkout: run the script from one.")
    names = {n for n in done.stdout.decode().split("\0") if n}
    names |= {str(p.relative_to(ROOT)) for p in (ROOT / BUILT).rglob("*") if p.is_file()}
    return sorted(Path(n) for n in names if _goes(n))


def look_for_secrets(files: list[Path]) -> None:
    """Raise `Refused` for the first file that looks like a secret, by name or by content."""
    for file in files:
        if secret_search.named_like_one(file.as_posix()):
            raise Refused(f"{file} looks like a secret by its name: remove it or ignore it.")
        what = secret_search.held((ROOT / file).read_bytes())
        if what is not None:
            raise Refused(f"{file} holds what looks like {what}: remove it.")


def build() -> None:
    """Build the command center."""
    for command in (
        ["npm", "--prefix", "web", "ci", "--no-audit", "--no-fund"],
        ["npm", "--prefix", "web", "run", "build"],
    ):
        try:
            subprocess.run(command, cwd=ROOT, check=True)
        except FileNotFoundError:
            raise Refused(
                "npm was not found: install Node.js 20, or use --skip-build with a built web."
            ) from None
        except subprocess.CalledProcessError as error:
            raise Refused(f"{' '.join(command)} failed with exit code {error.returncode}.") from None


def hub() -> Any:
    """The Hub's client; `Refused` without it or without a token, before anything is built."""
    try:
        client = import_module("huggingface_hub")
    except ImportError:
        raise Refused("The upload needs huggingface_hub: pip install huggingface_hub") from None
    if not client.get_token():
        raise Refused(
            "There is no token of the Hub: run `hf auth login` or set HF_TOKEN; --dry-run needs none."
        )
    return client


def upload(client: Any, repo_id: str, files: list[Path]) -> str:
    """One commit on the Space; files that are gone here are deleted there. Returns the commit's address."""
    here = {f.as_posix() for f in files}
    kept = {".gitattributes"}
    try:
        api = client.HfApi()
        api.create_repo(repo_id, repo_type="space", space_sdk="docker", exist_ok=True)
        there = set(api.list_repo_files(repo_id, repo_type="space"))
        changes = [client.CommitOperationAdd(n, str(ROOT / n)) for n in sorted(here)]
        changes += [client.CommitOperationDelete(n) for n in sorted(there - here - kept)]
        made = api.create_commit(repo_id, changes, commit_message="Sync the tree", repo_type="space")
    except Exception as fault:  # the client's errors are of several libraries, and not all are OSErrors
        why = " ".join(str(fault).split())[:300].rstrip(".") or type(fault).__name__
        raise Refused(f"The Hub could not be reached or refused the upload: {why}.") from fault
    return str(made.commit_url)


def main() -> int:
    """Exit codes: 0 done, 2 usage, 3 refused."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--repo-id", default=os.environ.get("HF_SPACE_REPO_ID", ""), help="owner/name of the Space"
    )
    parser.add_argument("--dry-run", action="store_true", help="print what would go")
    parser.add_argument(
        "--skip-build", action="store_true", help="take the command center as it was built last"
    )
    asked = parser.parse_args()
    try:
        if not asked.dry_run and not REPO_ID.fullmatch(asked.repo_id):
            raise Refused("Name the Space: set HF_SPACE_REPO_ID, or --repo-id owner/name.")
        client = None if asked.dry_run else hub()
        if not asked.skip_build:
            build()
        if not (ROOT / BUILT / "index.html").is_file():
            raise Refused("The command center is not built: run without --skip-build.")
        files = listing()
        look_for_secrets(files)
        if asked.dry_run:
            for file in files:
                print(f"{(ROOT / file).stat().st_size:>10}  {file}")
            total = sum((ROOT / f).stat().st_size for f in files)
            print(
                f"{len(files)} files, {total / 1e6:.1f} MB, to {asked.repo_id or 'HF_SPACE_REPO_ID (not set)'}"
            )
            return 0
        print(upload(client, asked.repo_id, files))
        return 0
    except Refused as refusal:
        print(refusal, file=sys.stderr)
        return 3


if __name__ == "__main__":
    raise SystemExit(main())
