"""A TCP connection, plain or TLS, that knows at which byte of it what was received began."""

from __future__ import annotations

import socket
import ssl
import time
from collections.abc import Iterator

RECORD_HEADER = 5
AT_ONCE = 1 << 18


class Ended(Exception):
    """The server has closed the connection."""


class Plain:
    def __init__(self, address: tuple[str, int], limit: float) -> None:
        self.socket = socket.create_connection(address, timeout=limit)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.sent = self.received = 0

    def send(self, data: bytes) -> None:
        self.socket.settimeout(None)
        self.socket.sendall(data)
        self.sent += len(data)

    def more(self, until: float) -> bytes:
        """What is there, or nothing when the time has come."""
        self.socket.settimeout(max(until - time.monotonic(), 0.0001))
        try:
            data = self.socket.recv(AT_ONCE)
        except TimeoutError:
            return b""
        if not data:
            raise Ended
        self.received += len(data)
        return data

    def receive(self, until: float) -> Iterator[tuple[int, bytes]]:
        """Pieces, each with its place in the TCP connection."""
        data = self.more(until)
        if data:
            yield self.received - len(data), data


class Tls(Plain):
    """Records are taken one by one: nothing of a record can be used before its last byte is there."""

    def __init__(self, address: tuple[str, int], limit: float) -> None:
        super().__init__(address, limit)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        context.set_alpn_protocols(["h2"])
        self.incoming, self.outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.session = context.wrap_bio(self.incoming, self.outgoing, server_hostname="lab.example")
        # The beginning of a record whose end is missing, and its place.
        self.waiting, self.place = b"", 0
        self.shake_hands(time.monotonic() + limit)

    def shake_hands(self, until: float) -> None:
        while True:
            try:
                self.session.do_handshake()
                break
            except ssl.SSLWantReadError:
                self.flush()
            if not any([True for _ in self.records(until)]) and time.monotonic() > until:
                raise Ended("no answer to the handshake")
        self.flush()
        if self.session.selected_alpn_protocol() != "h2":
            raise Ended("the server does not speak h2")

    def flush(self) -> None:
        if data := self.outgoing.read():
            super().send(data)

    def send(self, data: bytes) -> None:
        self.session.write(data)
        self.flush()

    def receive(self, until: float) -> Iterator[tuple[int, bytes]]:
        # What the handshake's last bytes brought along.
        yield from self.read(self.place)
        for place in self.records(until):
            yield from self.read(place)

    def records(self, until: float) -> Iterator[int]:
        """Gives whole records to the session, one at a time, and says where each began."""
        self.waiting += self.more(until)
        while len(self.waiting) >= RECORD_HEADER:
            size = RECORD_HEADER + int.from_bytes(self.waiting[3:5], "big")
            if len(self.waiting) < size:
                return
            record, self.waiting = self.waiting[:size], self.waiting[size:]
            place, self.place = self.place, self.place + size
            self.incoming.write(record)
            yield place

    def read(self, place: int) -> Iterator[tuple[int, bytes]]:
        while True:
            try:
                data = self.session.read(AT_ONCE)
            except ssl.SSLWantReadError:
                return
            if not data:
                raise Ended
            yield place, data
