"""The body digest: what is kept of a Draft to tell a repeat from a conflict.

Keyed (HMAC-SHA-256) and bound to its scope, so that nobody who reads the ledger can test a guess of the text
against it, or match equal texts across tenants.
"""

import hashlib
import hmac

from foreword.draft import Draft
from foreword.scope import Scope


def digest(key: bytes, scope: Scope, draft: Draft) -> bytes:
    """32 bytes that are equal for equal bodies under the same id in the same scope."""
    body = draft.canonical()
    head = f"{scope.tenant}\x00{scope.memory_ref}\x00".encode()
    return hmac.new(key, head + body, hashlib.sha256).digest()
