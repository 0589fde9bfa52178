"""A WebSocket to an application."""

from __future__ import annotations

from .. import wire
from ..http2.websocket import BINARY, CLOSE, PING, PONG, TEXT, Upgraded, message

# RFC 6455 §1.3 has this example.
KEY, ACCEPT = "dGhlIHNhbXBsZSBub25jZQ==", "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="


class WebSocket:
    def __init__(self, stream: Upgraded) -> None:
        self.stream, self.rest = stream, b""

    def __enter__(self) -> "WebSocket":
        return self

    def __exit__(self, *_) -> None:
        self.stream.connection.close()

    def send(self, content: str | bytes) -> None:
        kind, payload = (TEXT, content.encode()) if isinstance(content, str) else (BINARY, content)
        self.stream.send(message(kind, payload))

    def receive(self) -> str | bytes:
        """The next message; a close is an error."""
        kind, payload = self.message()
        if kind == CLOSE:
            raise wire.Cut(f"closed with {int.from_bytes(payload[:2], 'big')} {payload[2:].decode(errors='replace')}")
        return payload.decode() if kind == TEXT else payload

    def close(self) -> int:
        """Closes; the code of the reply."""
        self.stream.send(message(CLOSE, b"\x03\xe8"))
        while True:
            kind, payload = self.message()
            if kind == CLOSE:
                return int.from_bytes(payload[:2], "big")

    def message(self) -> tuple[int, bytes]:
        """A whole message of one or several frames (RFC 6455 §5.4), or a close; pings get their pongs."""
        pieces, first = [], 0
        while True:
            is_last, kind, payload = self.frame()
            if kind == CLOSE:
                return kind, payload
            if kind == PING:
                self.stream.send(message(PONG, payload))
            elif kind != PONG:
                first = first or kind
                pieces.append(payload)
                if is_last:
                    return first, b"".join(pieces)

    def frame(self) -> tuple[bool, int, bytes]:
        head = self.take(2)
        size = head[1] & 127
        if size >= 126:
            size = int.from_bytes(self.take(2 if size == 126 else 8), "big")
        return bool(head[0] & 128), head[0] & 15, self.take(size)

    def take(self, count: int) -> bytes:
        while len(self.rest) < count:
            self.rest += self.stream.receive()
        taken, self.rest = self.rest[:count], self.rest[count:]
        return taken


def connect(port: int, path: str, headers: dict[str, str]) -> WebSocket:
    connection = wire.Connection(("127.0.0.1", port))
    fields = {"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": KEY}
    connection.send(wire.request(path, fields | headers, host=f"127.0.0.1:{port}"))
    head = b""
    while b"\r\n\r\n" not in head:
        received = connection.socket.recv(65536)
        if not received:
            raise wire.Cut(f"{path}: closed before a response")
        head += received
    head, _, connection.rest = head.partition(b"\r\n\r\n")
    answer = wire.parse_head(head)
    if answer.status != 101 or answer.get("sec-websocket-accept") != ACCEPT:
        raise wire.Malformed(f"{path}: {answer.status} {answer.headers}")
    return WebSocket(Upgraded(connection))
