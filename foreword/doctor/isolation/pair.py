"""Pair: two tenants' keys. Made for one examination and removed after it, or given."""

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, field

from foreword.doctor.isolation.target import word
from foreword.errors import ValidationError
from foreword.ledger.api_keys import SCOPES, create_key, parse_key
from foreword.ledger.tenants import ensure_tenant, remove_tenant


@dataclass(frozen=True, kw_only=True)
class Pair:
    """The key of who stores, and the key of who must see nothing of it."""

    owner_key: str = field(repr=False)
    other_key: str = field(repr=False)


def given_pair(owner_key: str, other_key: str) -> Pair:
    """Two keys that somebody made; ValidationError where they are no keys, or of one tenant."""
    owner, other = parse_key(owner_key), parse_key(other_key)
    if owner is None or other is None:
        raise ValidationError.of("key", "is not an API key of Foreword's")
    if owner.tenant == other.tenant:
        raise ValidationError.of("other-key", "is of the same tenant; give one of another")
    return Pair(owner_key=owner_key, other_key=other_key)


@contextlib.contextmanager
def throwaway_pair(database_url: str) -> Iterator[Pair]:
    """Two new tenants with a key each, gone afterwards with all they hold. Needs the ledger's owner."""
    names = [f"isolation-{side}-{word()}" for side in ("owner", "other")]
    try:
        for name in names:
            ensure_tenant(database_url, name)
        owner_key, other_key = (create_key(database_url, name, SCOPES) for name in names)
        yield Pair(owner_key=owner_key, other_key=other_key)
    finally:
        for name in names:
            remove_tenant(database_url, name)
