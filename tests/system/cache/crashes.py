"""Kills a server that keeps responses in a folder while it stores a thousand a second, and looks at what the next one has."""

from __future__ import annotations

import asyncio
import dataclasses
import hashlib
import pathlib
import random
import signal
import threading
import time

from ..server import Server, free_port, program
from ..verdict import Verdict

CONNECTIONS = 16
RATE = 1000
WRITTEN_AFTER = 0.5
# A round stores so many at least before the server is killed.
FEWEST, MOST = 300, 1500


@dataclasses.dataclass
class Round:
    finished: dict[int, bytes]
    # When a client had each, and when the server was killed.
    times: dict[int, float] = dataclasses.field(default_factory=dict)
    killed: float = 0.0
    kept: int = 0
    # Those that are lost although there was time to write them.
    lost: int = 0
    wrong: int = 0
    cut: int = 0


def content(number: int) -> bytes:
    """The body that the origin sends for a path: between 1 byte and 60 KB, the same each time."""
    seed = hashlib.sha256(str(number).encode()).digest()
    length = 1 + int.from_bytes(seed[:2], "big") * (int.from_bytes(seed[2:3], "big") % 10 == 0) + seed[3]
    return (seed * (length // len(seed) + 1))[:length]


class Origin:
    """Sends what may be cached for an hour, in two pieces, so that some responses are incomplete at any time."""

    def __init__(self) -> None:
        self.port = free_port()
        self.requests = 0
        self.loop = asyncio.new_event_loop()
        started = threading.Event()
        threading.Thread(target=self.run, args=(started,), daemon=True).start()
        started.wait()

    def run(self, started: threading.Event) -> None:
        asyncio.set_event_loop(self.loop)
        self.loop.run_until_complete(asyncio.start_server(self.serve, "127.0.0.1", self.port))
        started.set()
        self.loop.run_forever()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                self.requests += 1
                body = content(int(head.split(b" ", 2)[1].strip(b"/")))
                fields = f"HTTP/1.1 200 OK\r\nCache-Control: max-age=3600\r\nContent-Length: {len(body)}\r\n\r\n"
                writer.write(fields.encode() + body[:len(body) // 2])
                await asyncio.sleep(0)
                writer.write(body[len(body) // 2:])
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()


async def ask(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, number: int) -> tuple[bytes, bytes]:
    """Head and body of a response."""
    writer.write(f"GET /{number} HTTP/1.1\r\nHost: a\r\n\r\n".encode())
    head = (await reader.readuntil(b"\r\n\r\n")).lower()
    length = int(head.split(b"content-length: ", 1)[1].split(b"\r\n", 1)[0])
    return head, await reader.readexactly(length)


async def store(port: int, numbers, found: Round, kill: asyncio.Event) -> None:
    """Asks for one after the other, until the server is gone."""
    try:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        begin = time.monotonic()
        for sent, number in enumerate(numbers):
            await asyncio.sleep(max(0.0, begin + sent * CONNECTIONS / RATE - time.monotonic()))
            _, found.finished[number] = await ask(reader, writer, number)
            found.times[number] = time.monotonic()
            if len(found.finished) >= FEWEST and random.random() < 1 / (MOST - FEWEST):
                kill.set()
    except (asyncio.IncompleteReadError, ConnectionError):
        pass


async def killed(server: Server, first: int) -> Round:
    found, kill = Round({}), asyncio.Event()
    numbers = iter(range(first, first + 1_000_000))
    tasks = [asyncio.create_task(store(server.port, numbers, found, kill)) for _ in range(CONNECTIONS)]
    await asyncio.wait([asyncio.create_task(kill.wait()), *tasks], return_when=asyncio.FIRST_COMPLETED)
    server.process.send_signal(signal.SIGKILL)
    found.killed = time.monotonic()
    await asyncio.gather(*tasks)
    server.process.wait()
    return found


async def looked_at(port: int, found: Round, beyond: int) -> None:
    """Asks for what was stored, and for what may have been on its way."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    last = max(found.finished)
    for number in [*found.finished, *range(last + 1, last + beyond)]:
        head, body = await ask(reader, writer, number)
        found.wrong += body != content(number) or found.finished.get(number, body) != body
        is_hit = b"cache-status: serow; hit" in head
        found.kept += is_hit and number in found.finished
        found.lost += not is_hit and number in found.finished and found.times[number] < found.killed - WRITTEN_AFTER


def run(rounds: int, folder: pathlib.Path, verdict: Verdict) -> None:
    origin, port = Origin(), free_port()
    command = [program("serow"), "proxy", f"127.0.0.1:{origin.port}", "--listen", f"127.0.0.1:{port}", "--cache", "8M",
               "--cache-dir", folder / "cache"]
    finished, kept, wrong, lost = 0, 0, 0, 0
    for number in range(rounds):
        with Server(command, port) as server:
            found = asyncio.run(killed(server, number * 10_000))
        with Server(command, port) as server:
            asyncio.run(looked_at(port, found, CONNECTIONS + 1))
            verdict.check(not server.panics(), f"the proxy: {server.said()[-500:]}")
        finished, kept, wrong = finished + len(found.finished), kept + found.kept, wrong + found.wrong
        lost += found.lost
    verdict.check(wrong == 0, f"{wrong} responses are not what the origin sends")
    verdict.check(kept > 0, f"none of {finished} responses outlived kill -9")
    verdict.compare_time(lost == 0, f"{lost} responses that clients had {WRITTEN_AFTER} s before kill -9 are lost")
    # The thread that writes them may have to wait for a processor.
    verdict.compare_time(kept >= 0.999 * finished, f"{kept} of {finished} responses outlived kill -9")
    verdict.figure(f"kill -9 {rounds} times: {kept} of {finished} stored responses are there, {wrong} wrong")
