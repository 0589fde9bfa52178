"""An HTTP/1.1 client that hides nothing: raw bytes out, a whole response or the reason why not back."""

from __future__ import annotations

import dataclasses
import socket


class Cut(Exception):
    """The connection ended before the response did."""


class Malformed(Exception):
    """The bytes that came are not an HTTP response."""


@dataclasses.dataclass(slots=True)
class Response:
    status: int
    headers: dict[str, str]
    body: bytes = b""

    def get(self, name: str) -> str | None:
        return self.headers.get(name)

    @property
    def closes(self) -> bool:
        return self.headers.get("connection", "").lower() == "close"


def request(target: str, headers: dict[str, str] | None = None, method: str = "GET", host: str = "localhost") -> bytes:
    lines = [f"{method} {target} HTTP/1.1", f"Host: {host}", *(f"{name}: {value}" for name, value in (headers or {}).items())]
    return "\r\n".join([*lines, "", ""]).encode("latin-1")


class Connection:
    """One connection, kept alive."""

    def __init__(self, address: tuple[str, int], timeout: float = 30.0, receive_buffer: int | None = None) -> None:
        self.socket = socket.socket()
        if receive_buffer:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        self.socket.settimeout(timeout)
        try:
            self.socket.connect(address)
        except BaseException:
            self.socket.close()
            raise
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.rest = b""

    def __enter__(self) -> "Connection":
        return self

    def __exit__(self, *_) -> None:
        self.close()

    def close(self) -> None:
        self.socket.close()

    def send(self, data: bytes) -> None:
        try:
            self.socket.sendall(data)
        except (ConnectionError, BrokenPipeError) as error:
            raise Cut(str(error)) from error

    def ask(self, target: str, headers: dict[str, str] | None = None, method: str = "GET") -> Response:
        self.send(request(target, headers, method))
        return self.receive(method)

    def receive(self, method: str = "GET", pause=None) -> Response:
        """The next final response. `pause` is called before each further piece: a reader that takes its time."""
        while True:
            head = self._until(b"\r\n\r\n")
            response = parse_head(head)
            if response.status >= 200 or response.status == 101:
                break
        response.body = self._body(response, method, pause)
        return response

    def _body(self, response: Response, method: str, pause) -> bytes:
        if method == "HEAD" or response.status in (204, 304):
            return b""
        if "chunked" in response.headers.get("transfer-encoding", ""):
            return self._chunks(pause)
        length = response.headers.get("content-length")
        if length is not None:
            return self._exactly(int(length), pause)
        pieces = [self.rest]
        self.rest = b""
        while piece := self._more():
            pieces.append(piece)
        return b"".join(pieces)

    def _chunks(self, pause) -> bytes:
        pieces = []
        while True:
            line = self._until(b"\r\n")
            try:
                size = int(line.split(b";")[0], 16)
            except ValueError:
                raise Malformed(f"chunk size {line!r}") from None
            if size == 0:
                while self._until(b"\r\n") != b"\r\n":
                    pass
                return b"".join(pieces)
            piece = self._exactly(size + 2, pause)
            if piece[-2:] != b"\r\n":
                raise Malformed("a chunk without its end")
            pieces.append(piece[:-2])

    def _exactly(self, length: int, pause) -> bytes:
        if len(self.rest) >= length:
            body, self.rest = self.rest[:length], self.rest[length:]
            return body
        body = bytearray(length)
        view = memoryview(body)
        filled = len(self.rest)
        view[:filled] = self.rest
        self.rest = b""
        while filled < length:
            if pause:
                pause()
            try:
                count = self.socket.recv_into(view[filled:])
            except ConnectionError as error:
                raise Cut(f"{error} after {filled} of {length} bytes") from error
            if count == 0:
                raise Cut(f"closed after {filled} of {length} bytes")
            filled += count
        return bytes(body)

    def _until(self, end: bytes) -> bytes:
        while (place := self.rest.find(end)) < 0:
            piece = self._more()
            if not piece:
                raise Cut("closed within a head" if self.rest else "closed before the head")
            self.rest += piece
        found, self.rest = self.rest[:place + len(end)], self.rest[place + len(end):]
        return found

    def _more(self) -> bytes:
        try:
            return self.socket.recv(65536)
        except ConnectionError as error:
            raise Cut(str(error)) from error


def parse_head(head: bytes) -> Response:
    lines = head.decode("latin-1").split("\r\n")
    parts = lines[0].split(" ", 2)
    if len(parts) < 2 or not parts[0].startswith("HTTP/1.") or not parts[1].isdigit():
        raise Malformed(repr(lines[0][:80]))
    headers: dict[str, str] = {}
    for line in lines[1:]:
        name, colon, value = line.partition(":")
        if colon:
            name = name.lower()
            headers[name] = f"{headers[name]}, {value.strip()}" if name in headers else value.strip()
    return Response(int(parts[1]), headers)


def ask_once(address: tuple[str, int], target: str, headers: dict[str, str] | None = None, method: str = "GET",
             timeout: float = 10.0) -> Response:
    with Connection(address, timeout) as connection:
        return connection.ask(target, {"Connection": "close", **(headers or {})}, method)
