"""The client of the exam, run in the laboratory: asks for one thing, a while later for another, and notes what came when.

Its only argument is what to do, as JSON (see `Ask`); what happened is printed as JSON."""

from __future__ import annotations

import json
import socket
import sys
import time
from dataclasses import asdict, dataclass

from . import frames
from .transport import Ended, Plain, Tls


@dataclass(frozen=True)
class Wish:
    """One request, and when after the first it is sent."""

    path: str
    after: float
    priority: str | None = None
    # stream depended on, weight, exclusive
    weight: tuple[int, int, bool] | None = None


@dataclass(frozen=True)
class Ask:
    address: str
    port: int
    tls: bool
    wishes: list[Wish]
    limit: float
    no_rfc7540: bool


class Client:
    def __init__(self, ask: Ask) -> None:
        self.ask = ask
        self.transport = (Tls if ask.tls else Plain)((ask.address, ask.port), 20.0)
        self.reader = frames.Reader(self.on_data, self.on_frame)
        self.unfinished: set[int] = set()
        # stream, seconds, bytes, place in the connection
        self.arrivals: list[tuple[int, float, int, int]] = []
        self.finished: dict[int, float] = {}
        self.asked: dict[int, tuple[float, int, int]] = {}
        self.failures: list[str] = []
        self.server_settings: dict[int, int] | None = None
        self.now = self.place = 0

    def run(self) -> dict:
        values = {frames.ENABLE_PUSH: 0, frames.INITIAL_WINDOW_SIZE: frames.LARGEST_WINDOW}
        if self.ask.no_rfc7540:
            values[frames.NO_RFC7540_PRIORITIES] = 1
        greeting = frames.window_update(0, frames.LARGEST_WINDOW - frames.FIRST_WINDOW)
        self.transport.send(frames.PREFACE + frames.settings(values) + greeting)
        until = time.monotonic() + self.ask.limit
        # Requests go out on a quiet connection: what is measured is the answers' order, not the handshake's tail.
        while self.server_settings is None:
            self.take(until)
        began = time.monotonic()
        for number, wish in enumerate(self.ask.wishes):
            while time.monotonic() < began + wish.after:
                self.take(began + wish.after)
            self.send(2 * number + 1, wish)
        while self.unfinished and time.monotonic() < until and not self.failures:
            self.take(until)
        if self.unfinished and not self.failures:
            self.failures.append(f"unfinished after {self.ask.limit:.0f} s")
        return self.told(began)

    def told(self, began: float) -> dict:
        return {"began": began, "asked": self.asked, "finished": self.finished, "arrivals": self.arrivals,
                "failures": self.failures, "settings": self.server_settings,
                "congestion": self.transport.socket.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16)
                .rstrip(b"\0").decode(),
                "ports": [self.transport.socket.getsockname()[1], self.ask.port]}

    def send(self, stream: int, wish: Wish) -> None:
        scheme = "https" if self.ask.tls else "http"
        weight = frames.Weight(*wish.weight) if wish.weight else None
        host = f"{self.ask.address}:{self.ask.port}"
        before = self.transport.sent
        self.transport.send(frames.request(stream, scheme, host, wish.path, wish.priority, weight))
        self.asked[stream] = (time.monotonic(), before, self.transport.sent)
        self.unfinished.add(stream)

    def take(self, until: float) -> None:
        try:
            for self.place, data in self.transport.receive(until):
                self.now = time.monotonic()
                self.reader.feed(data)
        except (Ended, OSError) as error:
            self.failures.append(f"the connection ended: {error!r}")
            self.server_settings = self.server_settings or {}

    def on_data(self, stream: int, length: int, is_last: bool) -> None:
        if length:
            self.arrivals.append((stream, self.now, length, self.place))
        if is_last:
            self.finished[stream] = self.now
            self.unfinished.discard(stream)

    def on_frame(self, kind: int, flags: int, stream: int, payload: bytes) -> None:
        if kind == frames.SETTINGS and not flags & frames.ACK:
            pairs = [payload[place:place + 6] for place in range(0, len(payload), 6)]
            self.server_settings = {int.from_bytes(pair[:2], "big"): int.from_bytes(pair[2:], "big") for pair in pairs}
            self.transport.send(frames.frame(frames.SETTINGS, frames.ACK, 0))
        elif kind == frames.PING and not flags & frames.ACK:
            self.transport.send(frames.frame(frames.PING, frames.ACK, 0, payload))
        elif kind == frames.HEADERS and not frames.is_success(payload):
            self.failures.append(f"stream {stream} was not answered with 200: {payload[:32].hex()}")
        elif kind == frames.RST_STREAM:
            self.failures.append(f"stream {stream} was reset: {int.from_bytes(payload, 'big')}")
        # Without an error, what was asked for is still answered (RFC 9113 §6.8).
        elif kind == frames.GOAWAY and payload[4:8] != bytes(4):
            self.failures.append(f"GOAWAY: {int.from_bytes(payload[4:8], 'big')} {payload[8:]!r}")


def encoded(ask: Ask) -> str:
    return json.dumps(asdict(ask))


def main() -> None:
    written = json.loads(sys.argv[1])
    written["wishes"] = [Wish(**wish) for wish in written["wishes"]]
    json.dump(Client(Ask(**written)).run(), sys.stdout)


if __name__ == "__main__":
    main()
