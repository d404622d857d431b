"""What no upload may hold: files that look like a secret, by name or by content. Needs nothing but Python."""

from __future__ import annotations

import re

SECRETS = {
    "a Hub token": re.compile(rb"\bhf_[A-Za-z0-9]{30,}"),
    "an access key": re.compile(rb"\bAKIA[0-9A-Z]{16}\b"),
    "an API key": re.compile(rb"\bsk-[A-Za-z0-9_-]{32,}"),
    "a token of a code host": re.compile(rb"\bgh[pousr]_[A-Za-z0-9]{36}\b"),
    "a private key": re.compile(rb"-----BEGIN [A-Z ]*PRIVATE KEY-----"),
}
SECRET_NAMES = re.compile(r"(^|/)(\.env(\..*)?|.*\.pem|id_rsa|id_ed25519|credentials(\.json)?|\.netrc)$")


def named_like_one(path: str) -> bool:
    """`path` (with ``/`` between folders) names what is a secret as a rule."""
    return SECRET_NAMES.search(path) is not None


def held(content: bytes) -> str | None:
    """What the first secret in `content` looks like; None without one."""
    return next((what for what, pattern in SECRETS.items() if pattern.search(content)), None)
