"""Reloads and kills, each when so many requests are answered."""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
import os
import pathlib
import random
import signal

from ..server import Server


@dataclasses.dataclass(slots=True)
class Fault:
    kind: str
    # When so many requests were answered.
    after: int
    # The process that was killed, and when by the clock of the run.
    process: int = 0
    at: int = 0


class Faults:
    """A plan of faults, spread over the requests, and what became of it."""

    def __init__(self, server: Server, seed: int, requests: int, counts: dict[str, int]) -> None:
        self.server, self.chance, self.ticks = server, random.Random(seed), itertools.count(1)
        kinds = [kind for kind, count in counts.items() for _ in range(count)]
        self.chance.shuffle(kinds)
        # The first and the last requests are without.
        places = sorted(self.chance.randrange(requests // 20, requests - requests // 20) for _ in kinds)
        self.waiting = [Fault(kind, after) for kind, after in zip(kinds, places)]
        self.done: list[Fault] = []

    def clock(self) -> int:
        return next(self.ticks)

    def answered(self, count: int) -> None:
        """Does all that is due."""
        while self.waiting and self.waiting[0].after <= count:
            fault = self.waiting[0]
            # No php-fpm is there for a moment after a master was killed.
            if not self.do(fault):
                return
            self.done.append(self.waiting.pop(0))

    def do(self, fault: Fault) -> bool:
        fault.at = self.clock()
        if fault.kind == "reload":
            os.kill(self.server.pid, signal.SIGHUP)
            return True
        masters = masters_of(self.server.pid)
        candidates = masters if fault.kind == "master" else [child for master in masters for child in children_of(master)]
        if not candidates:
            return False
        fault.process = self.chance.choice(candidates)
        try:
            os.kill(fault.process, signal.SIGKILL)
        except ProcessLookupError:
            # It has just been replaced.
            return False
        return True

    def killed(self) -> dict[int, int]:
        """The children that were killed, and when."""
        return {fault.process: fault.at for fault in self.done if fault.kind == "child"}


def masters_of(server: int) -> list[int]:
    """Living masters of php-fpm that a server runs. Children whose master was killed are not among them."""
    return titled(server, b"php-fpm: master ")


def children_of(master: int) -> list[int]:
    """Living children of a master."""
    return titled(master, b"php-fpm: pool ")


def titled(parent: int, title: bytes) -> list[int]:
    """Children of any thread of a process that have this title. A zombie has none."""
    found = []
    with contextlib.suppress(OSError):
        for task in pathlib.Path(f"/proc/{parent}/task").iterdir():
            found += [int(child) for child in (task / "children").read_text().split()]
    return sorted(child for child in found if title_of(child).startswith(title))


def title_of(process: int) -> bytes:
    with contextlib.suppress(OSError):
        return pathlib.Path(f"/proc/{process}/cmdline").read_bytes()
    return b""
