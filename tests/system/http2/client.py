"""A client that hides nothing: frames out, frames in."""

from __future__ import annotations

import collections
import dataclasses
import socket
import ssl
import struct

from .. import encryption, wire
from ..priorities import frames
from . import fields

NAMES = {0: "NO_ERROR", 1: "PROTOCOL_ERROR", 2: "INTERNAL_ERROR", 3: "FLOW_CONTROL_ERROR", 4: "SETTINGS_TIMEOUT",
         5: "STREAM_CLOSED", 6: "FRAME_SIZE_ERROR", 7: "REFUSED_STREAM", 8: "CANCEL", 9: "COMPRESSION_ERROR",
         10: "CONNECT_ERROR", 11: "ENHANCE_YOUR_CALM", 12: "INADEQUATE_SECURITY", 13: "HTTP_1_1_REQUIRED"}


@dataclasses.dataclass
class Frame:
    kind: int
    flags: int
    stream: int
    payload: bytes

    @property
    def is_last(self) -> bool:
        return self.kind in (frames.DATA, frames.HEADERS) and bool(self.flags & frames.END_STREAM)

    @property
    def code(self) -> str:
        """Of RST_STREAM or GOAWAY."""
        at = 4 if self.kind == frames.GOAWAY else 0
        return NAMES.get(int.from_bytes(self.payload[at:at + 4], "big"), "unknown")


def split(received: bytes) -> tuple[list[Frame], bytes]:
    """The whole frames, and what is left."""
    found = []
    while len(received) >= frames.HEADER:
        length = int.from_bytes(received[:3], "big")
        if len(received) < frames.HEADER + length:
            break
        stream = struct.unpack(">I", received[5:9])[0] & frames.LARGEST_WINDOW
        found.append(Frame(received[3], received[4], stream, received[9:9 + length]))
        received = received[9 + length:]
    return found, received


def greeting(settings: dict[int, int] | None = None) -> bytes:
    return frames.PREFACE + frames.settings(settings or {})


class Connection:
    """One connection; answers SETTINGS and PING by itself."""

    def __init__(self, address: tuple[str, int], timeout: float = 30.0, *, tls: bool = False,
                 settings: dict[int, int] | None = None, receive_buffer: int | None = None) -> None:
        self.socket = connected(address, timeout, tls, receive_buffer)
        self.scheme = fields.HTTPS if tls else fields.HTTP
        self.rest, self.next_stream, self.taken = b"", 1, 0
        # Whole frames that nobody has asked for yet.
        self.found: collections.deque[Frame] = collections.deque()
        self.settings: dict[int, int] = {}
        self.closes = False
        self.send(greeting(settings))

    def __enter__(self) -> "Connection":
        return self

    def __exit__(self, *_) -> None:
        self.close()

    def close(self) -> None:
        self.socket.close()

    def send(self, data: bytes) -> None:
        try:
            self.socket.sendall(data)
        except (ConnectionError, BrokenPipeError, ssl.SSLError) as error:
            raise wire.Cut(str(error)) from error

    def open(self, path: str = "/", *more: bytes, method: bytes = fields.GET, end: bool = True) -> int:
        stream, self.next_stream = self.next_stream, self.next_stream + 2
        self.send(fields.headers(stream, fields.request(path.encode(), method, *more, scheme=self.scheme), end_stream=end))
        return stream

    def ask(self, path: str) -> wire.Response:
        """`GET path`; of the fields only the status is read."""
        stream = self.open(path)
        status, body = None, bytearray()
        for frame in self.frames():
            if frame.kind == frames.GOAWAY:
                self.closes = True
                if frame.code != "NO_ERROR":
                    raise wire.Cut(frame.code)
            if frame.stream != stream:
                continue
            if frame.kind == frames.RST_STREAM:
                raise wire.Cut(f"reset: {frame.code}")
            if frame.kind == frames.HEADERS and (status is None or status < 200):
                status = fields.status(frame.payload)
            if frame.kind == frames.DATA:
                body += frame.payload
            if frame.is_last:
                break
        return wire.Response(status or 0, {"connection": "close"} if self.closes else {}, bytes(body))

    def frames(self):
        """Those that come, without end; windows are given back behind them."""
        while True:
            while self.found:
                frame = self.found.popleft()
                self.handle(frame)
                yield frame
            self.rest += self.receive()
            found, self.rest = split(self.rest)
            self.found.extend(found)

    def until(self, kind: int, stream: int) -> Frame:
        for frame in self.frames():
            if frame.kind == kind and frame.stream == stream:
                return frame
            if frame.kind in (frames.RST_STREAM, frames.GOAWAY) and frame.code != "NO_ERROR":
                raise wire.Cut(frame.code)

    def handle(self, frame: Frame) -> None:
        if frame.kind == frames.SETTINGS and not frame.flags & frames.ACK:
            pairs = [frame.payload[place:place + 6] for place in range(0, len(frame.payload), 6)]
            self.settings |= {int.from_bytes(pair[:2], "big"): int.from_bytes(pair[2:], "big") for pair in pairs}
            self.send(frames.frame(frames.SETTINGS, frames.ACK, 0))
        elif frame.kind == frames.PING and not frame.flags & frames.ACK:
            self.send(frames.frame(frames.PING, frames.ACK, 0, frame.payload))
        elif frame.kind == frames.DATA and frame.payload:
            self.taken += len(frame.payload)
            if not frame.is_last:
                self.send(frames.window_update(frame.stream, len(frame.payload)))
            if self.taken > frames.FIRST_WINDOW // 2:
                self.send(frames.window_update(0, self.taken))
                self.taken = 0

    def receive(self) -> bytes:
        try:
            received = self.socket.recv(65536)
        except (ConnectionError, ssl.SSLError) as error:
            raise wire.Cut(str(error)) from error
        if not received:
            raise wire.Cut("closed")
        return received


def connected(address: tuple[str, int], timeout: float, tls: bool, receive_buffer: int | None = None):
    one = socket.socket()
    if receive_buffer:
        one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
    one.settimeout(timeout)
    try:
        one.connect(address)
        one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return encryption.context("h2").wrap_socket(one, server_hostname="localhost") if tls else one
    except BaseException:
        one.close()
        raise


def is_answering(address: tuple[str, int], path: str = "/", *, tls: bool = False) -> bool:
    try:
        with Connection(address, 10, tls=tls) as connection:
            return connection.ask(path).status == 200
    except (OSError, wire.Cut):
        return False
