"""WebSocket in a stream (RFC 8441) against a handler that knows HTTP/1.1's upgrade alone; and CONNECT, the plain tunnel."""

from __future__ import annotations

import os
import struct

from .. import wire
from ..priorities import frames
from ..server import Server
from ..verdict import Verdict
from . import fields
from .client import Connection

ENABLE_CONNECT_PROTOCOL = 8
CONNECT = b"CONNECT"
METHOD, SCHEME = 2, 6
# RFC 6455 §5.2.
TEXT, BINARY, CLOSE, PING, PONG = 1, 2, 8, 9, 10


def run(verdict: Verdict) -> None:
    with Server.example("websocket") as server:
        for version, open_socket in (("HTTP/1.1", over_http1), ("HTTP/2", over_http2)):
            try:
                talk(version, open_socket(server), verdict)
            except (OSError, wire.Cut, wire.Malformed, AssertionError) as error:
                verdict.check(False, f"WebSocket over {version}: {type(error).__name__}: {error}")
        verdict.check(server.is_running() and not server.panics(), f"WebSocket: {server.said()[-300:]}")


class Stream:
    """Bytes of one stream, as a socket has them."""

    def __init__(self, connection: Connection, stream: int) -> None:
        self.connection, self.stream, self.frames, self.is_over = connection, stream, connection.frames(), False

    def send(self, data: bytes, *, last: bool = False) -> None:
        for at in range(0, max(len(data), 1), 16384):
            piece = data[at:at + 16384]
            end = frames.END_STREAM if last and at + 16384 >= len(data) else 0
            self.connection.send(frames.frame(frames.DATA, end, self.stream, piece))

    def receive(self) -> bytes:
        for frame in self.frames:
            if frame.kind in (frames.RST_STREAM, frames.GOAWAY) and frame.stream in (0, self.stream):
                raise wire.Cut(frame.code)
            if frame.kind == frames.DATA and frame.stream == self.stream:
                self.is_over = frame.is_last
                return frame.payload


def over_http2(server: Server) -> Stream:
    connection = Connection(server.address, 10)
    for frame in connection.frames():
        if frame.kind == frames.SETTINGS:
            break
    assert connection.settings.get(ENABLE_CONNECT_PROTOCOL) == 1, f"the server announces {connection.settings}"
    stream, connection.next_stream = connection.next_stream, connection.next_stream + 2
    block = b"".join([
        fields.literal(METHOD, CONNECT), fields.literal(b":protocol", b"websocket"), fields.literal(SCHEME, b"http"),
        fields.literal(fields.PATH, b"/"), fields.literal(fields.AUTHORITY, b"localhost"),
        fields.literal(b"sec-websocket-version", b"13"), fields.literal(b"origin", b"http://localhost")])
    connection.send(fields.headers(stream, block, end_stream=False))
    head = connection.until(frames.HEADERS, stream)
    assert fields.status(head.payload) == 200, f"status {fields.status(head.payload)}"
    return Stream(connection, stream)


class Upgraded:
    """The same of a whole connection."""

    def __init__(self, connection: wire.Connection) -> None:
        self.connection = connection

    def send(self, data: bytes, *, last: bool = False) -> None:
        self.connection.send(data)

    def receive(self) -> bytes:
        rest, self.connection.rest = self.connection.rest, b""
        received = rest or self.connection.socket.recv(65536)
        if not received:
            raise wire.Cut("closed")
        return received


def over_http1(server: Server) -> Upgraded:
    connection = wire.Connection(server.address, 10)
    connection.send(wire.request("/", {"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13",
                                       "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ=="}))
    head = b""
    while b"\r\n\r\n" not in head:
        head += connection.socket.recv(65536)
    head, _, connection.rest = head.partition(b"\r\n\r\n")
    answer = wire.parse_head(head)
    assert answer.status == 101, f"status {answer.status}"
    # RFC 6455 §1.3 has this example.
    assert answer.get("sec-websocket-accept") == "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=", answer.headers
    return Upgraded(connection)


def message(kind: int, payload: bytes) -> bytes:
    """From a client, so masked (RFC 6455 §5.3)."""
    mask = os.urandom(4)
    size = len(payload)
    length = bytes([0x80 | size]) if size < 126 else \
        struct.pack(">BH", 0x80 | 126, size) if size < 1 << 16 else struct.pack(">BQ", 0x80 | 127, size)
    key = int.from_bytes((mask * (size // 4 + 1))[:size], "big")
    masked = (int.from_bytes(payload, "big") ^ key).to_bytes(size, "big") if size else b""
    return bytes([0x80 | kind]) + length + mask + masked


class Messages:
    """Whole messages out of what is received."""

    def __init__(self, stream) -> None:
        self.stream, self.rest = stream, b""

    def next(self) -> tuple[int, bytes]:
        while True:
            if len(self.rest) >= 2:
                size, start = self.rest[1] & 127, 2
                if size == 126 and len(self.rest) >= 4:
                    size, start = struct.unpack(">H", self.rest[2:4])[0], 4
                elif size == 127 and len(self.rest) >= 10:
                    size, start = struct.unpack(">Q", self.rest[2:10])[0], 10
                if size not in (126, 127) or start > 2:
                    if len(self.rest) >= start + size:
                        found = self.rest[0] & 15, self.rest[start:start + size]
                        self.rest = self.rest[start + size:]
                        return found
            self.rest += self.stream.receive()


def talk(version: str, stream, verdict: Verdict) -> None:
    messages, count = Messages(stream), 0
    # Which version the handler was asked by.
    verdict.check(messages.next() == (TEXT, {"HTTP/2": "HTTP/2.0"}.get(version, version).encode()), f"WebSocket over {version}: odd greeting")
    for kind, length in ((TEXT, 0), (TEXT, 5), (BINARY, 125), (BINARY, 126), (BINARY, 20_000), (BINARY, 60_000)):
        payload = os.urandom(length) if kind == BINARY else b"serow"[:length]
        stream.send(message(kind, payload))
        got = messages.next()
        verdict.check(got == (kind, payload), f"WebSocket over {version}: {length} bytes came back as {got[0]}, {len(got[1])}")
        count += 1
    stream.send(message(PING, b"there?"))
    verdict.check(messages.next() == (PONG, b"there?"), f"WebSocket over {version}: no pong")
    stream.send(message(CLOSE, b"\x03\xe8"), last=True)
    verdict.check(messages.next() == (CLOSE, b"\x03\xe8"), f"WebSocket over {version}: no close")
    verdict.figure(f"WebSocket over {version}: {count} messages there and back, ping, close")
