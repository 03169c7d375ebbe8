"""A request's own words: its query, the id in its path, and whose memory it names."""

import re
from collections.abc import Iterable

from starlette.requests import Request

from api_shim.given import Given, query_pairs
from api_shim.keyring import Caller
from foreword.draft import Draft
from foreword.errors import Forbidden
from foreword.scope import Scope, is_readable_ref

_ENTRY_ID = re.compile(r"[A-Za-z0-9._:-]{1,128}")


def pairs(request: Request) -> list[tuple[str, str]]:
    """Names and values of the query, in order."""
    return query_pairs(request.scope["query_string"])


def options(request: Request, *known: str) -> Given:
    """The query of a call that takes these options."""
    return Given(pairs(request), known)


def path_id(request: Request) -> str:
    """The one variable part of the path."""
    (found,) = request.path_params.values()
    return str(found)


def entry_id(request: Request) -> str | None:
    """The entry id in the path, or None when no id can look like that."""
    found = path_id(request)
    return found if _ENTRY_ID.fullmatch(found) else None


def reachable(caller: Caller, memory_ref: str) -> Scope | None:
    """The scope of a ref, or None where it can hold nothing for this caller."""
    if not is_readable_ref(memory_ref) or not caller.may_reach(memory_ref):
        return None
    return Scope(caller.tenant, memory_ref)


def require_reach(caller: Caller, drafts: Iterable[Draft]) -> None:
    """Forbidden when the key is bound to other memories than a write names."""
    if not all(caller.may_reach(draft.memory_ref) for draft in drafts):
        raise Forbidden("The API key is bound to other memories.")
