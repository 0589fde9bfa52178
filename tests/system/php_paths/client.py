"""Requests with paths as they are, many at a time over kept connections."""

from __future__ import annotations

import socket
from typing import NamedTuple

TIMEOUT = 60
CONNECTIONS, BATCH = 6, 24


class Request(NamedTuple):
    method: str
    host: str
    path: bytes

    def encoded(self) -> bytes:
        length = b"Content-Length: 0\r\n" if self.method == "POST" else b""
        return b"%s %s HTTP/1.1\r\nHost: %s\r\n%s\r\n" % (self.method.encode(), self.path, self.host.encode(), length)


class Response(NamedTuple):
    status: int
    head: bytes
    body: bytes

    @property
    def location(self) -> bytes:
        _, _, rest = self.head.lower().partition(b"\r\nlocation: ")
        start = len(self.head) - len(rest)
        return self.head[start:].partition(b"\r\n")[0]


class Connection:
    """Sends requests one behind the other, and opens a new connection where the server has closed one."""

    def __init__(self, port: int) -> None:
        self.port, self.left, self.input = port, [], b""
        self.socket: socket.socket | None = None

    def send(self, requests: list[Request]) -> None:
        self.left = list(requests)
        self.input = b""
        if self.socket is None:
            self.socket = socket.create_connection(("127.0.0.1", self.port), TIMEOUT)
        try:
            self.socket.sendall(b"".join(request.encoded() for request in requests))
        except OSError:
            self.reopen()

    def receive(self) -> list[Response]:
        responses = []
        failures = 0
        while self.left:
            try:
                response = self.next()
            except OSError:
                response = None
            if response is None:
                # Closed behind the last response: the others were not looked at.
                failures += 1
                if failures > 2:
                    raise ConnectionError(f"no response to {self.left[0]}")
                self.reopen()
                continue
            failures = 0
            responses.append(response)
            self.left.pop(0)
            if b"\r\nconnection: close\r\n" in response.head.lower() + b"\r\n" and self.left:
                self.reopen()
        return responses

    def reopen(self) -> None:
        self.close()
        self.send(self.left)

    def close(self) -> None:
        if self.socket is not None:
            self.socket.close()
            self.socket = None

    def next(self) -> Response | None:
        while (end := self.input.find(b"\r\n\r\n")) < 0:
            if not self.more():
                return None
        head, self.input = self.input[:end + 2], self.input[end + 4:]
        status, low = int(head[9:12]), head.lower()
        if b"\r\ntransfer-encoding: chunked" in low:
            body = b""
            while True:
                while (end := self.input.find(b"\r\n")) < 0:
                    if not self.more():
                        return None
                length, self.input = int(self.input[:end], 16), self.input[end + 2:]
                if not self.fill(length + 2):
                    return None
                body, self.input = body + self.input[:length], self.input[length + 2:]
                if length == 0:
                    return Response(status, head, body)
        at = low.find(b"\r\ncontent-length: ")
        length = int(low[at + 18:low.index(b"\r\n", at + 18)]) if at >= 0 else 0
        if not self.fill(length):
            return None
        body, self.input = self.input[:length], self.input[length:]
        return Response(status, head, body)

    def fill(self, length: int) -> bool:
        while len(self.input) < length:
            if not self.more():
                return False
        return True

    def more(self) -> bool:
        piece = self.socket.recv(1 << 18)
        self.input += piece
        return bool(piece)


class Client:
    def __init__(self, port: int) -> None:
        self.connections = [Connection(port) for _ in range(CONNECTIONS)]

    def ask(self, requests: list[Request]) -> list[Response]:
        """The responses to at most CONNECTIONS × BATCH requests, in their order."""
        parts = [requests[at::CONNECTIONS] for at in range(CONNECTIONS)]
        used = [(connection, part) for connection, part in zip(self.connections, parts) if part]
        for connection, part in used:
            connection.send(part)
        responses: list[Response | None] = [None] * len(requests)
        for at, (connection, _) in enumerate(used):
            responses[at::CONNECTIONS] = connection.receive()
        return responses

    def close(self) -> None:
        for connection in self.connections:
            connection.close()
