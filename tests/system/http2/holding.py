"""Clients that begin something and do not go on: are they cut off in time, and what do they cost meanwhile?"""

from __future__ import annotations

import dataclasses
import ssl

from .. import attack
from ..priorities import frames
from . import fields
from .attacks import posted
from .client import greeting


@dataclasses.dataclass(frozen=True)
class Hold:
    """One way to hold a connection."""

    name: str
    slow: attack.Slow
    # The time that the server gives for it, in seconds.
    timeout: float
    server: str = "files"
    # The most memory that each connection may take, in bytes.
    most: int = 64 << 10


def client_hello() -> bytes:
    """The first flight of a real client."""
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    context = ssl.create_default_context()
    context.set_alpn_protocols(["h2"])
    session = context.wrap_bio(incoming, outgoing, server_hostname="localhost")
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
        Hold("slow preface", attack.Slow(frames.PREFACE[:10], frames.PREFACE[10:11]), head),
        Hold("slow header block, CONTINUATION by the second", attack.Slow(
            greeting() + fields.headers(1, fields.request(), end_headers=False),
            frames.frame(fields.CONTINUATION, 0, 1, fields.literal(b"a", b"b"))), head),
        Hold("slow frame, byte by byte", attack.Slow(greeting() + frames.frame(frames.HEADERS, 5, 1, bytes(200))[:9],
                                                     b"\x82"), head),
        Hold("slow TLS handshake", attack.Slow(client_hello()[:100], b"\x01"), head, "tls"),
        Hold("128 windows never opened", attack.Slow(greeting(shut) + many_large), body, most=512 << 10),
        Hold("128 windows opened byte by byte", attack.Slow(greeting(shut) + many_large, b"".join(
            frames.window_update(stream, 1) for stream in range(1, 256, 2))), body, most=512 << 10),
        Hold("responses never taken from the socket", attack.Slow(
            greeting({frames.INITIAL_WINDOW_SIZE: frames.LARGEST_WINDOW})
            + frames.window_update(0, frames.LARGEST_WINDOW - frames.FIRST_WINDOW) + many_large, reads=5), body,
            most=512 << 10),
    ]
    if full:
        # The echo has the times it has by default.
        half_open = b"".join(posted(stream) for stream in range(1, 256, 2))
        data = b"".join(frames.frame(frames.DATA, 0, stream, b"x") for stream in range(1, 256, 2))
        found += [
            Hold("128 streams left half-closed", attack.Slow(greeting() + half_open), 30.0, "echo", 1 << 20),
            Hold("128 bodies, byte by byte", attack.Slow(greeting() + half_open, data), 30.0, "echo", 1 << 20),
        ]
    return found
