"""The states of each file, with their times: written by the one process that changes a file, read by all others."""

from __future__ import annotations

import enum
import math
import mmap
import time

STATES = 1 << 14
_COLUMNS = 5


class Kind(enum.IntEnum):
    """A state of a file that its writer makes visible, if only for a moment."""

    FULL = 0       # a version, whole
    EMPTY = 1      # nothing yet, after O_TRUNC or O_CREAT
    HALF = 2       # the first half of the version before, after ftruncate
    EXTENDED = 3   # that half, and zeros up to the former length
    MISSING = 4    # no such file


class History:
    """The last states of one file, in memory that all processes share.

    A state is announced before the system call that makes it, and ends after the system call that unmakes it: where a
    reader finds a state outside of these times, it was not there.
    """

    def __init__(self) -> None:
        memory = memoryview(mmap.mmap(-1, 8 * (STATES * _COLUMNS + 1)))
        self._count = memory[:8].cast("Q")
        table = memory[8:]
        columns = [table[8 * STATES * column:8 * STATES * (column + 1)] for column in range(_COLUMNS)]
        self._kind, self._length = columns[0].cast("Q"), columns[1].cast("Q")
        self._start, self._end, self._wall = (column.cast("d") for column in columns[2:])

    def next(self) -> int:
        return self._count[0]

    def announce(self, kind: Kind, length: int) -> int:
        sequence = self._count[0]
        place = sequence % STATES
        self._kind[place], self._length[place] = kind, length
        self._start[place], self._end[place] = time.monotonic(), math.inf
        self._wall[place] = time.time()
        self._count[0] = sequence + 1
        return sequence

    def end(self, sequence: int) -> None:
        self._end[sequence % STATES] = time.monotonic()

    def was(self, sequence: int, kind: Kind, since: float) -> bool:
        """Whether this state is known, of this kind, and was there at `since` or later."""
        if not self.next() - STATES < sequence < self.next():
            return False
        place = sequence % STATES
        return self._kind[place] == kind and self._end[place] >= since

    def age(self, sequence: int, at: float) -> float:
        """How long before `at` a state ended; negative if it was still there."""
        return at - self._end[sequence % STATES]

    def last_moment(self, sequence: int) -> float:
        """The time of day when a state ended, or now."""
        place = sequence % STATES
        return min(self._wall[place] + self._end[place] - self._start[place], time.time())

    def written(self, sequence: int) -> float:
        """The time of day when the writing of a state began."""
        return self._wall[sequence % STATES]

    def since(self, moment: float):
        """The states that were there at `moment` or later, newest first: sequence, kind, length."""
        newest = self.next() - 1
        for sequence in range(newest, max(-1, newest - STATES + 1), -1):
            place = sequence % STATES
            # States follow each other, so all that is older ended earlier.
            if self._end[place] < moment:
                return
            yield sequence, Kind(self._kind[place]), self._length[place]

    def length_of(self, sequence: int) -> int:
        return self._length[sequence % STATES]
