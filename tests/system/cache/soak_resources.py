"""The resources of the soak test's origin: URLs whose content changes every few seconds, by the clock.

Each process derives the same from a URL's number, so that clients know what may arrive at any moment."""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import math
import random

HOST = "soak.test"
COUNT, LARGE = 20_000, 6
GROUPS, TAGS = 100, 50
VARIANTS = 3
KILOBYTE, MEGABYTE = 1 << 10, 1 << 20
# The larger, the fewer: all sizes add up to about 1 GB.
SIZE_EXPONENT = 4.6
# Not a multiple of a page or a block: what arrives at a wrong offset differs.
NOISE_LENGTH = 8 * MEGABYTE + 4099
PIECE = 256 * KILOBYTE


@dataclasses.dataclass(frozen=True, slots=True)
class Resource:
    number: int
    base_length: int
    # Its content changes once in so many seconds, not at the same time as others.
    period: float
    offset: float
    max_age: int
    stale_while_revalidate: int
    is_stored: bool
    has_etag: bool
    has_date: bool
    varies: bool
    accepts_ranges: bool
    # "length", "chunked", or "close": only the end of the connection marks its end.
    framing: str
    is_cut_at_times: bool

    @property
    def path(self) -> str:
        return f"/{self.number % GROUPS}/{self.number}"

    @property
    def tag(self) -> str:
        return f"tag-{self.number % TAGS}"

    @property
    def lifetime(self) -> int:
        """For how many seconds after it was current a version may be sent."""
        return self.max_age + self.stale_while_revalidate if self.is_stored else 0

    @property
    def is_large(self) -> bool:
        return self.number >= COUNT

    def version_at(self, moment: float) -> int:
        return math.floor((moment + self.offset) / self.period)

    def content(self, version: int, variant: int) -> "Content":
        return Content.of(self, version, variant if self.varies else 0)


@dataclasses.dataclass(frozen=True, slots=True)
class Content:
    """One version: a part of the noise, from a place on that nobody else uses."""

    start: int
    length: int
    etag: str

    @classmethod
    def of(cls, resource: Resource, version: int, variant: int) -> "Content":
        digest = hashlib.blake2b(f"{resource.number} {version} {variant}".encode(), digest_size=16).digest()
        length = resource.base_length + int.from_bytes(digest[8:], "big") % (resource.base_length // 8)
        return cls(int.from_bytes(digest[:8], "big") % NOISE_LENGTH, length, f'"{version}-{variant}"')

    def pieces(self, start: int, end: int):
        """The bytes from `start` up to `end`, in pieces."""
        view = memoryview(noise())
        while start < end:
            place = (self.start + start) % NOISE_LENGTH
            length = min(PIECE, end - start)
            yield view[place:place + length]
            start += length

    def has_at(self, offset: int, piece: bytes) -> bool:
        """Whether a piece of at most `PIECE` bytes is what the content has at the offset."""
        return offset + len(piece) <= self.length and noise().startswith(piece, (self.start + offset) % NOISE_LENGTH)


def version_of(etag: str) -> int:
    return int(etag.strip('"').split("-")[0])


@functools.cache
def noise() -> bytes:
    repeated = random.Random(1).randbytes(NOISE_LENGTH)
    return repeated + repeated[:PIECE]


@functools.cache
def resource(number: int) -> Resource:
    drawn = random.Random(number)
    is_large = number >= COUNT
    if is_large:
        size = 20 * MEGABYTE + (number - COUNT) * 6 * MEGABYTE
    else:
        size = KILOBYTE * 1024 ** (drawn.random() ** SIZE_EXPONENT)
    period = drawn.uniform(5, 9) if is_large else drawn.uniform(2, 12)
    return Resource(
        number=number,
        base_length=int(size),
        period=period,
        offset=drawn.uniform(0, period),
        max_age=drawn.randint(1, 5),
        stale_while_revalidate=drawn.randint(1, 4) if drawn.random() < 0.25 else 0,
        is_stored=is_large or drawn.random() > 0.08,
        has_etag=drawn.random() < 0.6,
        has_date=drawn.random() < 0.5,
        varies=not is_large and drawn.random() < 0.15,
        accepts_ranges=drawn.random() < 0.7,
        framing=drawn.choices(("length", "chunked", "close"), (60, 35, 0 if is_large else 5))[0],
        is_cut_at_times=drawn.random() < (0.3 if is_large else 0.1),
    )


def byte_range(text: str, length: int) -> tuple[int, int] | None:
    """Start and end of the part that the field Range asks for; nothing if there is no such part."""
    first, _, last = text.removeprefix("bytes=").partition("-")
    if not first:
        return max(0, length - int(last)), length
    start, end = int(first), min(int(last) + 1, length) if last else length
    return (start, end) if start < end else None
