"""The rules of gitleaks (MIT, see NOTICE), read from its own file and made fit for prose."""

from __future__ import annotations

import gzip
import tomllib
from collections.abc import Callable
from importlib.resources import files
from typing import Any

from worker.steps.redaction.plausible import entropy
from worker.steps.redaction.rule import Rule, compiled

_LEAD = r"[\w.-]{0,50}?"
_END = r"""(?:[\x60'"\s;]|\\[nr]|$)"""
_RELAXED_END = r"(?:[^\w-]|$)"
_LEFT_OUT = frozenset(
    {
        "generic-api-key",
        "pkcs12-file",
        "kubernetes-secret-yaml",
        "sourcegraph-access-token",
        "curl-auth-user",
        "jwt-base64",
        "sentry-org-token",
        "openshift-user-token",
        "hashicorp-tf-password",
        "grafana-cloud-api-token",
        "nuget-config-password",
    }
)


def gitleaks_rules() -> list[Rule]:
    """Every rule with an expression, except the generic one (our own reading of assignments takes its
    place) and those that our own patterns
    replace."""
    packed = files("worker.steps.redaction").joinpath("gitleaks.toml.gz").read_bytes()
    config = tomllib.loads(gzip.decompress(packed).decode())
    allowed = [compiled(p) for p in config["allowlist"]["regexes"]]
    stopped = [word.encode() for word in config["allowlist"]["stopwords"]]
    return [
        _rule(entry, allowed, stopped)
        for entry in config["rules"]
        if entry["id"] not in _LEFT_OUT and "regex" in entry
    ]


def _kind(entry: dict[str, Any]) -> str:
    """Its id, unless that repeats the fixed beginning of the token itself."""
    fixed = [key[:8] for key in entry["keywords"] if len(key) >= 8]
    return "api-key" if any(part in entry["id"] for part in fixed) else str(entry["id"])


def _rule(entry: dict[str, Any], allowed: list[Any], stopped: list[bytes]) -> Rule:
    pattern = compiled(entry["regex"].replace(_LEAD, "").replace(_END, _RELAXED_END))
    group = entry.get("secretGroup")
    return Rule(
        kind=_kind(entry),
        keys=tuple(key.lower() for key in entry["keywords"]),
        pattern=pattern,
        groups=(group,) if group else tuple(range(1, pattern.groups + 1)),
        accepts=_accepts(entry, allowed, stopped),
        whole_token=_LEAD not in entry["regex"],
    )


def _accepts(
    entry: dict[str, Any], allowed: list[Any], stopped: list[bytes]
) -> Callable[[bytes, bytes], bool]:
    floor = entry.get("entropy", 0.0)
    lists = [
        (
            item.get("regexTarget") == "match",
            [compiled(p) for p in item.get("regexes", [])],
            [word.encode() for word in item.get("stopwords", [])],
        )
        for item in entry.get("allowlists", [])
    ]

    def accepts(secret: bytes, match: bytes) -> bool:
        if entropy(secret) <= floor or any(p.search(secret) for p in allowed):
            return False
        lower = secret.lower()
        if any(word in lower for word in stopped):
            return False
        return not any(
            any(p.search(match if on_match else secret) for p in patterns) or any(w in lower for w in words)
            for on_match, patterns, words in lists
        )

    return accepts
