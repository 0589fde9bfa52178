"""The bodies that servers and clients of these tests send: known from a seed and a size, so that both sides can compare."""

from __future__ import annotations

import zlib
from collections.abc import Iterator

PIECE = 1 << 16


def pieces(seed: str, size: int) -> Iterator[bytes]:
    """A body, in pieces that no large one has to be in memory for."""
    line = f"{seed}\n".encode()
    # Whole lines, so that each piece goes on where the one before it ended.
    block = line * (min(size, PIECE) // len(line) + 1)
    while size > 0:
        yield block[:size]
        size -= min(size, len(block))


def whole(seed: str, size: int) -> bytes:
    return b"".join(pieces(seed, size))


def checksum(parts: Iterator[bytes]) -> str:
    found = 0
    for part in parts:
        found = zlib.crc32(part, found)
    return f"{found:08x}"
