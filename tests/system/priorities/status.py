"""The status of Serow: JSON from its admin socket."""

from __future__ import annotations

import http.client
import json
import socket

# The one place that knows the names in `GET /status`: microseconds that 99 of 100 bytes waited in the kernel at most.
QUEUE_DELAY_P99 = ("pacing", "queue_delay", "p99_us")


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path: str) -> None:
        super().__init__("localhost", timeout=5)
        self.path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


def status(path: str) -> dict:
    connection = UnixConnection(path)
    try:
        connection.request("GET", "/status")
        return json.loads(connection.getresponse().read())
    finally:
        connection.close()


def queue_delay_p99(path: str) -> float | None:
    """In milliseconds; nothing where the server has no such socket, or does not say it."""
    try:
        found = status(path)
        for name in QUEUE_DELAY_P99:
            found = found[name]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return found / 1000 if isinstance(found, (int, float)) else None
