"""A QUIC connection of aioquic over a socket of our own: it can do what clients must not."""

from __future__ import annotations

import select
import socket
import ssl
import time
from collections.abc import Callable

from aioquic.buffer import Buffer
from aioquic.quic import events
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.connection import QuicConnection
from aioquic.quic.packet import QuicPacketType
from aioquic.tls import Epoch

from .. import wire

LARGEST_DATAGRAM = 1 << 16
# A busy machine loses datagrams where the buffer is small.
BUFFER = 4 << 20


def varint(number: int) -> bytes:
    """RFC 9000 §16."""
    for length, bits in ((1, 6), (2, 14), (4, 30), (8, 62)):
        if number < 1 << bits:
            return (number | (length.bit_length() - 1) << (8 * length - 2)).to_bytes(length, "big")
    raise ValueError(number)


def configuration(**options) -> QuicConfiguration:
    return QuicConfiguration(**{"alpn_protocols": ["h3"], "is_client": True, "verify_mode": ssl.CERT_NONE,
                                "server_name": "localhost", "max_data": 16 << 20, "max_stream_data": 4 << 20,
                                "supported_versions": [1]} | options)


class Quic(QuicConnection):
    """Adds raw frames to packets, and changes transport parameters and headers."""

    def __init__(self, options: QuicConfiguration, **rest) -> None:
        # Frames that go into a packet of their own, by epoch.
        self.raw: dict[Epoch, list[bytes]] = {}
        # Transport parameters that are left out, and those that are added.
        self.left_out: set[int] = set()
        self.added: dict[int, bytes] = {}
        # Changes to the header and the content of packets, by epoch.
        self.changes: dict[Epoch, Callable[[bytes, bytes], tuple[bytes, bytes]]] = {}
        self.has_parameters = True
        super().__init__(configuration=options, **rest)

    def _serialize_transport_parameters(self) -> bytes:
        serialized, kept = Buffer(data=super()._serialize_transport_parameters()), b""
        while not serialized.eof():
            number, length = serialized.pull_uint_var(), serialized.pull_uint_var()
            value = serialized.pull_bytes(length)
            if number not in self.left_out | self.added.keys():
                kept += varint(number) + varint(length) + value
        return kept + b"".join(varint(number) + varint(len(value)) + value for number, value in self.added.items())

    def _write_raw(self, builder, epoch: Epoch, kind: QuicPacketType) -> None:
        crypto = self._cryptos[epoch] if epoch in self._cryptos else None
        if crypto is None or not crypto.send.is_valid() or not self.raw.get(epoch):
            return
        self._change_packets(epoch)
        for content in self.raw.pop(epoch):
            builder.start_packet(kind, crypto)
            builder._buffer.push_bytes(content)
            builder._packet.is_ack_eliciting = builder._packet.in_flight = True

    def _initialize(self, peer_cid: bytes) -> None:
        super()._initialize(peer_cid)
        if not self.has_parameters:
            self.tls.handshake_extensions = []

    def _change_packets(self, epoch: Epoch) -> None:
        crypto, change = self._cryptos[epoch], self.changes.pop(epoch, None)
        if change:
            encrypt = crypto.encrypt_packet
            crypto.encrypt_packet = lambda header, payload, number: encrypt(*change(header, payload), number)

    def _write_handshake(self, builder, epoch, now) -> None:
        kind = QuicPacketType.INITIAL if epoch == Epoch.INITIAL else QuicPacketType.HANDSHAKE
        self._write_raw(builder, epoch, kind)
        super()._write_handshake(builder, epoch, now)

    def _write_application(self, builder, network_path, now) -> None:
        self._write_raw(builder, Epoch.ONE_RTT, QuicPacketType.ONE_RTT)
        super()._write_application(builder, network_path, now)


class Transport:
    """The connection and its socket. All happens within `pump`."""

    def __init__(self, address: tuple[str, int], options: QuicConfiguration | None = None, prepare: Callable | None = None,
                 **rest) -> None:
        self.address = address
        self.socket = self._bound()
        self.quic = Quic(options or configuration(), **rest)
        if prepare:
            prepare(self.quic)
        self.handshake: events.HandshakeCompleted | None = None
        self.ended: events.ConnectionTerminated | None = None
        self.resets: dict[int, int] = {}
        self.stops: dict[int, int] = {}
        self.bytes_sent = self.bytes_received = 0
        # Whether datagrams are dropped instead of sent.
        self.drop = False
        self.quic.connect(address, time.monotonic())

    def _bound(self) -> socket.socket:
        made = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, BUFFER)
        made.connect(self.address)
        made.setblocking(False)
        return made

    def __enter__(self):
        return self

    def __exit__(self, *_) -> None:
        self.close()

    def close(self) -> None:
        if self.socket.fileno() >= 0:
            if self.ended is None:
                self.quic.close(0x100)
                try:
                    self.send()
                except OSError:
                    pass
            self.socket.close()

    def change_port(self) -> None:
        """As a NAT does it (RFC 9000 §9.3): the server learns it from the next packet."""
        self.socket.close()
        self.socket = self._bound()

    def pump(self, done: Callable[[], bool], seconds: float = 30.0, what: str = "") -> bool:
        """Sends and receives until something is so; false if the time is up or the connection has ended before."""
        until = time.monotonic() + seconds
        while True:
            self.handle_events()
            if done():
                self.send()
                return True
            if self.ended is not None:
                return False
            self.send()
            now = time.monotonic()
            if now >= until:
                return False
            timer = self.quic.get_timer()
            wait = min(until, timer if timer is not None else until) - now
            if select.select([self.socket], [], [], max(0.0, wait))[0]:
                self.receive()
            now = time.monotonic()
            timer = self.quic.get_timer()
            if timer is not None and timer <= now:
                self.quic.handle_timer(now)

    def complete(self, seconds: float = 30.0) -> None:
        """The handshake."""
        if not self.pump(lambda: self.handshake is not None, seconds):
            raise wire.Cut(f"no handshake: {self.ended}")

    def send(self) -> None:
        for data, _ in self.quic.datagrams_to_send(time.monotonic()):
            self.bytes_sent += len(data)
            if not self.drop:
                try:
                    self.socket.send(data)
                except BlockingIOError:
                    pass

    def receive(self) -> None:
        # A turn's worth: so that what is acknowledged is sent in time.
        for _ in range(64):
            try:
                data = self.socket.recv(LARGEST_DATAGRAM)
            except BlockingIOError:
                return
            self.bytes_received += len(data)
            self.quic.receive_datagram(data, self.address, time.monotonic())

    def handle_events(self) -> None:
        while (event := self.quic.next_event()) is not None:
            self.handle(event)

    def handle(self, event: events.QuicEvent) -> None:
        match event:
            case events.HandshakeCompleted():
                self.handshake = event
            case events.ConnectionTerminated():
                self.ended = event
            case events.StreamReset():
                self.resets[event.stream_id] = event.error_code
            case events.StopSendingReceived():
                self.stops[event.stream_id] = event.error_code
