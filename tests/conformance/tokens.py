"""A tokenizer of our own: byte-pair encoding by the published ranks, to check what the product counts.

Plain and slow. It splits ASCII texts as ``o200k_base`` does and refuses others.
"""

import base64
import gzip
import re
from functools import cache
from importlib.resources import files

_ENDING = r"(?:'(?:[sStTmMdD]|[rR][eE]|[vV][eE]|[lL][lL]))?"
_PIECE = re.compile(
    rf"[^\r\nA-Za-z0-9]?[A-Z]*[a-z]+{_ENDING}|[^\r\nA-Za-z0-9]?[A-Z]+[a-z]*{_ENDING}"
    r"|[0-9]{1,3}| ?[^\sA-Za-z0-9]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)


@cache
def _ranks() -> dict[bytes, int]:
    lines = gzip.decompress(files("foreword.ranks").joinpath("o200k_base.tiktoken.gz").read_bytes()).split(
        b"\n"
    )
    return {base64.b64decode(token): int(rank) for token, rank in (line.split() for line in lines if line)}


def count(text: str) -> int:
    """Tokens of an ASCII text."""
    assert text.isascii()
    return sum(len(_merged(piece.encode())) for piece in _PIECE.findall(text))


def _merged(piece: bytes) -> list[bytes]:
    """The piece in tokens: the neighbours of the lowest rank are joined until no two can be."""
    parts, ranks = [piece[i : i + 1] for i in range(len(piece))], _ranks()
    while len(parts) > 1:
        pairs = [(ranks.get(parts[i] + parts[i + 1], len(ranks)), i) for i in range(len(parts) - 1)]
        rank, i = min(pairs)
        if rank == len(ranks):
            break
        parts[i : i + 2] = [parts[i] + parts[i + 1]]
    return parts
