"""Stretches that look random and are public: images, certificates, public keys, lock-file digests."""

from __future__ import annotations

from worker.steps.redaction.rule import compiled

QUIET_KEYS = (
    "data:",
    "ssh-",
    "ecdsa-",
    "sk-ssh",
    "sha1-",
    "sha256-",
    "sha384-",
    "sha512-",
    "-----begin",
    "sha256:",
    "sha512:",
)
_QUIET = compiled(
    r"data:[\w.+-]{1,40}/[\w.+-]{1,60}(?:;[\w=.-]{1,40}){0,3},[A-Za-z0-9+/=%]{40,}"
    r"|(?:ssh-(?:rsa|dss|ed25519)|ecdsa-sha2-[\w-]{1,20}|sk-ssh-[\w@.-]{1,40})[ \t]{1,2}[A-Za-z0-9+/=]{40,}"
    r"|sha(?:1|256|384|512)[-:=][A-Za-z0-9+/]{26,}={0,2}"
    r"|-----BEGIN (?:CERTIFICATE(?: REQUEST)?|X509 CRL|(?:RSA |EC |DSA |SSH2 )?PUBLIC KEY"
    r"|PGP (?:PUBLIC KEY BLOCK|SIGNATURE|MESSAGE))-----"
    r"(?:[A-Za-z0-9+/=\s:,.()@_\\]|-[A-Za-z0-9]|-----?>){40,}"
)


def quiet(data: bytes) -> list[tuple[int, int]]:
    """Where they are, in order."""
    return [match.span() for match in _QUIET.finditer(data)]
