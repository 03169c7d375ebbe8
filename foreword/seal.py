"""The seal: Drafts are encrypted to the worker's public key before they touch a broker, a table or a log.

A key is written ``id:base64``. Sealed bytes are ``id`` + ``:`` + a NaCl sealed box, so that keys rotate: the
newest public key seals, every opening key the worker still holds opens.
"""

import base64
import binascii
import re
import secrets
from collections.abc import Iterable
from dataclasses import dataclass

from nacl.exceptions import CryptoError
from nacl.public import PrivateKey, PublicKey, SealedBox

from foreword.errors import ConfigurationError, SealError

_KEY = re.compile(r"([A-Za-z0-9_-]{1,32}):([A-Za-z0-9+/]{43}=)")


def _parse(key: str) -> tuple[str, bytes]:
    match = _KEY.fullmatch(key.strip())
    if match is None:
        raise ConfigurationError("A seal key must be written id:base64 of 32 bytes.")
    return match[1], base64.b64decode(match[2])


def _write(key_id: str, raw: bytes) -> str:
    return f"{key_id}:{base64.b64encode(raw).decode()}"


def new_secret_key() -> str:
    """A fresh opening key, ``id:base64``."""
    return _write(secrets.token_hex(4), bytes(PrivateKey.generate()))


def public_key(secret_key: str) -> str:
    """The sealing half of an opening key, under the same id."""
    key_id, raw = _parse(secret_key)
    return _write(key_id, bytes(PrivateKey(raw).public_key))


class Sealer:
    """Seals to one public key; holds nothing that opens."""

    def __init__(self, key: str) -> None:
        self.key = key
        key_id, raw = _parse(key)
        self._prefix = key_id.encode() + b":"
        self._box = SealedBox(PublicKey(raw))

    def seal(self, plain: bytes) -> bytes:
        """Sealed bytes, 49 + len(key id) longer than ``plain``."""
        return self._prefix + bytes(self._box.encrypt(plain))


@dataclass(frozen=True)
class Opener:
    """Opens what any of its keys sealed."""

    boxes: dict[bytes, SealedBox[PrivateKey]]

    @classmethod
    def of(cls, keys: Iterable[str]) -> "Opener":
        """From opening keys, ``id:base64`` each."""
        parsed = [_parse(key) for key in keys]
        return cls({key_id.encode(): SealedBox(PrivateKey(raw)) for key_id, raw in parsed})

    def open(self, sealed: bytes) -> bytes:
        """The plain bytes; SealError when no key fits or the bytes were changed."""
        key_id, _, box = sealed.partition(b":")
        if key_id not in self.boxes:
            raise SealError("No opening key has the id this Draft was sealed to.")
        try:
            return bytes(self.boxes[key_id].decrypt(box))
        except (CryptoError, ValueError, binascii.Error) as error:
            raise SealError("A sealed Draft was changed or cut.") from error
