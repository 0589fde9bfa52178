"""An upstream that writes down byte by byte what arrives, and refuses what is not to the letter."""

from __future__ import annotations

import asyncio
import dataclasses
import threading

from ..server import free_port
from . import grammar

# A head or a line that is longer is no test's.
LONGEST = 1 << 17


@dataclasses.dataclass
class Message:
    """A request as it arrived, whole or not yet."""

    connection: int
    method: str
    target: str
    fields: list[tuple[str, str]]
    body: bytes = b""
    trailers: list[tuple[str, str]] = dataclasses.field(default_factory=list)
    is_whole: bool = False

    def values(self, name: str) -> list[str]:
        return [value for each, value in self.fields if each == name]


@dataclasses.dataclass
class Violation:
    connection: int
    what: str
    # All bytes of the connection up to it.
    received: bytes


class Recorded:
    """A reader that keeps what it has read."""

    def __init__(self, reader: asyncio.StreamReader) -> None:
        self.reader, self.received = reader, bytearray()

    async def exactly(self, count: int) -> bytes:
        read = await self.reader.readexactly(count)
        self.received += read
        return read

    async def until(self, end: bytes) -> bytes:
        """The bytes before `end`."""
        try:
            read = await self.reader.readuntil(end)
        except asyncio.IncompleteReadError as error:
            self.received += error.partial
            raise
        except asyncio.LimitOverrunError as error:
            raise grammar.Malformed(f"no {end!r} in {LONGEST} bytes") from error
        self.received += read
        return read[:-len(end)]


class Strict:
    """Runs in a thread of its own while the `with` block does."""

    name = "the strict logger"

    def __init__(self) -> None:
        self.port = free_port()
        self.messages: list[Message] = []
        self.violations: list[Violation] = []
        self.connections = 0
        self.loop = asyncio.new_event_loop()
        self.ready = threading.Event()
        self.thread = threading.Thread(target=self.run, daemon=True)

    def __enter__(self) -> Strict:
        self.thread.start()
        self.ready.wait(10)
        return self

    def __exit__(self, *_: object) -> None:
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join(5)

    def run(self) -> None:
        asyncio.set_event_loop(self.loop)
        server = self.loop.run_until_complete(asyncio.start_server(self.serve, "127.0.0.1", self.port, limit=LONGEST))
        self.ready.set()
        self.loop.run_forever()
        server.close()
        tasks = asyncio.all_tasks(self.loop)
        for task in tasks:
            task.cancel()
        self.loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))
        self.loop.close()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        number, recorded = self.connections, Recorded(reader)
        try:
            while not await self.request(number, recorded, writer):
                pass
        except grammar.Malformed as error:
            self.violations.append(Violation(number, str(error), bytes(recorded.received)))
            writer.write(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        except (asyncio.IncompleteReadError, ConnectionError):
            # Amid a body that is noted by the message, which is not whole.
            pass
        finally:
            writer.close()

    async def request(self, number: int, recorded: Recorded, writer: asyncio.StreamWriter) -> bool:
        """One request; true when it was the last."""
        try:
            received = await recorded.until(b"\r\n\r\n")
        except asyncio.IncompleteReadError as error:
            if error.partial:
                raise grammar.Malformed(f"a head that ends with its connection: {error.partial[:120]!r}") from error
            return True
        message = Message(number, *grammar.head(received))
        length = grammar.length(message.fields)
        self.messages.append(message)
        if message.values("expect"):
            writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        if length is None:
            await self.chunks(recorded, message)
        else:
            message.body = await recorded.exactly(length)
        message.is_whole = True
        content = f"{message.method} {message.target} {len(message.body)}\n".encode("latin-1")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nX-Seen: %s %s\r\nContent-Length: %d\r\n\r\n%s" % (
            message.method.encode(), message.target.encode("latin-1"), len(content), content if message.method != "HEAD" else b""))
        await writer.drain()
        return "close" in message.values("connection")

    async def chunks(self, recorded: Recorded, message: Message) -> None:
        while size := grammar.chunk_size(await recorded.until(b"\r\n")):
            message.body += await recorded.exactly(size)
            if (end := await recorded.exactly(2)) != b"\r\n":
                raise grammar.Malformed(f"{end!r} behind a chunk")
        lines = []
        while line := await recorded.until(b"\r\n"):
            lines.append(line)
        message.trailers = grammar.trailers(lines)
