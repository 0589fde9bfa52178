"""The clients of the soak test: ask for popular and rare URLs, some in parts, some slowly, and some leave or purge."""

from __future__ import annotations

import asyncio
import collections
import dataclasses
import json
import os
import random
import socket
import time

from ..wire import Response, parse_head
from .soak_judge import Body, Request
from .soak_resources import COUNT, GROUPS, HOST, KILOBYTE, LARGE, PIECE, VARIANTS, resource

CONNECTIONS = 24
# The first of them read slowly.
SLOW_READERS, SLOW_PIECE, SLOW_PAUSE = 3, 32 * KILOBYTE, 0.02
# Seconds between two requests of a connection.
PAUSE = 0.15
# More than a slow reader needs for the largest response: the server hangs.
TIMEOUT = 90.0
# How much of what is wrong is shown.
SHOWN = 10


@dataclasses.dataclass
class Report:
    counts: collections.Counter = dataclasses.field(default_factory=collections.Counter)
    misses: list[str] = dataclasses.field(default_factory=list)
    # For how many seconds a version was sent after its lifetime, at most.
    latest: float = float("-inf")

    def miss(self, text: str) -> None:
        self.counts["wrong"] += 1
        if len(self.misses) < SHOWN:
            self.misses.append(text)


class Left(Exception):
    """The client has left on purpose."""


