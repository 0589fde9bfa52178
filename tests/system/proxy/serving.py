"""A connection of a server behind the proxy: what it answers, and how it goes wrong (see origin.py)."""

from __future__ import annotations

import asyncio
import contextlib
import random
import socket
import struct
import typing

from . import content
from .incoming import Request, read_head

if typing.TYPE_CHECKING:
    from .origin import Origin

# Between what was sent and RST, so that the peer has read it by then.
_MOMENT = 0.005
# How long a connection that was ended is still listened to.
_LINGER = 0.3
# A shorter body has no middle.
_LEAST_CUT = 2


class Connection(asyncio.Protocol):
    def __init__(self, origin: Origin) -> None:
        self.origin, self.buffer = origin, bytearray()
        self.request: Request | None = None
        self.answering: asyncio.Task | None = None
        self.writable = asyncio.Event()
        self.writable.set()
        # `leaves`: when the response under way is over; `is_over`: what comes now is for nobody.
        self.leaves = self.is_over = False

    def connection_made(self, transport) -> None:
        self.transport = transport
        self.origin.connections.add(self)

    def connection_lost(self, error) -> None:
        self.origin.connections.discard(self)
        if self.answering:
            self.answering.cancel()
        elif self.request:
            self.origin.note("part", self.request)

    def pause_writing(self) -> None:
        self.writable.clear()

    def resume_writing(self) -> None:
        self.writable.set()

    def data_received(self, data: bytes) -> None:
        self.buffer += data
        self.advance()
        if self.request and self.request.rate and not self.transport.is_closing():
            self.transport.pause_reading()
            asyncio.get_running_loop().call_later(len(data) / self.request.rate, self.resume)

    def resume(self) -> None:
        if not self.transport.is_closing():
            self.transport.resume_reading()

    def advance(self) -> None:
        if self.answering:
            return
        if not self.request:
            end = self.buffer.find(b"\r\n\r\n")
            if end < 0:
                return
            self.request = read_head(bytes(self.buffer[:end]))
            del self.buffer[:end + 4]
        if self.is_over:
            self.origin.note("late", self.request)
            self.request = None
        elif self.request.body.take(self.buffer):
            self.origin.note("did", self.request)
            self.answering = asyncio.create_task(self.answer(self.request))

    async def answer(self, request: Request) -> None:
        mode, *words = self.origin.mode.split()
        if mode == "delay":
            await asyncio.sleep(float(words[0]))
        elif self.origin.delay:
            await asyncio.sleep(self.origin.delay)
        if mode == "reset-head":
            self.transport.write(b"HTTP/1.1 200 OK\r\nContent-Le")
            await asyncio.sleep(_MOMENT)
            return self.reset()
        if mode == "garbage":
            self.transport.write(b"\x16\x03\x01 * OK this is no HTTP\r\n\r\n")
            return self.transport.close()
        await self.respond(request, mode)
        self.request = self.answering = None
        if self.leaves or self.transport.is_closing():
            return self.end()
        if mode == "close":
            asyncio.get_running_loop().call_later(random.uniform(0, 0.003), self.leave)
        self.advance()

    async def respond(self, request: Request, mode: str) -> None:
        kind, *words = request.words
        if kind in ("cut", "reset"):
            return await self.cut(request, words[0], int(words[1]), kind == "reset")
        if kind in ("bytes", "chunks", "end"):
            if mode == "reset-body" and int(words[0]) >= _LEAST_CUT:
                return await self.cut(request, kind, int(words[0]), True)
            return await self.send(request, kind, int(words[0]), int(words[0]))
        if kind == "sum":
            return self.text("200 OK", f"{request.body.sum:08x}\n".encode())
        file = self.origin.site / request.target.lstrip("/")
        found = file.read_bytes() if file.is_file() else None
        self.origin.note("404" if found is None else "200", request)
        return self.text("404 Not Found", b"") if found is None else self.text("200 OK", found)

    def text(self, status: str, body: bytes) -> None:
        self.transport.write(f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\n{self.ending()}\r\n".encode() + body)

    def ending(self) -> str:
        return "Connection: close\r\n" if self.leaves else ""

    async def send(self, request: Request, kind: str, size: int, until: int) -> None:
        """A response whose body has this size, until so many bytes of it are sent."""
        framing = {"bytes": f"Content-Length: {size}\r\n{self.ending()}",
                   "chunks": f"Transfer-Encoding: chunked\r\n{self.ending()}", "end": "Connection: close\r\n"}[kind]
        sent = f"HTTP/1.1 200 OK\r\nX-Id: {request.id}\r\nX-Server: {self.origin.name}\r\n{framing}\r\n".encode()
        for piece in content.pieces(request.id, until):
            sent += b"%x\r\n%b\r\n" % (len(piece), piece) if kind == "chunks" else piece
            self.transport.write(sent)
            sent = b""
            await self.writable.wait()
        if kind == "chunks" and until == size:
            sent += b"0\r\n\r\n"
        self.transport.write(sent)
        if kind == "end" and until == size:
            self.transport.close()

    async def cut(self, request: Request, kind: str, size: int, by_reset: bool) -> None:
        self.origin.note("cut", request)
        await self.send(request, kind, size, size // 2)
        await asyncio.sleep(_MOMENT)
        if by_reset:
            self.reset()
        else:
            self.transport.close()

    def reset(self) -> None:
        with contextlib.suppress(OSError):
            self.transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.transport.abort()

    def leave(self) -> None:
        """Ends the connection when it has nothing to do."""
        self.leaves = True
        if not self.request and not self.buffer:
            self.end()

    def end(self) -> None:
        """Says that nothing comes any more, and still notes what the peer had sent by then."""
        if self.is_over or self.transport.is_closing():
            return
        self.is_over = True
        # Perhaps the peer was faster.
        with contextlib.suppress(OSError):
            self.transport.write_eof()
        asyncio.get_running_loop().call_later(_LINGER, self.transport.close)

    def eof_received(self) -> None:
        """None: the transport closes itself."""
