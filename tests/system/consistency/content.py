"""Versions of a file that a reader recognises: every 16 bytes say which version they are of, and where in it they lie."""

from __future__ import annotations

import array
import dataclasses

BLOCK = 16
LARGEST = 6 << 20
_POSITIONS = array.array("Q", range(LARGEST // BLOCK + 2))


@dataclasses.dataclass(frozen=True, slots=True)
class Version:
    """A content that a writer made: of which file, the how-manieth state of it, how long."""

    path: int
    sequence: int
    length: int

    def word(self) -> int:
        return self.path << 56 | (self.sequence & 0xFF_FFFF_FF) << 24 | self.length

    @classmethod
    def of_word(cls, word: int) -> "Version":
        return cls(word >> 56, word >> 24 & 0xFF_FFFF_FF, word & 0xFF_FFFF)


def render(version: Version, start: int = 0, end: int | None = None) -> bytes:
    """The bytes of a version from `start` to `end`."""
    end = version.length if end is None else min(end, version.length)
    if end <= start:
        return b""
    first, last = start // BLOCK, (end + BLOCK - 1) // BLOCK
    words = array.array("Q", bytes(BLOCK * (last - first)))
    words[0::2] = array.array("Q", [version.word()]) * (last - first)
    words[1::2] = _POSITIONS[first:last]
    return words.tobytes()[start - first * BLOCK:end - first * BLOCK]


def recognise(body: bytes, start: int = 0) -> Version | None:
    """Of which version the first whole block is, where `body` begins `start` bytes into the file."""
    skip = -start % BLOCK
    if len(body) < skip + BLOCK:
        return None
    words = array.array("Q", body[skip:skip + BLOCK])
    return Version.of_word(words[0]) if words[1] == (start + skip) // BLOCK else None


def first_difference(body: bytes, expected: bytes) -> int:
    """Where two contents part."""
    low, high = 0, min(len(body), len(expected))
    while low < high:
        middle = (low + high) // 2
        if body[:middle + 1] == expected[:middle + 1]:
            low = middle + 1
        else:
            high = middle
    return low
