"""WebSockets by other people's clients: wsproto's frames, in a connection of HTTP/1.1 or in streams of h2's HTTP/2 (RFC 8441)."""

from __future__ import annotations

import collections
import socket

import h2.config
import h2.connection
import h2.events
import h2.settings
import wsproto
import wsproto.connection
import wsproto.events
from wsproto.extensions import PerMessageDeflate

from .. import encryption

SECONDS = 10.0
ORIGIN = "http://localhost"


class Refused(Exception):
    """The answer was another one than a WebSocket."""


def connect(address: tuple[str, int], protocol: str, *, encrypted: bool) -> socket.socket:
    connection = socket.create_connection(address, SECONDS)
    if encrypted:
        connection = encryption.context(protocol).wrap_socket(connection, server_hostname="localhost")
        assert connection.selected_alpn_protocol() == protocol, connection.selected_alpn_protocol()
    return connection


class Connection:
    """A connection of HTTP/2, which has any number of WebSockets."""

    def __init__(self, address: tuple[str, int], *, encrypted: bool) -> None:
        self.scheme = "https" if encrypted else "http"
        self.socket = connect(address, "h2", encrypted=encrypted)
        self.h2 = h2.connection.H2Connection(h2.config.H2Configuration(client_side=True, header_encoding="utf-8"))
        self.h2.initiate_connection()
        self.heard: dict[int, collections.deque] = collections.defaultdict(collections.deque)
        self.has_settings = False
        while not self.has_settings:
            self.pump()

    def is_open_to_websockets(self) -> bool:
        return self.h2.remote_settings.get(h2.settings.SettingCodes.ENABLE_CONNECT_PROTOCOL) == 1

    def pump(self) -> None:
        """Sends what is to be sent, and waits for something to come."""
        self.flush()
        data = self.socket.recv(65536)
        if not data:
            raise ConnectionError("the server has closed the connection")
        for event in self.h2.receive_data(data):
            if isinstance(event, h2.events.RemoteSettingsChanged):
                self.has_settings = True
            elif isinstance(event, h2.events.ConnectionTerminated):
                raise ConnectionError(f"GOAWAY: {event.error_code}")
            elif getattr(event, "stream_id", None):
                self.heard[event.stream_id].append(event)
        self.flush()

    def flush(self) -> None:
        if data := self.h2.data_to_send():
            self.socket.sendall(data)

    def next(self, stream: int):
        while not self.heard[stream]:
            self.pump()
        return self.heard[stream].popleft()

    def ask(self, path: str, **pseudo: str) -> int:
        stream = self.h2.get_next_available_stream_id()
        fields = {"method": "GET", "scheme": self.scheme, "path": path, "authority": "localhost"} | pseudo
        self.h2.send_headers(stream, [(f":{name}", value) for name, value in fields.items()], end_stream=True)
        return stream

    def get(self, path: str) -> bytes:
        """The content of a page, beside all that goes on."""
        stream, content = self.ask(path), b""
        while True:
            event = self.next(stream)
            if isinstance(event, h2.events.DataReceived):
                content += event.data
                self.h2.acknowledge_received_data(event.flow_controlled_length, stream)
            elif isinstance(event, h2.events.StreamEnded):
                return content
            elif isinstance(event, h2.events.StreamReset):
                raise ConnectionError(f"reset: {event.error_code}")


class Websocket:
    """Messages, there and back."""

    def __init__(self, frames) -> None:
        self.frames = frames

    def send(self, event: wsproto.events.Event) -> None:
        self.write(self.frames.send(event))

    def say(self, message: str | bytes) -> None:
        self.send(wsproto.events.Message(message))

    def hear(self) -> str | bytes | wsproto.events.Event:
        """The next message as a whole; an end or a pong as it is."""
        whole = None
        while True:
            for event in self.frames.events():
                if not isinstance(event, wsproto.events.Message):
                    return event
                whole = event.data if whole is None else whole + event.data
                if event.message_finished:
                    return whole
            self.frames.receive_data(self.read())

    def write(self, data: bytes) -> None:
        raise NotImplementedError

    def read(self) -> bytes:
        raise NotImplementedError


class OverHttp2(Websocket):
    """One in a stream."""

    def __init__(self, connection: Connection, path: str, *, origin: str = ORIGIN, subprotocols: str = "",
                 compressed: bool = False) -> None:
        self.connection = connection
        self.stream = connection.h2.get_next_available_stream_id()
        fields = [(":method", "CONNECT"), (":protocol", "websocket"), (":scheme", connection.scheme), (":path", path),
                  (":authority", "localhost"), ("sec-websocket-version", "13"), ("origin", origin)]
        fields += [("sec-websocket-protocol", subprotocols)] * bool(subprotocols)
        deflate = PerMessageDeflate()
        if compressed:
            fields.append(("sec-websocket-extensions", f"permessage-deflate; {deflate.offer()}"))
        connection.h2.send_headers(self.stream, fields)
        event = connection.next(self.stream)
        while isinstance(event, h2.events.InformationalResponseReceived):
            event = connection.next(self.stream)
        self.headers = dict(event.headers)
        if self.headers[":status"] != "200":
            raise Refused(self.headers[":status"])
        agreed = self.headers.get("sec-websocket-extensions")
        assert (agreed is not None) == compressed, self.headers
        if agreed is not None:
            deflate.finalize(agreed)
        super().__init__(wsproto.connection.Connection(wsproto.ConnectionType.CLIENT, extensions=[deflate] if compressed else []))

    def write(self, data: bytes) -> None:
        connection, protocol = self.connection, self.connection.h2
        while data:
            room = min(protocol.local_flow_control_window(self.stream), protocol.max_outbound_frame_size)
            if room == 0:
                connection.pump()
                continue
            protocol.send_data(self.stream, data[:room])
            data = data[room:]
            connection.flush()

    def read(self) -> bytes:
        while True:
            event = self.connection.next(self.stream)
            if isinstance(event, h2.events.DataReceived):
                self.connection.h2.acknowledge_received_data(event.flow_controlled_length, self.stream)
                return event.data
            if isinstance(event, (h2.events.StreamEnded, h2.events.StreamReset)):
                raise ConnectionError(f"the stream has ended: {event}")

    def leave(self) -> None:
        """Without a word."""
        self.connection.h2.reset_stream(self.stream, 8)  # CANCEL
        self.connection.flush()


class OverHttp1(Websocket):
    """One in a connection of its own."""

    def __init__(self, address: tuple[str, int], path: str, *, encrypted: bool, origin: str = ORIGIN, compressed: bool = False) -> None:
        self.socket = connect(address, "http/1.1", encrypted=encrypted)
        super().__init__(wsproto.WSConnection(wsproto.ConnectionType.CLIENT))
        self.send(wsproto.events.Request("localhost", path, extra_headers=[(b"origin", origin.encode())],
                                          extensions=[PerMessageDeflate()] if compressed else []))
        answer = self.hear()
        if not isinstance(answer, wsproto.events.AcceptConnection):
            raise Refused(str(answer.status_code))
        assert bool(answer.extensions) == compressed, answer

    def write(self, data: bytes) -> None:
        self.socket.sendall(data)

    def read(self) -> bytes:
        if data := self.socket.recv(65536):
            return data
        raise ConnectionError("the server has closed the connection")

    def leave(self) -> None:
        self.socket.close()
