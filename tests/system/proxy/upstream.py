"""A server behind the proxy, in a process of its own: started, told to go wrong, killed, and asked what it saw."""

from __future__ import annotations

import collections
import contextlib
import dataclasses
import pathlib
import signal
import subprocess
import sys
from collections.abc import Iterator

from ..server import REPOSITORY, Broken, free_port

STOP_SECONDS = 5.0


@dataclasses.dataclass(slots=True)
class Seen:
    """A line of its log: see origin.py."""

    event: str
    moment: float
    method: str
    id: str
    target: str


class Upstream:
    """Runs while the `with` block does, unless it is killed."""

    def __init__(self, folder: pathlib.Path, name: str, *, unix: bool = False, delay: float = 0.0) -> None:
        self.name, self.log, self.site = name, folder / f"{name}.log", folder / name
        self.site.mkdir()
        self.address = f"unix:{folder}/{name}.sock" if unix else f"127.0.0.1:{free_port()}"
        self.command = [sys.executable, "-m", "system.proxy.origin", "--listen", self.address, "--log", str(self.log),
                        "--name", name, "--delay", str(delay), "--site", str(self.site)]
        self.process: subprocess.Popen | None = None

    def start(self) -> None:
        self.begin()
        self.wait()

    def begin(self) -> None:
        self.process = subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                        cwd=REPOSITORY / "tests")

    def wait(self) -> None:
        """Until it listens."""
        if self.process.stdout.readline() != "listening\n":
            raise Broken(f"the server {self.name} does not start at {self.address}")

    def tell(self, mode: str) -> None:
        self.process.stdin.write(f"{mode}\n")
        self.process.stdin.flush()
        if self.process.stdout.readline() != "told\n":
            raise Broken(f"the server {self.name} is gone")

    def signal(self, sign: signal.Signals) -> None:
        self.process.send_signal(sign)

    def kill(self) -> None:
        self.end(signal.SIGKILL)

    def leave(self) -> None:
        """In order: what is under way is answered first."""
        self.end(signal.SIGTERM)

    def end(self, sign: signal.Signals) -> None:
        if self.process is None:
            return
        self.process.send_signal(signal.SIGCONT)
        self.process.send_signal(sign)
        try:
            self.process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()
        self.process = None

    def seen(self) -> list[Seen]:
        if not self.log.exists():
            return []
        rows = (line.split(" ") for line in self.log.read_text().splitlines())
        return [Seen(event, float(moment), *rest) for event, moment, *rest in rows]


@contextlib.contextmanager
def running(*upstreams: Upstream) -> Iterator[tuple[Upstream, ...]]:
    """All of them, started at the same time."""
    try:
        for upstream in upstreams:
            upstream.begin()
        for upstream in upstreams:
            upstream.wait()
        yield upstreams
    finally:
        for upstream in upstreams:
            upstream.kill()


def did(upstreams: tuple[Upstream, ...]) -> collections.Counter[str]:
    """How often each request was carried out, by its id."""
    return collections.Counter(seen.id for upstream in upstreams for seen in upstream.seen() if seen.event == "did")
