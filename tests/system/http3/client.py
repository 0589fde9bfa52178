"""An HTTP/3 client on aioquic: requests, their responses, and what else the server says."""

from __future__ import annotations

import dataclasses

from aioquic.h3 import connection as h3, events
from aioquic.quic.events import QuicEvent

from .. import wire
from .transport import Transport, varint

GOAWAY, PRIORITY_UPDATE = 0x07, 0xF0700


@dataclasses.dataclass
class Answer:
    """The part of a response that has arrived."""

    status: int | None = None
    headers: dict[str, str] = dataclasses.field(default_factory=dict)
    body: bytearray = dataclasses.field(default_factory=bytearray)
    # Status codes of informational responses, and the `Link` fields in them.
    informational: list[int] = dataclasses.field(default_factory=list)
    trailers: dict[str, str] | None = None
    is_over: bool = False


class H3(h3.H3Connection):
    """Keeps GOAWAY, which aioquic passes over, and takes responses to HEAD."""

    def __init__(self, quic) -> None:
        # How often it has come is all that is looked at.
        self.go_aways: list[int] = []
        self.heads: set[int] = set()
        super().__init__(quic)

    def _check_control_frame_type(self, frame_type: int) -> None:
        super()._check_control_frame_type(frame_type)
        if frame_type == GOAWAY:
            self.go_aways.append(frame_type)

    def _check_content_length(self, stream) -> None:
        if stream.stream_id not in self.heads:
            super()._check_content_length(stream)


class Client(Transport):
    """One connection. `connect` of a probe."""

    def __init__(self, address: tuple[str, int], timeout: float = 30.0, **rest) -> None:
        self.answers: dict[int, Answer] = {}
        self.order: list[int] = []
        self.h3: H3 | None = None
        self.timeout = timeout
        super().__init__(address, **rest)
        try:
            self.complete(timeout)
        except BaseException:
            self.socket.close()
            raise
        self.h3 = H3(self.quic)
        for event in self.early:
            self._handle_h3(event)

    def open(self, path: str = "/", method: str = "GET", fields: dict[str, str] | None = None, body: bytes | None = None,
             end: bool = True) -> int:
        """Begins a request; `end` is false for one whose body comes later."""
        stream = self.quic.get_next_available_stream_id()
        self.answers[stream] = Answer()
        if method == "HEAD":
            self.h3.heads.add(stream)
        head = [(":method", method), (":scheme", "https"), (":authority", "localhost"), (":path", path)]
        self.send_head(stream, [*head, *(fields or {}).items()], end and body is None)
        if body is not None:
            self.h3.send_data(stream, body, end)
        return stream

    def send_head(self, stream: int, fields: list[tuple[str, str]], end: bool) -> None:
        self.answers.setdefault(stream, Answer())
        self.h3.send_headers(stream, [(name.encode(), value.encode()) for name, value in fields], end)

    def response(self, stream: int, seconds: float | None = None) -> Answer:
        answer = self.answers[stream]
        if not self.pump(lambda: answer.is_over or stream in self.resets, seconds or self.timeout) or not answer.is_over:
            code = self.resets.get(stream)
            why = f"reset with {code:#x}" if code is not None else f"ended: {self.ended}" if self.ended else "no time left"
            raise wire.Cut(f"stream {stream}: {why}; status {answer.status}, {len(answer.body)} bytes")
        return answer

    def request(self, path: str = "/", **rest) -> Answer:
        return self.response(self.open(path, **rest))

    def ask(self, path: str) -> wire.Response:
        """For a probe."""
        answer = self.request(path)
        return wire.Response(answer.status or 0, {"connection": "close"} if self.h3.go_aways else {}, bytes(answer.body))

    def update_priority(self, stream: int, value: str) -> None:
        """RFC 9218 §7.2."""
        payload = varint(stream) + value.encode()
        self.quic.send_stream_data(self.h3._local_control_stream_id, varint(PRIORITY_UPDATE) + varint(len(payload)) + payload)

    early: list[QuicEvent] = []

    def handle(self, event: QuicEvent) -> None:
        super().handle(event)
        if self.h3 is None:
            # The server's SETTINGS may come with the end of the handshake.
            self.early = [*self.early, event]
        else:
            self._handle_h3(event)

    def _handle_h3(self, event: QuicEvent) -> None:
        for found in self.h3.handle_event(event):
            answer = self.answers.get(getattr(found, "stream_id", -1))
            if answer is None:
                continue
            match found:
                case events.HeadersReceived():
                    self._handle_head(answer, {name.decode(): value.decode() for name, value in found.headers})
                case events.DataReceived():
                    answer.body += found.data
            if found.stream_ended and not answer.is_over:
                answer.is_over = True
                self.order.append(found.stream_id)

    @staticmethod
    def _handle_head(answer: Answer, fields: dict[str, str]) -> None:
        status = fields.get(":status")
        if status is None:
            answer.trailers = fields
        elif int(status) < 200:
            answer.informational.append(int(status))
        else:
            answer.status, answer.headers = int(status), fields
