"""A picture of any size."""

from __future__ import annotations

import struct
import zlib


def picture(size: int) -> bytes:
    """A PNG of noise that compresses to about this size."""
    side = max(1, int((size / 3) ** 0.5))
    row = lambda number: b"\0" + zlib.compress(str(number).encode() * 9, 0).ljust(side * 3, b"x")[: side * 3]
    data = zlib.compress(b"".join(row(number) for number in range(side)), 0)
    chunk = lambda kind, body: struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)) + chunk(b"IDAT", data) + chunk(b"IEND", b"")
