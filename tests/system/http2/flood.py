"""One flood under way: attackers in processes of their own, at full speed."""

from __future__ import annotations

import collections
import contextlib
import dataclasses
import itertools
import multiprocessing
import select
import socket
import time

from ..polling import SECONDS
from ..priorities import frames
from .attacks import Flood
from .client import greeting, split

# Beyond this a piece is not taken at once, and the attacker looks whether something has come.
TURN_SECONDS = 0.5
# For what is still to be read when an attack that does not read is over.
REST_SECONDS = 0.2
# How long an attacker waits for a server that neither takes nor cuts off, before it comes back with another connection.
STUCK_SECONDS = 2.0


@dataclasses.dataclass
class Count:
    """The results of an attack."""

    connections: int = 0
    frames: int = 0
    bytes: int = 0
    # How the connections ended: the code of GOAWAY, "closed" without one, "kept" where the attacker gave up.
    ends: collections.Counter = dataclasses.field(default_factory=collections.Counter)
    # The most frames that one connection could send.
    most: int = 0

    def __iadd__(self, other: "Count") -> "Count":
        self.connections += other.connections
        self.frames += other.frames
        self.bytes += other.bytes
        self.ends += other.ends
        self.most = max(self.most, other.most)
        return self

    def __str__(self) -> str:
        ends = ", ".join(f"{count} {name}" for name, count in self.ends.most_common())
        return f"{self.connections} connections, {self.frames} frames, {self.bytes >> 10} KB ({ends})"


class Attackers:
    """So many processes, for as long as the `with` block takes or the seconds are."""

    def __init__(self, flood: Flood, address: tuple[str, int], seconds: float, count: int) -> None:
        context = multiprocessing.get_context("fork")
        self.queue = context.Queue()
        self.processes = [context.Process(target=self.run, args=(flood, address, seconds), daemon=True) for _ in range(count)]

    def start(self) -> None:
        for process in self.processes:
            process.start()

    def wait(self) -> Count:
        whole = Count()
        for _ in self.processes:
            whole += self.queue.get(timeout=120)
        for process in self.processes:
            process.join(10)
        return whole

    def run(self, flood: Flood, address: tuple[str, int], seconds: float) -> None:
        count, until = Count(), time.monotonic() + seconds
        # Connections are begun until the time is up; one that must be cut off goes on until it is.
        last = until + (SECONDS if flood.cut_with else 0)
        while time.monotonic() < until:
            try:
                one = socket.create_connection(address, 10)
            except OSError:
                count.ends["refused"] += 1
                continue
            with one:
                sent = attack(flood, one, last, count)
            count.connections += 1
            count.most = max(count.most, sent)
        self.queue.put(count)


def attack(flood: Flood, one: socket.socket, until: float, count: Count) -> int:
    """One connection, to its end; how many frames were sent."""
    one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    one.setblocking(False)
    heard, sent = Heard(one, flood.reads), 0
    first = greeting(dict(flood.settings)) + flood.first
    for piece, frames_in_it in itertools.chain([(first, 0)], flood.pieces()):
        if not push(one, piece, until, heard, count):
            break
        sent += frames_in_it
        count.frames += frames_in_it
    else:
        # All was sent; the answer to the last of it may be the end.
        heard.wait(min(until, time.monotonic() + (SECONDS if flood.cut_with else flood.waits)))
        if flood.given_up_at_once and count.connections % flood.given_up_at_once == 0:
            select.select([one], [], [], max(0.0, until - time.monotonic()))
    if not flood.reads:
        heard.rest_of_it()
    count.ends[heard.end("kept")] += 1
    return sent


def push(one: socket.socket, piece: bytes, until: float, heard: "Heard", count: Count) -> bool:
    """Sends all of it; false when the connection is over, or the time."""
    rest, moved = memoryview(piece), time.monotonic()
    while len(rest):
        now = time.monotonic()
        if now > until or now - moved > STUCK_SECONDS:
            return False
        readers = [one] if heard.reads else []
        readable, writable, _ = select.select(readers, [one], [], TURN_SECONDS)
        if readable and not heard.listen():
            return False
        if not writable:
            continue
        try:
            taken = one.send(rest)
        except BlockingIOError:
            continue
        except OSError:
            heard.rest_of_it()
            heard.is_over = True
            return False
        rest, moved = rest[taken:], now
        count.bytes += taken
    return True


class Heard:
    """Reads the frames that the server sends."""

    def __init__(self, one: socket.socket, reads: bool) -> None:
        self.one, self.reads = one, reads
        self.rest, self.code, self.is_over = b"", None, False

    def listen(self) -> bool:
        try:
            received = self.one.recv(1 << 18)
        except BlockingIOError:
            return True
        except OSError:
            received = b""
        if not received:
            self.is_over = True
            return False
        found, self.rest = split(self.rest + received)
        for frame in found:
            if frame.kind == frames.GOAWAY:
                self.code = frame.code
        return True

    def rest_of_it(self) -> None:
        """Reads the bytes that arrived before the connection was reset."""
        with contextlib.suppress(OSError):
            while select.select([self.one], [], [], REST_SECONDS)[0] and self.listen() and self.code is None:
                pass

    def wait(self, until: float) -> None:
        while not self.is_over and time.monotonic() < until:
            if select.select([self.one], [], [], max(0.0, until - time.monotonic()))[0]:
                self.listen()

    def end(self, otherwise: str) -> str:
        return self.code or ("closed" if self.is_over else otherwise)
