"""Finds the state of a file that a response shows, and objects where there is none."""

from __future__ import annotations

import dataclasses
import email.utils

from .content import Version, first_difference, recognise, render
from .history import Kind
from .writer import Changing

PAGE = 4096


class Wrong(Exception):
    """A response that is no version of the file, or one of long ago."""


@dataclasses.dataclass(frozen=True, slots=True)
class Shown:
    """Which state of a file a response showed. A kind of none: it was being written, and so much was there."""

    kind: Kind | None
    sequence: int
    length: int

    @property
    def content(self) -> tuple:
        """Equal for equal contents: all that is empty is the same."""
        return (self.kind, self.sequence, self.length) if self.length else ("empty",)


def state_shown(file: Changing, body: bytes, start: int, total: int, since: float) -> Shown:
    """The state that `body`, from `start` of a whole of `total` bytes, is part of, if it was there at `since` or later."""
    version = recognise(body, start)
    if version is not None:
        if version.path != file.number:
            raise Wrong(f"the content is that of file {version.path}")
        fitting = [shown for shown in candidates(version, total)
                   if expected(version, shown, start, start + len(body)) == body]
        if fitting:
            return fresh(file, fitting, since)
        whole = render(version, start, start + len(body))
        raise Wrong(f"a mixture: {total} bytes, of state {version.sequence} with {version.length} bytes up to byte "
                    f"{start + first_difference(body, whole)}, then {describe(body, start, whole)}")
    # Too short to hold a block, or zeros: compared with all states in question.
    for sequence, kind, length in file.history.since(since):
        if kind == Kind.MISSING or length != total:
            continue
        parent = sequence - {Kind.HALF: 1, Kind.EXTENDED: 2}.get(kind, 0)
        version = Version(file.number, parent, file.history.length_of(parent))
        shown = Shown(kind, sequence, total)
        if expected(version, shown, start, start + len(body)) == body:
            return shown
    raise Wrong(f"{len(body)} bytes from {start} of {total} show no state of this file in the last second: {body[:32].hex()}")


def candidates(version: Version, total: int):
    """The states that the content of a version is seen in."""
    if total == version.length:
        yield Shown(Kind.FULL, version.sequence, total)
        yield Shown(Kind.EXTENDED, version.sequence + 2, total)
    if total == version.length // 2:
        yield Shown(Kind.HALF, version.sequence + 1, total)
    # A file grows page by page while it is written; a state that others see.
    if total < version.length and total % PAGE == 0:
        yield Shown(None, version.sequence, total)


def expected(version: Version, shown: Shown, start: int, end: int) -> bytes:
    end = min(end, shown.length)
    if shown.kind == Kind.EXTENDED:
        written = render(version, start, min(end, version.length // 2))
        return written + bytes(end - start - len(written))
    return render(version, start, end)


def fresh(file: Changing, fitting: list[Shown], since: float) -> Shown:
    """The first of the states that was there at `since` or later: a part of a content may fit several."""
    for shown in fitting:
        if file.history.was(shown.sequence, Kind.FULL if shown.kind is None else shown.kind, since):
            return shown
    age = file.history.age(fitting[0].sequence, since)
    raise Wrong(f"stale: state {fitting[0].sequence} ended {age:.3f} s before the last second")


def describe(body: bytes, start: int, whole: bytes) -> str:
    place = first_difference(body, whole)
    rest = body[place:]
    if not rest.strip(b"\0"):
        return f"{len(rest)} zeros"
    other = recognise(rest, start + place)
    return f"state {other.sequence} with {other.length} bytes" if other else "something unknown"


def check_date(file: Changing, shown: Shown, text: str | None) -> None:
    """Last-Modified lies within the life of the state."""
    if text is None or shown.kind != Kind.FULL or shown.length == 0:
        return
    moment = email.utils.parsedate_to_datetime(text).timestamp()
    # The kernel stamps files with a clock that lags by a tick.
    earliest = int(file.history.written(shown.sequence) - 0.02)
    latest = file.history.last_moment(shown.sequence)
    if not earliest <= moment <= latest:
        raise Wrong(f"Last-Modified is {moment:.0f}, but state {shown.sequence} lived from {earliest} to {latest:.2f}")
