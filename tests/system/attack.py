"""Slow clients by the thousand: slowhttptest, and a few sockets of our own that note when they are cut off."""

from __future__ import annotations

import csv
import dataclasses
import pathlib
import resource
import select
import shutil
import socket
import subprocess
import time

from . import wire

RATE = 500


class Missing(Exception):
    """slowhttptest is not installed."""


@dataclasses.dataclass
class Outcome:
    """The report of slowhttptest."""

    most_connected: int
    closed: int
    left: int
    # When it last had an open connection, in seconds from its start.
    over_after: int


def raise_open_files() -> None:
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


class SlowHttpTest:
    """One attack by slowhttptest, under way from the start; `wait` gives what it reports."""

    def __init__(self, kind: str, url: str, connections: int, seconds: int, folder: pathlib.Path) -> None:
        program = shutil.which("slowhttptest")
        if program is None:
            raise Missing("slowhttptest is missing; run: tests/install")
        self.report = folder / f"attack-{kind}-{time.monotonic_ns()}"
        self.seconds = seconds
        self.connections = connections
        ways = {"H": ["-i", "1", "-x", "8"], "B": ["-i", "1", "-x", "8", "-s", "1000000"],
                "X": ["-w", "512", "-y", "1024", "-n", "1", "-z", "5"]}
        command = [program, f"-{kind}", "-c", str(connections), "-r", str(RATE), "-l", str(seconds), "-u", url,
                   "-p", "5", "-g", "-o", str(self.report), "-v", "1", *ways[kind]]
        self.output = open(f"{self.report}.log", "w+b")
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=self.output,
                                        stderr=subprocess.STDOUT, preexec_fn=raise_open_files)

    def wait(self) -> Outcome:
        try:
            self.process.wait(self.seconds + 20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        with open(f"{self.report}.csv", newline="") as file:
            rows = [[int(field) for field in row[:4]] for row in csv.reader(file) if row and row[0].isdigit()]
        if not rows:
            raise Missing("slowhttptest reported nothing")
        self.output.seek(0)
        # The last row is of the second before the end, so only the exit status says that nobody was left.
        is_over = b"No open connections left" in self.output.read()
        last_open = max((row[0] for row in rows if row[3] > 0), default=0)
        most = max(row[3] for row in rows)
        return Outcome(most, self.connections if is_over else rows[-1][1], 0 if is_over else rows[-1][3], last_open)


@dataclasses.dataclass
class Slow:
    """One socket of our own: what it sends first, what it sends or reads each second."""

    first: bytes
    each: bytes = b""
    reads: int = 0


def heads() -> Slow:
    return Slow(b"GET / HTTP/1.1\r\nHost: a\r\n", b"X-a: b\r\n")


def bodies(target: str) -> Slow:
    head = f"POST {target} HTTP/1.1\r\nHost: a\r\nContent-Type: text/plain\r\nContent-Length: 1000000\r\n\r\n"
    return Slow(head.encode(), b"x")


def readers(target: str) -> Slow:
    return Slow(wire.request(target), reads=5)


class Watched:
    """Some slow sockets of our own, driven by `step` once in a while; knows when each was cut off."""

    def __init__(self, address: tuple[str, int], slow: Slow, count: int) -> None:
        self.slow, self.began, self.turn = slow, time.monotonic(), 0.0
        self.open: list[socket.socket] = []
        self.cut_after: list[float] = []
        for _ in range(count):
            one = socket.socket()
            one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            one.connect(address)
            one.setblocking(False)
            one.send(slow.first)
            self.open.append(one)

    def step(self) -> None:
        now = time.monotonic()
        if now - self.turn < 1.0:
            return self._look(0.02)
        self.turn = now
        for one in list(self.open):
            try:
                if self.slow.each:
                    one.send(self.slow.each)
                elif one.recv(self.slow.reads) == b"":
                    self._note(one)
            except BlockingIOError:
                pass
            except OSError:
                self._note(one)
        self._look(0.0)

    def _look(self, seconds: float) -> None:
        """Notes who was cut off; answers are read, as they come before the end, unless reading is what is slow."""
        poll = select.poll()
        by_number = {one.fileno(): one for one in self.open}
        for number in by_number:
            poll.register(number, select.POLLRDHUP | (0 if self.slow.reads else select.POLLIN))
        for number, events in poll.poll(int(seconds * 1000)):
            try:
                if events & (select.POLLERR | select.POLLHUP | select.POLLRDHUP) or by_number[number].recv(65536) == b"":
                    self._note(by_number[number])
            except OSError:
                self._note(by_number[number])

    def _note(self, one: socket.socket) -> None:
        self.open.remove(one)
        self.cut_after.append(time.monotonic() - self.began)
        one.close()

    def close(self) -> None:
        for one in self.open:
            one.close()
