"""Clients that ask through a proxy, and an account of what became of each request."""

from __future__ import annotations

import asyncio
import collections
import contextlib
import dataclasses
import random
import threading
import time

from . import content

CONNECTIONS = 64
# A client waits longer than any proxy here may take.
PATIENCE = 15.0
# One of five requests is one that must not be repeated.
POSTS = 0.2
# Seconds between a response and the next request of its connection, on average: 64 connections ask 1,200 times a second.
PAUSE = 0.05
# How long the answer is to a request that says how long it shall take.
SLEPT = 10
TARGETS = ("/bytes/100", "/bytes/100", "/chunks/3000", "/bytes/60000")


class Wrong(Exception):
    """A response that is not the one to this request."""


@dataclasses.dataclass(slots=True)
class Asked:
    """A request, and its outcome."""

    id: str
    method: str
    began: float
    # When the head of its response was there, and when all of it was.
    answered: float = 0.0
    ended: float = 0.0
    # Why it failed; empty where it did not.
    failure: str = ""

    @property
    def seconds(self) -> float:
        """The time until an answer began. No proxy can make good a server that stands still in the middle of a body."""
        return (self.answered or self.ended) - self.began


class Load:
    """Sends requests while the `with` block lasts. At its end, it waits for those that are under way."""

    def __init__(self, address: tuple[str, int], connections: int = CONNECTIONS, *, pause: float = PAUSE,
                 posts: float = POSTS, targets: tuple[str, ...] = TARGETS) -> None:
        self.address, self.connections, self.pause, self.posts, self.targets = address, connections, pause, posts, targets
        self.asked: list[Asked] = []
        self.is_over = threading.Event()
        self.thread = threading.Thread(target=lambda: asyncio.run(self.run()), daemon=True)

    def __enter__(self) -> "Load":
        self.thread.start()
        return self

    def __exit__(self, *_) -> None:
        self.is_over.set()
        self.thread.join()

    def failures(self, method: str | None = None) -> list[Asked]:
        return [asked for asked in self.asked if asked.failure and method in (None, asked.method)]

    def count(self, method: str) -> int:
        return sum(asked.method == method for asked in self.asked)

    def has_open(self, before: float) -> bool:
        """Whether a request that began before this moment has no end yet."""
        return any(not asked.ended and asked.began < before for asked in self.asked)

    def kinds(self) -> str:
        found = collections.Counter(f"{asked.method} {asked.failure}" for asked in self.failures())
        return ", ".join(f"{count} × {kind}" for kind, count in found.most_common()) or "no failure"

    async def run(self) -> None:
        await asyncio.gather(*(self.client(number) for number in range(self.connections)))

    async def client(self, number: int) -> None:
        count, connection = 0, Client(self.address)
        while not self.is_over.is_set():
            await asyncio.sleep(random.uniform(0, 2 * self.pause))
            count += 1
            method = "POST" if random.random() < self.posts else "GET"
            asked = Asked(f"{number}-{count}", method, time.monotonic())
            self.asked.append(asked)
            try:
                await asyncio.wait_for(connection.ask(asked, random.choice(self.targets)), PATIENCE)
            except TimeoutError:
                asked.failure = "no answer"
            except (OSError, EOFError) as error:
                asked.failure = f"cut: {type(error).__name__}"
            except Wrong as error:
                asked.failure = str(error)
            except ValueError:
                asked.failure = "no HTTP"
            asked.ended = time.monotonic()
            if asked.failure:
                connection.close()
        connection.close()


class Client:
    """A connection that is kept, and opened again where it was closed."""

    def __init__(self, address: tuple[str, int]) -> None:
        self.address, self.reader, self.writer = address, None, None

    def close(self) -> None:
        if self.writer:
            with contextlib.suppress(OSError):
                self.writer.close()
        self.writer = None

    async def ask(self, asked: Asked, target: str) -> None:
        """Raises what went wrong: no connection, no whole response, a status, the answer to somebody else."""
        if self.writer is None or self.reader.at_eof():
            self.close()
            self.reader, self.writer = await asyncio.open_connection(*self.address)
        body = b"x" * 200 if asked.method == "POST" else b""
        length = f"Content-Length: {len(body)}\r\n" if body else ""
        self.writer.write(f"{asked.method} {target} HTTP/1.1\r\nHost: localhost\r\nX-Id: {asked.id}\r\n{length}\r\n".encode() + body)
        status, headers = await self.head()
        asked.answered = time.monotonic()
        received = await self.body(headers)
        if headers.get("connection", "").lower() == "close":
            self.close()
        if status != 200:
            raise Wrong(f"status {status}")
        _, what, number = target.split("/")
        expected = content.whole(asked.id, SLEPT if what == "sleep" else int(number))
        if headers.get("x-id") != asked.id or received != expected:
            raise Wrong("wrong answer")

    async def head(self) -> tuple[int, dict[str, str]]:
        first, *lines = (await self.reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        fields = (line.partition(":") for line in lines)
        return int(first.split(" ")[1]), {name.lower(): value.strip() for name, _, value in fields}

    async def body(self, headers: dict[str, str]) -> bytes:
        if "chunked" not in headers.get("transfer-encoding", ""):
            if "content-length" in headers:
                return await self.reader.readexactly(int(headers["content-length"]))
            received = await self.reader.read(-1)
            self.close()
            return received
        pieces = []
        while size := int(await self.reader.readuntil(b"\r\n"), 16):
            pieces.append((await self.reader.readexactly(size + 2))[:-2])
        await self.reader.readuntil(b"\r\n")
        return b"".join(pieces)
