"""Changes files in one way each, over and over, and says in their histories what it does."""

from __future__ import annotations

import dataclasses
import enum
import os
import pathlib
import random
import time

from .content import Version, render
from .history import History, Kind


class Way(enum.Enum):
    """How a file is changed."""

    IN_PLACE = "in-place"     # one pwrite over the whole length
    TRUNCATE = "truncate"     # O_TRUNC, then one write
    RENAME = "rename"         # a new file takes the name
    RESIZE = "resize"         # half of it is cut off, then zeros are put behind, then all is written in place
    REMOVE = "remove"         # removed, and created anew


SIZES = {"0": 0, "151": 151, "4k": 4096, "10k": 10_000, "64k": 65_000, "66k": 66_500, "200k": 200_000,
         "1m": 1 << 20, "5m": 5_000_000}
# Largest pause between two changes: at once, often, and seldom enough that the server takes the file for a quiet one.
PACES = {"hot": 0.004, "warm": 0.4, "calm": 5.0}
LONGEST_BETWEEN = 0.01
_BYTES_PER_SECOND = 60 << 20


@dataclasses.dataclass
class Changing:
    """A file that is changed."""

    number: int
    name: str
    way: Way
    size: int
    pace: float
    history: History
    state: int = -1
    length: int = 0
    is_missing: bool = False
    due: float = 0.0

    @property
    def target(self) -> str:
        return "/" + self.name


def all_files() -> list[Changing]:
    """One for each way and size, each at a pace of its own; every other has an ending that is compressed."""
    files = []
    for size_number, (size, length) in enumerate(SIZES.items()):
        for way_number, way in enumerate(Way):
            paces = list(PACES)
            pace = paces[(size_number + way_number) % 3]
            if length > 200_000 and pace == "hot":
                pace = "warm"
            ending = "txt" if (size_number + way_number) % 2 else "bin"
            name = f"{way.value}-{size}-{pace}.{ending}"
            files.append(Changing(len(files) + 1, name, way, length, PACES[pace], History()))
    return files


class Writer:
    """Changes some files of a folder until it is told to stop."""

    def __init__(self, folder: pathlib.Path, files: list[Changing], seed: int) -> None:
        self.folder, self.files = folder, files
        self.random = random.Random(seed)
        self.changes = 0

    def create_all(self) -> None:
        for file in self.files:
            self._replace(file)

    def run(self, stopped) -> int:
        quiet_until = 0.0
        for file in self.files:
            file.due = time.monotonic() + self.random.uniform(0, file.pace)
        while not stopped():
            file = min(self.files, key=lambda file: file.due)
            wait = max(file.due, quiet_until) - time.monotonic()
            if wait > 0:
                time.sleep(min(wait, 0.05))
                continue
            self.change(file)
            self.changes += 1
            now = time.monotonic()
            file.due = now + self.random.uniform(0, file.pace)
            # The writers must not take both cores from the server: so much is written a second at the most.
            quiet_until = now + file.length / _BYTES_PER_SECOND
        return self.changes

    def change(self, file: Changing) -> None:
        {Way.IN_PLACE: self._in_place, Way.TRUNCATE: self._truncate, Way.RENAME: self._replace,
         Way.RESIZE: self._resize, Way.REMOVE: self._remove_or_create}[file.way](file)

    def _linger(self) -> None:
        """Leaves a state between two versions visible for a moment, every other time."""
        if self.random.random() < 0.5:
            time.sleep(self.random.uniform(0, LONGEST_BETWEEN))

    def _new_length(self, file: Changing) -> int:
        return file.size + self.random.randrange(8) * 16 + self.random.randrange(16) if file.size else 0

    def _announce(self, file: Changing, kind: Kind, length: int) -> int:
        """Announces a state; the one before ends when the system call is done (`_done`)."""
        return file.history.announce(kind, length)

    def _done(self, file: Changing, state: int, length: int) -> None:
        if file.state >= 0:
            file.history.end(file.state)
        file.state, file.length = state, length

    def _content(self, file: Changing, length: int) -> bytes:
        return render(Version(file.number, file.history.next(), length))

    def _in_place(self, file: Changing) -> None:
        content = self._content(file, file.length)
        descriptor = os.open(self.folder / file.name, os.O_WRONLY)
        try:
            state = self._announce(file, Kind.FULL, file.length)
            assert os.pwrite(descriptor, content, 0) == len(content)
            self._done(file, state, file.length)
        finally:
            os.close(descriptor)

    def _fill(self, file: Changing, descriptor: int) -> None:
        length = self._new_length(file)
        content = self._content(file, length)
        state = self._announce(file, Kind.FULL, length)
        assert os.write(descriptor, content) == len(content)
        self._done(file, state, length)

    def _truncate(self, file: Changing) -> None:
        state = self._announce(file, Kind.EMPTY, 0)
        descriptor = os.open(self.folder / file.name, os.O_WRONLY | os.O_TRUNC)
        self._done(file, state, 0)
        self._linger()
        try:
            self._fill(file, descriptor)
        finally:
            os.close(descriptor)

    def _replace(self, file: Changing) -> None:
        length = self._new_length(file)
        beside = self.folder / f".new-{file.name}"
        # Announced before it is written: its time of modification counts from here.
        content = self._content(file, length)
        state = self._announce(file, Kind.FULL, length)
        beside.write_bytes(content)
        beside.rename(self.folder / file.name)
        self._done(file, state, length)

    def _resize(self, file: Changing) -> None:
        descriptor = os.open(self.folder / file.name, os.O_WRONLY)
        try:
            length = file.length
            for kind, to in ((Kind.HALF, length // 2), (Kind.EXTENDED, length)):
                state = self._announce(file, kind, to)
                os.ftruncate(descriptor, to)
                self._done(file, state, to)
                self._linger()
            content = self._content(file, length)
            state = self._announce(file, Kind.FULL, length)
            assert os.pwrite(descriptor, content, 0) == len(content)
            self._done(file, state, length)
        finally:
            os.close(descriptor)

    def _remove_or_create(self, file: Changing) -> None:
        if not file.is_missing:
            state = self._announce(file, Kind.MISSING, 0)
            os.unlink(self.folder / file.name)
            self._done(file, state, 0)
            file.is_missing = True
            return
        file.is_missing = False
        state = self._announce(file, Kind.EMPTY, 0)
        descriptor = os.open(self.folder / file.name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
        self._done(file, state, 0)
        self._linger()
        try:
            self._fill(file, descriptor)
        finally:
            os.close(descriptor)