class Client:
    def __init__(self, port: int, admin: str, seed: int, until: float) -> None:
        self.port, self.admin, self.until = port, admin, until
        self.random = random.Random(seed)
        self.report = Report()
        # The last entity tags of URLs.
        self.etags: dict[tuple[int, int], str] = {}

    async def run(self) -> Report:
        tasks = [asyncio.create_task(self.browse(number < SLOW_READERS)) for number in range(CONNECTIONS)]
        await asyncio.sleep(self.until - time.monotonic())
        # Exchanges in progress may finish, except those of slow readers.
        _, late = await asyncio.wait(tasks, timeout=5)
        for task in late:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for task in tasks:
            if not task.cancelled() and task.exception():
                self.report.miss(f"a client failed: {task.exception()!r}")
        return self.report

    async def browse(self, is_slow: bool) -> None:
        while time.monotonic() < self.until:
            connecting = socket.create_connection(("127.0.0.1", self.port), timeout=10)
            if is_slow:
                connecting.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, SLOW_PIECE)
            reader, writer = await asyncio.open_connection(sock=connecting, limit=SLOW_PIECE if is_slow else PIECE)
            try:
                while time.monotonic() < self.until:
                    await asyncio.sleep(self.random.expovariate(1 / PAUSE))
                    request = await self.next_request()
                    async with asyncio.timeout(TIMEOUT):
                        if not await self.exchange(request, reader, writer, is_slow):
                            break
            except Left:
                self.report.counts["left"] += 1
            except TimeoutError:
                self.report.miss(f"no end within {TIMEOUT:.0f} s: {request}")
            finally:
                # Without what the other end has sent meanwhile.
                writer.transport.abort()

    def number(self) -> int:
        """Some URLs are popular (Zipf's law), a crawler asks for all alike; at any moment, one large file is wanted."""
        draw = self.random.random()
        if draw < 0.002:
            return COUNT + int(time.monotonic() / 3) % LARGE
        return self.random.randrange(COUNT) if draw < 0.2 else int(COUNT ** self.random.random()) - 1

    async def next_request(self) -> Request:
        request = Request(resource(self.number()), self.random.randrange(VARIANTS))
        wanted, draw = request.resource, self.random.random()
        known = self.etags.get((wanted.number, request.variant))
        if draw < 0.03:
            # RFC 9111 §4.3.5: without a validator, the head of a new version may renew what is stored of an old one.
            request.method = "HEAD" if wanted.has_etag else "GET"
        elif draw < 0.10:
            first, last = sorted(self.random.randrange(wanted.base_length) for _ in range(2))
            parts = (f"bytes={first}-{last}", f"bytes={first}-", f"bytes=-{last + 1}")
            request.fields["Range"] = self.random.choice(parts)
            if known and self.random.random() < 0.5:
                request.fields["If-Range"] = known
        elif draw < 0.15:
            request.fields |= {"If-None-Match": known} if known else {}
        elif draw < 0.18:
            request.leaves_after = self.random.choice((-1, 0, self.random.randrange(wanted.base_length)))
        elif draw < 0.185:
            await self.purge(request)
        request.asked = time.monotonic()
        return request

    async def purge(self, request: Request) -> None:
        wanted = request.resource
        purge = self.random.choice(({"url": f"http://{HOST}{wanted.path}"}, {"tag": wanted.tag},
                                  {"prefix": f"{HOST}/{wanted.number % GROUPS}/"}))
        # Where a stale version may be sent while it is validated, nothing is known of what follows.
        is_soft = not wanted.stale_while_revalidate and self.random.random() < 0.3
        body = json.dumps({"purge": purge, "soft": is_soft}).encode()
        purged = time.monotonic()
        reader, writer = await asyncio.open_unix_connection(self.admin)
        fields = f"Host: a\r\nConnection: close\r\nContent-Length: {len(body)}\r\n\r\n"
        writer.write(f"POST /purge HTTP/1.1\r\n{fields}".encode() + body)
        answer = await reader.read()
        writer.close()
        if not answer.startswith(b"HTTP/1.1 200 "):
            self.report.miss(f"a purge: {answer[:300]}")
            return
        request.purged, request.purge = purged, f"{body.decode()} until {time.monotonic():.3f}"
        self.report.counts["purges"] += 1

    async def exchange(self, request: Request, reader, writer, is_slow: bool) -> bool:
        """Whether the connection can be used again."""
        counts = self.report.counts
        counts["requests"] += 1
        counts["large"] += request.resource.is_large
        try:
            writer.write(request.head())
            if request.leaves_after == -1:
                raise Left
            response = parse_head(await reader.readuntil(b"\r\n\r\n"))
        except (asyncio.IncompleteReadError, ConnectionError) as error:
            self.report.miss(f"no response: {error!r}: {request}")
            return False
        counts[str(response.status)] += 1
        body = Body(request, response, time.monotonic())
        counts[body.cache_result()] += 1
        try:
            await self.receive(body, response, reader, is_slow)
        except (asyncio.IncompleteReadError, ConnectionError) as error:
            counts["cut"] += 1
            if not request.resource.is_cut_at_times:
                self.report.miss(f"cut off after {body.received} bytes: {error!r}: {body}")
            return False
        finally:
            # Of a body that is cut off as well.
            self.judge(body)
        return not response.closes

    def judge(self, body: Body) -> None:
        counts, request, response = self.report.counts, body.request, body.response
        if wrong := body.judge():
            self.report.miss(f"{wrong}: {body}")
        if wrong or not body.is_whole:
            return
        counts["whole"] += 1
        counts["bytes"] += body.received
        self.report.latest = max(self.report.latest, body.lateness())
        if etag := response.get("etag"):
            self.etags[request.resource.number, request.variant] = etag

    async def receive(self, body: Body, response: Response, reader, is_slow: bool) -> None:
        if body.is_empty:
            body.is_whole = True
            return
        leaves_after = body.request.leaves_after

        async def pieces(length: int) -> None:
            while length > 0:
                piece = await reader.read(min(length, SLOW_PIECE if is_slow else PIECE))
                if not piece:
                    raise asyncio.IncompleteReadError(b"", length)
                length -= len(piece)
                body.take(piece)
                if leaves_after is not None and body.received >= leaves_after:
                    raise Left
                if is_slow:
                    await asyncio.sleep(SLOW_PAUSE)

        if "chunked" not in response.headers.get("transfer-encoding", ""):
            await pieces(int(response.headers["content-length"]))
            body.is_whole = True
            return
        while size := int((await reader.readuntil(b"\r\n")).split(b";")[0], 16):
            await pieces(size)
            await reader.readexactly(2)
        await reader.readuntil(b"\r\n")
        body.is_whole = True


def run(port: int, admin: str, seed: int, until: float, results) -> None:
    """In a process of its own, whose report comes through the queue."""
    os.nice(10)
    results.put(asyncio.run(Client(port, admin, seed, until).run()))
