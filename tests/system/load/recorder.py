"""A server that notes every request, connection by connection, and takes its time."""

from __future__ import annotations

import dataclasses
import socket
import time

from .peers import Raw, requests

ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nX-Token: %s\r\n\r\nok"
# So slow that several generators fit on a machine, and each thousandth of a second says something.
PAUSE = 0.002


@dataclasses.dataclass(frozen=True)
class Request:
    """A request that arrived. The order of its fields does not count, since wrk takes that of a Lua table."""

    method: str
    target: str
    fields: frozenset[tuple[str, str]]
    body: bytes

    @classmethod
    def parse(cls, text: bytes) -> "Request":
        head, _, body = text.partition(b"\r\n\r\n")
        first, *lines = head.decode("latin-1").split("\r\n")
        method, target, version = first.split(" ")
        assert version == "HTTP/1.1", version
        fields = [tuple(line.split(": ", 1)) for line in lines]
        assert len(set(fields)) == len(fields), fields
        return cls(method, target, frozenset(fields), body)


class Recorder(Raw):
    """Notes requests while the `with` block runs."""

    def __init__(self, token: str = "secret") -> None:
        super().__init__(self._record)
        self.answer = ANSWER % token.encode()
        self.noted: list[list[Request]] = []

    def _record(self, connection: socket.socket) -> None:
        mine: list[Request] = []
        for text in requests(connection):
            if not mine:
                self.noted.append(mine)
            mine.append(Request.parse(text))
            time.sleep(PAUSE)
            connection.sendall(self.answer)

    def take(self) -> list[list[Request]]:
        """The requests of each connection that had any, the longest first."""
        noted, self.noted = self.noted, []
        return sorted(noted, key=len, reverse=True)
