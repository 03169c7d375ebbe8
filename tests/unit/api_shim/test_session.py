"""The session token: small, complete, and refused unless it is one."""

import base64
import zlib

import pytest

from api_shim.session import is_sent, read_session, write_session
from foreword.errors import ValidationError


@pytest.mark.parametrize("n", [0, 1, 7, 1999, 2000, 2001, 5000])
def test_a_token_holds_the_last_two_thousand(n: int) -> None:
    """What was sent last is known by its token, which stays small enough to be taken back."""
    ids = [f"entry-{i}" for i in range(n)]
    token = write_session(ids)
    marks = frozenset(read_session(token))
    assert len(token) <= 32_768
    assert [i for i in ids if is_sent(i, marks)] == ids[-2000:]
    assert not is_sent("another", marks)


def test_a_token_goes_on() -> None:
    """A token made of an earlier one's marks and new ids holds both, each once."""
    first = read_session(write_session(["a", "b"]))
    assert read_session(write_session([*first, "b", "c"])) == read_session(write_session(["a", "b", "c"]))


def packed(raw: bytes) -> str:
    """Bytes as a token carries them."""
    return base64.urlsafe_b64encode(raw).decode().rstrip("=")


@pytest.mark.parametrize(
    "token",
    [
        "x",
        "not a token",
        "ä",
        "====",
        packed(b"plain"),
        packed(zlib.compress(b"seven b")),
        packed(zlib.compress(b"8 bytes.")[:-1]),
        packed(zlib.compress(b"8 bytes.") + b"more"),
        packed(zlib.compress(bytes(8 * 2001))),
        packed(zlib.compress(bytes(1 << 24))),
    ],
)
def test_what_is_no_token_is_refused(token: str) -> None:
    """Noise, a cut or padded token, one too long, and one that would unpack to megabytes."""
    with pytest.raises(ValidationError):
        read_session(token)
