"""The program of a server behind a proxy: answers, notes each request, and goes wrong as it is told on standard input.

| asked for | answer |
| --- | --- |
| `/bytes/N` `/chunks/N` `/end/N` | a body of N bytes: with its length, chunked, until the connection ends |
| `/cut/KIND/N` `/reset/KIND/N` | half of such a body, then the end of the connection, in order or by RST |
| `/sum` `/sum/RATE` | the checksum of the request's body, which is read at so many bytes a second |
| anything else | that file of the folder, or 404 |

| told | what it does from then on |
| --- | --- |
| `normal` | answers |
| `refuse` | does not listen, and ends connections when they have nothing to do |
| `reset-head` `reset-body` | ends connections by RST in the middle of a head or of a body |
| `delay SECONDS` | answers later |
| `garbage` | answers something that is no HTTP |
| `close` | ends connections a moment after a response, without having said so |

A line of its log: what happened, the moment, method, id and target of the request. `did`: it was there as a whole; `cut`: its
answer was cut; `late`: it came when the connection was over, and nothing was done; `part`: its end never came; `404` and `200`
for files. It is written before anything else happens, so nothing is missing when the program is killed.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import pathlib
import signal
import sys
import time

from .incoming import Request
from .serving import Connection


class Origin:
    def __init__(self, options: argparse.Namespace) -> None:
        self.name, self.address, self.delay, self.site = options.name, options.listen, options.delay, options.site
        self.log = os.open(options.log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        self.mode = "normal"
        self.connections: set[Connection] = set()
        self.server: asyncio.Server | None = None

    def note(self, event: str, request: Request) -> None:
        os.write(self.log, f"{event} {time.monotonic():.6f} {request.method} {request.id} {request.target}\n".encode())

    async def listen(self) -> None:
        loop, path = asyncio.get_running_loop(), self.address.removeprefix("unix:")
        if path != self.address:
            pathlib.Path(path).unlink(missing_ok=True)
            self.server = await loop.create_unix_server(lambda: Connection(self), path, backlog=512)
        else:
            host, port = path.rsplit(":", 1)
            self.server = await loop.create_server(lambda: Connection(self), host, int(port), backlog=512)

    async def close(self) -> None:
        if self.server:
            for listener in self.server.sockets:
                asyncio.get_running_loop().remove_reader(listener.fileno())
            # A client that was accepted already must be served: asyncio would forget it here, and leave it waiting.
            await asyncio.sleep(0.001)
            self.server.close()
            self.server = None
        for connection in list(self.connections):
            connection.leave()

    async def tell(self, mode: str) -> None:
        self.mode = mode
        if mode == "refuse":
            await self.close()
        elif self.server is None:
            await self.listen()

    async def run(self) -> None:
        over = asyncio.Event()
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGTERM, over.set)
        reader = asyncio.StreamReader()
        await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
        await self.listen()
        told = asyncio.create_task(self.obey(reader))
        await over.wait()
        told.cancel()
        await self.close()
        while self.connections:
            await asyncio.sleep(0.01)

    async def obey(self, reader: asyncio.StreamReader) -> None:
        print("listening", flush=True)
        while line := await reader.readline():
            await self.tell(line.decode().strip())
            print("told", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(prog="origin", description="A server that goes wrong as it is told.")
    parser.add_argument("--listen", required=True, help="HOST:PORT or unix:PATH")
    parser.add_argument("--log", required=True)
    parser.add_argument("--name", default="origin")
    parser.add_argument("--delay", type=float, default=0.0, help="seconds before each answer")
    parser.add_argument("--site", type=pathlib.Path, default=pathlib.Path("/nonexistent"))
    asyncio.run(Origin(parser.parse_args()).run())


if __name__ == "__main__":
    main()
