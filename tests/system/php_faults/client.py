"""Requests over many connections at a time. The order of their beginnings, their ends and the faults is counted, not timed."""

from __future__ import annotations

import asyncio
import dataclasses
import hashlib
import itertools
import random
from collections.abc import Callable, Iterable

CONNECTIONS = 32
# After a request, so often a connection is replaced.
CLOSES = 0.03
# Far longer than all limits of the server together.
TIMEOUT = 150
# How often which kind is sent: pages, forms, work after the response, uploads.
KINDS = {"index": 45, "post": 30, "after": 10, "upload": 15}
# The part of requests that pause, in the script or after its response, and for how many microseconds at most.
PAUSES, LONGEST_PAUSE = 0.25, 20_000
LARGEST_UPLOAD = 120_000
BOUNDARY = "0f5a4b7c9d"


@dataclasses.dataclass(slots=True)
class Request:
    number: int
    script: str
    pause: int = 0
    file: bytes | None = None
    method: str = "POST"

    @property
    def is_get(self) -> bool:
        return self.method == "GET"

    def encoded(self) -> bytes:
        target, body, kind = f"/{self.script}.php/{self.number}?id={self.number}&pause={self.pause}", b"", ""
        if self.file is not None:
            head = f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\n'
            body, kind = head.encode() + self.file + f"\r\n--{BOUNDARY}--\r\n".encode(), f"Content-Type: multipart/form-data; boundary={BOUNDARY}\r\n"
        length = "" if self.is_get else f"{kind}Content-Length: {len(body)}\r\n"
        return f"{self.method} {target} HTTP/1.1\r\nHost: localhost\r\n{length}\r\n".encode() + body

    def expected(self) -> str:
        """The words of the response behind the number and the process."""
        return "" if self.file is None else hashlib.sha256(self.file).hexdigest()


@dataclasses.dataclass(slots=True)
class Outcome:
    request: Request
    # 0 without a response.
    status: int = 0
    text: str = ""
    began: int = 0
    ended: int = 0

    @property
    def process(self) -> int:
        return int(self.text.split()[1])

    @property
    def is_right(self) -> bool:
        number, process, rest = (*self.text.split(" ", 2), "", "", "")[:3]
        return self.status == 200 and number == str(self.request.number) and process.isdigit() and rest == self.request.expected()


class Mixture:
    """A request for each number, which depends on the seed and the number only."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.bytes = random.Random(seed).randbytes(2 * LARGEST_UPLOAD)

    def request(self, number: int) -> Request:
        chance = random.Random(self.seed * 1_000_003 + number)
        kind = chance.choices(list(KINDS), list(KINDS.values()))[0]
        pause = chance.randrange(LONGEST_PAUSE) if chance.random() < PAUSES else 0
        if kind != "upload":
            return Request(number, kind, pause, method="GET" if kind == "index" else "POST")
        # Most are small, as forms are.
        size = chance.randrange(LARGEST_UPLOAD if chance.random() < 0.2 else 4_000)
        start = chance.randrange(LARGEST_UPLOAD)
        return Request(number, kind, pause, self.bytes[start:start + size])


class Clients:
    """Sends requests, and calls `answered` with their count after each."""

    def __init__(self, port: int, clock: Callable[[], int], answered: Callable[[int], None] = lambda _: None) -> None:
        self.port, self.clock, self.answered = port, clock, answered
        self.outcomes: list[Outcome] = []
        self.chance = random.Random(port)

    def send(self, requests: Iterable[Request], connections: int = CONNECTIONS) -> list[Outcome]:
        return asyncio.run(self.run(requests, connections))

    async def run(self, requests: Iterable[Request], connections: int = CONNECTIONS) -> list[Outcome]:
        shared = iter(requests)
        await asyncio.gather(*(self.connection(shared) for _ in range(connections)))
        return self.outcomes

    async def connection(self, requests: Iterable[Request]) -> None:
        writer = None
        for request in requests:
            outcome = Outcome(request, began=self.clock())
            try:
                if writer is None:
                    reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
                writer.write(request.encoded())
                async with asyncio.timeout(TIMEOUT):
                    outcome.status, outcome.text, closes = await response(reader)
            except (OSError, EOFError, ValueError, TimeoutError) as error:
                outcome.text, closes = f"{type(error).__name__}: {error}", True
            outcome.ended = self.clock()
            self.outcomes.append(outcome)
            self.answered(len(self.outcomes))
            if writer is not None and (closes or self.chance.random() < CLOSES):
                writer.close()
                writer = None
        if writer is not None:
            writer.close()


async def response(reader: asyncio.StreamReader) -> tuple[int, str, bool]:
    """The status, the body, and whether the connection ends."""
    head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
    fields = dict(line.split(": ", 1) for line in head.splitlines()[1:] if line)
    body = b""
    if fields.get("transfer-encoding") == "chunked":
        for _ in itertools.count():
            size = int(await reader.readuntil(b"\r\n"), 16)
            body += (await reader.readexactly(size + 2))[:-2]
            if size == 0:
                break
    else:
        body = await reader.readexactly(int(fields["content-length"]))
    return int(head[9:12]), body.decode(errors="replace"), fields.get("connection") == "close"
