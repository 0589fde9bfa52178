"""WebSocket through the proxy, over HTTP/1.1's upgrade and HTTP/2's extended CONNECT, to a server that knows the upgrade alone."""

from __future__ import annotations

import base64
import hashlib
import os
import pathlib
import socket
from collections.abc import Callable

from .. import wire
from ..http2.websocket import (BINARY, CLOSE, PING, PONG, TEXT, Messages, Stream, Upgraded, message, over_http1,
                               over_http2)
from ..load.peers import Raw
from ..polling import wait_until
from ..verdict import Verdict
from .proxies import Serow

# RFC 6455 §1.3.
GUID = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
SECONDS = 5.0


class Echo(Raw):
    """Sends back each message; notes how it was asked and how its connections ended."""

    def __init__(self) -> None:
        super().__init__(self.talk)
        self.asked: list[tuple[str, dict[str, str]]] = []
        self.endings: list[str] = []

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    def talk(self, connection: socket.socket) -> None:
        rest = b""
        while b"\r\n\r\n" not in rest:
            rest += connection.recv(65536)
        head, _, rest = rest.partition(b"\r\n\r\n")
        first, *lines = head.decode("latin-1").split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        self.asked.append((first, headers))
        if first.split(" ")[1] == "/refused":
            return connection.sendall(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 3\r\n\r\nno\n")
        accept = base64.b64encode(hashlib.sha1((headers.get("sec-websocket-key", "") + GUID).encode()).digest()).decode()
        connection.sendall(f"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                           f"Sec-WebSocket-Accept: {accept}\r\n\r\n".encode())
        self.endings.append(self.echo(connection, rest))
        return None

    def echo(self, connection: socket.socket, rest: bytes) -> str:
        messages = Masked(connection, rest)
        try:
            while True:
                kind, payload = messages.next()
                connection.sendall(unmasked(PONG if kind == PING else kind, payload))
                if kind == CLOSE:
                    return "closed"
        except (OSError, wire.Cut):
            return "cut"


class Masked:
    """Messages of a client (RFC 6455 §5.3)."""

    def __init__(self, connection: socket.socket, rest: bytes) -> None:
        self.connection, self.rest = connection, rest

    def next(self) -> tuple[int, bytes]:
        first, size = self.take(2)
        size &= 127
        if size > 125:
            size = int.from_bytes(self.take(2 if size == 126 else 8), "big")
        mask, payload = self.take(4), self.take(size)
        return first & 15, bytes(byte ^ mask[place % 4] for place, byte in enumerate(payload))

    def take(self, count: int) -> bytes:
        while len(self.rest) < count:
            received = self.connection.recv(65536)
            if not received:
                raise wire.Cut("closed")
            self.rest += received
        taken, self.rest = self.rest[:count], self.rest[count:]
        return taken


def unmasked(kind: int, payload: bytes) -> bytes:
    size = len(payload)
    length = bytes([size]) if size < 126 else b"\x7e" + size.to_bytes(2, "big") if size < 1 << 16 else b"\x7f" + size.to_bytes(8, "big")
    return bytes([0x80 | kind]) + length + payload


def through_the_proxy(verdict: Verdict, folder: pathlib.Path, short: bool) -> None:
    for version, open_socket in (("HTTP/1.1", over_http1), ("HTTP/2", over_http2)):
        with Echo() as echo, Serow(folder, (echo,), ()) as proxy:
            try:
                talk(verdict, version, open_socket(proxy), echo)
                gone(verdict, version, open_socket, proxy, echo)
            except (OSError, wire.Cut, wire.Malformed, AssertionError) as error:
                verdict.check(False, f"WebSocket over {version}: {type(error).__name__}: {error}")
            verdict.check(proxy.is_running() and not proxy.panics(), f"WebSocket: {proxy.said()[-300:]}")


def talk(verdict: Verdict, version: str, stream: Upgraded | Stream, echo: Echo) -> None:
    """Messages of all sizes there and back, then an orderly end."""
    messages, count = Messages(stream), 0
    for kind, length in ((TEXT, 0), (TEXT, 5), (BINARY, 125), (BINARY, 126), (BINARY, 20_000), (BINARY, 60_000)):
        payload = os.urandom(length) if kind == BINARY else b"serow"[:length]
        stream.send(message(kind, payload))
        got = messages.next()
        verdict.check(got == (kind, payload), f"WebSocket over {version}: {length} bytes came back as {got[0]}, {len(got[1])}")
        count += 1
    stream.send(message(PING, b"there?"))
    verdict.check(messages.next() == (PONG, b"there?"), f"WebSocket over {version}: no pong")
    stream.send(message(CLOSE, b"\x03\xe8"))
    verdict.check(messages.next() == (CLOSE, b"\x03\xe8"), f"WebSocket over {version}: no close")
    verdict.check(has_ended(stream), f"WebSocket over {version}: the server's end did not arrive")
    first, headers = echo.asked[0]
    verdict.check(first == "GET / HTTP/1.1" and headers.get("upgrade", "").lower() == "websocket"
                  and "upgrade" in headers.get("connection", "").lower() and headers.get("sec-websocket-version") == "13"
                  and len(base64.b64decode(headers.get("sec-websocket-key", ""))) == 16,
                  f"WebSocket over {version}: asked by {first}, {headers}")
    verdict.figure(f"WebSocket over {version} to HTTP/1.1: {count} messages there and back, ping, close")


def has_ended(stream: Upgraded | Stream) -> bool:
    """Whether the end comes, and in order."""
    try:
        while not getattr(stream, "is_over", False):
            stream.receive()
    except wire.Cut:
        # That of a connection; a stream has an end of its own.
        return isinstance(stream, Upgraded)
    except OSError:
        return False
    return True


def gone(verdict: Verdict, version: str, open_socket: Callable, proxy: Serow, echo: Echo) -> None:
    """A client that goes away without a word: the server notices."""
    stream = open_socket(proxy)
    stream.send(message(TEXT, b"hello"))
    verdict.check(Messages(stream).next() == (TEXT, b"hello"), f"WebSocket over {version}: no second connection")
    before = len(echo.endings)
    stream.connection.close()
    wait_until(lambda: len(echo.endings) > before)
    verdict.check(echo.endings[before:] == ["cut"], f"WebSocket over {version}: the server did not notice that the client is gone")


def refused(verdict: Verdict, folder: pathlib.Path, short: bool) -> None:
    """A server that does not want to upgrade: the client gets its answer."""
    with Echo() as echo, Serow(folder, (echo,), ()) as proxy:
        asked = wire.request("/refused", {"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13",
                                          "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ=="})
        with wire.Connection(proxy.address, SECONDS) as connection:
            connection.send(asked)
            answer = connection.receive()
        verdict.check((answer.status, answer.body) == (403, b"no\n"), f"a refused upgrade: {answer}")


CASES = (through_the_proxy, refused)
