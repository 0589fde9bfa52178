"""A TCP connection that is received from until a moment."""

from __future__ import annotations

import socket
import time

AT_ONCE = 1 << 18


class Ended(Exception):
    """The server has closed the connection."""


class Transport:
    def __init__(self, address: tuple[str, int], limit: float) -> None:
        self.socket = socket.create_connection(address, timeout=limit)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def send(self, data: bytes) -> None:
        self.socket.settimeout(None)
        self.socket.sendall(data)

    def receive(self, until: float) -> bytes:
        """The next bytes, or nothing if none arrive in time."""
        self.socket.settimeout(max(until - time.monotonic(), 0.0001))
        try:
            data = self.socket.recv(AT_ONCE)
        except TimeoutError:
            return b""
        if not data:
            raise Ended
        return data
