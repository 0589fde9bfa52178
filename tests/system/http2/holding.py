"""Clients that begin something and do not go on: are they cut off in time, and what do they cost meanwhile?"""

from __future__ import annotations

import collections
import dataclasses
import select
import ssl

from .. import attack as slow_clients, encryption
from ..priorities import frames
from . import fields
from .attacks import PING, posted
from .client import greeting, split


@dataclasses.dataclass(frozen=True)
class Hold:
    """One way to hold a connection."""

    name: str
    slow: slow_clients.Slow
    # The time that the server gives for it, in seconds.
    timeout: float
    server: str = "files"
    # The most memory that each connection may take, in bytes.
    most: int = 64 << 10
    # Whether it is the streams that are cut off, and the connection may go on.
    streams: int = 0


class WatchedStreams(slow_clients.Watched):
    """A connection is over when so many of its streams were reset."""

    def __init__(self, address: tuple[str, int], hold: Hold, count: int) -> None:
        self.streams, self.heard = hold.streams, collections.defaultdict(lambda: [b"", 0])
        super().__init__(address, hold.slow, count)

    def _look(self, seconds: float) -> None:
        readable = select.select(self.open, [], [], seconds)[0]
        for one in readable:
            heard = self.heard[one]
            try:
                received = one.recv(65536)
            except OSError:
                received = b""
            found, heard[0] = split(heard[0] + received)
            heard[1] += sum(frame.kind == frames.RST_STREAM for frame in found)
            if not received or heard[1] >= self.streams:
                self._note(one)


def watched(address: tuple[str, int], hold: Hold, count: int) -> slow_clients.Watched:
    return WatchedStreams(address, hold, count) if hold.streams else slow_clients.Watched(address, hold.slow, count)


def client_hello() -> bytes:
    """The first flight of a real client."""
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    session = encryption.context("h2").wrap_bio(incoming, outgoing, server_hostname="localhost")
    try:
        session.do_handshake()
    except ssl.SSLWantReadError:
        pass
    return outgoing.read()


def holds(head: float, body: float, full: bool) -> list[Hold]:
    """With the server's times for a head and for a body."""
    many_large = b"".join(fields.headers(stream, fields.request(b"/large")) for stream in range(1, 256, 2))
    shut = {frames.INITIAL_WINDOW_SIZE: 0}
    found = [
        Hold("slow preface", slow_clients.Slow(frames.PREFACE[:10], frames.PREFACE[10:11]), head),
        Hold("slow header block, CONTINUATION by the second", slow_clients.Slow(
            greeting() + fields.headers(1, fields.request(), end_headers=False),
            frames.frame(fields.CONTINUATION, 0, 1, fields.literal(b"a", b"b"))), head),
        Hold("slow frame, byte by byte", slow_clients.Slow(greeting() + frames.frame(frames.HEADERS, 5, 1, bytes(200))[:9],
                                                     b"\x82"), head),
        Hold("slow TLS handshake", slow_clients.Slow(client_hello()[:100], b"\x01"), head, "tls"),
        Hold("128 windows never opened", slow_clients.Slow(greeting(shut) + many_large, PING), body, most=512 << 10, streams=128),
        Hold("128 windows opened byte by byte", slow_clients.Slow(greeting(shut) + many_large, b"".join(
            frames.window_update(stream, 1) for stream in range(1, 256, 2))), body, most=512 << 10, streams=128),
        Hold("responses never taken from the socket", slow_clients.Slow(
            greeting({frames.INITIAL_WINDOW_SIZE: frames.LARGEST_WINDOW})
            + frames.window_update(0, frames.LARGEST_WINDOW - frames.FIRST_WINDOW) + many_large, reads=5), body,
            most=512 << 10),
    ]
    if full:
        # The echo has the times it has by default.
        half_open = b"".join(posted(stream) for stream in range(1, 256, 2))
        data = b"".join(frames.frame(frames.DATA, 0, stream, b"x") for stream in range(1, 256, 2))
        found += [
            Hold("128 streams left half-closed", slow_clients.Slow(greeting() + half_open, PING), 30.0, "echo", 1 << 20, 128),
            Hold("128 bodies, byte by byte", slow_clients.Slow(greeting() + half_open, data), 30.0, "echo", 1 << 20, 128),
        ]
    return found
