"""The client's side of a case: bytes out, and whatever comes back."""

from __future__ import annotations

import dataclasses
import enum
import random
import re
import socket
import time

from .. import wire
from ..http2 import client as http2
from ..http2 import fields
from ..priorities import frames
from .corpus import Case, Stream

# Longer than a server takes to read what has come.
MOMENT = 0.003
NEXT_FIELDS = ((b":method", b"GET"), (b":scheme", b"http"), (b":path", b"/next-%04d"), (b":authority", b"app"))


class Delivery(enum.Enum):
    """How the bytes of a case come."""

    WHOLE = "whole"
    # In two parts, a moment apart.
    PARTS = "in two parts"
    BYTES = "byte by byte"

    def parts(self, sent: bytes) -> list[bytes]:
        if self is Delivery.BYTES:
            return [sent[place:place + 1] for place in range(len(sent))]
        # Where a case is parted is the same each time.
        place = random.Random(len(sent)).randrange(1, len(sent)) if self is Delivery.PARTS else len(sent)
        return [sent[:place], sent[place:]]


@dataclasses.dataclass
class Answer:
    status: int
    # Method and target that the upstream has answered; None where the proxy answers for itself.
    seen: str | None
    is_whole: bool = True


@dataclasses.dataclass
class Exchange:
    answers: list[Answer]
    is_closed: bool
    # Bytes behind the answers that are not an answer.
    rest: bytes = b""


def next_request(number: int) -> bytes:
    return b"GET /next-%04d HTTP/1.1\r\nHost: app\r\n\r\n" % number


def answers_in(received: bytes) -> tuple[list[Answer], bytes]:
    """The final answers, and what is behind them."""
    found: list[Answer] = []
    while received:
        head, end, rest = received.partition(b"\r\n\r\n")
        if not end:
            return found, received
        try:
            response = wire.parse_head(head)
        except wire.Malformed:
            return found, received
        if response.status == 101:
            return [*found, Answer(101, None)], rest
        if response.status >= 200:
            seen = response.get("x-seen")
            body, is_whole = body_length(response, rest, (seen or "").startswith("HEAD "))
            found.append(Answer(response.status, seen, is_whole))
            rest = rest[body:]
        received = rest
    return found, b""


def body_length(response: wire.Response, rest: bytes, to_head: bool) -> tuple[int, bool]:
    # The proxy's own answer to HEAD tells a length and has no body: what follows is the next answer, or nothing.
    if to_head or response.status in (204, 304) or (response.get("x-seen") is None and rest.startswith(b"HTTP/1.")):
        return 0, True
    if "chunked" in (response.get("transfer-encoding") or ""):
        end = re.search(rb"(?:^|\r\n)0\r\n\r\n", rest)
        return (end.end(), True) if end else (len(rest), False)
    length = response.get("content-length")
    if length is None:
        return len(rest), True
    return min(int(length), len(rest)), int(length) <= len(rest)


class Attack:
    """One case on a connection of its own, which stays open within the `with` block."""

    def __init__(self, address: tuple[str, int], case: Case, patience: float, delivery: Delivery = Delivery.WHOLE) -> None:
        self.address, self.case, self.patience, self.delivery = address, case, patience, delivery
        self.exchange = Exchange([], False)

    def __enter__(self) -> Attack:
        self.socket = socket.create_connection(self.address, 10)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        try:
            if isinstance(self.case.sent, Stream):
                self.exchange = self.over_http2(self.case.sent)
            else:
                self.exchange = self.over_http1(self.case.sent)
        except BaseException:
            self.socket.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()

    def over_http1(self, sent: bytes) -> Exchange:
        last = f" /next-{self.case.number:04}"

        def is_done(received: bytes) -> bool:
            return any((each.seen or "").endswith(last) for each in answers_in(received)[0])

        received, is_closed = self.exchanged(sent + next_request(self.case.number), is_done)
        answers, rest = answers_in(received)
        return Exchange(answers, is_closed, rest)

    def over_http2(self, stream: Stream) -> Exchange:
        """The case is stream 1, an ordinary request stream 3."""
        block = b"".join(fields.literal(name, value) for name, value in stream.fields)
        sent = http2.greeting() + fields.headers(1, block, end_stream=stream.data is None and not stream.trailers)
        if stream.data is not None:
            sent += frames.frame(frames.DATA, 0 if stream.trailers else frames.END_STREAM, 1, stream.data)
        if stream.trailers:
            sent += fields.headers(1, b"".join(fields.literal(name, value) for name, value in stream.trailers))
        ordinary = [(name, value % self.case.number if b"%" in value else value) for name, value in NEXT_FIELDS]
        sent += fields.headers(3, b"".join(fields.literal(name, value) for name, value in ordinary))
        received, is_closed = self.exchanged(sent, lambda received: {1, 3} <= ended(received))
        return Exchange(answers_of_streams(received), is_closed)

    def exchanged(self, sent: bytes, is_done) -> tuple[bytes, bool]:
        received = b""
        try:
            for part in self.delivery.parts(sent):
                self.socket.sendall(part)
                if self.delivery is Delivery.PARTS:
                    time.sleep(MOMENT)
            deadline = time.monotonic() + self.patience
            while (left := deadline - time.monotonic()) > 0 and not is_done(received):
                self.socket.settimeout(left)
                piece = self.socket.recv(65536)
                if not piece:
                    return received, True
                received += piece
        except TimeoutError:
            pass
        except OSError:
            return received, True
        return received, False


def ended(received: bytes) -> set[int]:
    """The streams that have had their answer, or never will."""
    found, _ = http2.split(received)
    if any(frame.kind == frames.GOAWAY and frame.code != "NO_ERROR" for frame in found):
        return {1, 3}
    return {frame.stream for frame in found if frame.is_last or frame.kind == frames.RST_STREAM}


def answers_of_streams(received: bytes) -> list[Answer]:
    """By the bodies, which repeat the upstream's X-Seen: heads are compressed."""
    found, _ = http2.split(received)
    statuses: dict[int, int] = {}
    bodies: dict[int, bytes] = {}
    for frame in found:
        if frame.kind == frames.HEADERS and statuses.get(frame.stream, 0) < 200:
            statuses[frame.stream] = fields.status(frame.payload) or 0
        elif frame.kind == frames.DATA:
            bodies[frame.stream] = bodies.get(frame.stream, b"") + frame.payload
    return [Answer(status, seen_in(bodies.get(stream, b"")) if status == 200 else None)
            for stream, status in sorted(statuses.items())]


def seen_in(body: bytes) -> str | None:
    words = body.decode("latin-1").split(" ")
    return " ".join(words[:2]).strip() if len(words) >= 2 else None


def ask(address: tuple[str, int], target: str, patience: float = 5.0) -> str:
    """An innocent request; what its answer says that the upstream has seen, or what went wrong."""
    try:
        response = wire.ask_once(address, target, timeout=patience)
    except (OSError, wire.Cut, wire.Malformed) as error:
        return f"{type(error).__name__}: {error}"
    return response.get("x-seen") or f"status {response.status} of the proxy's own"
