"""An upstream server behind `serow proxy`, in HTTP/1.1: it says what HTTP/3 has to carry."""

from __future__ import annotations

import contextlib
import socket
import threading

HINTS = b"HTTP/1.1 103 Early Hints\r\nLink: </style.css>; rel=preload\r\n\r\n"


class Origin:
    """Listens while the `with` block lasts."""

    def __init__(self) -> None:
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}"
        # The event that `/wait` waits for.
        self.may_go_on = threading.Event()
        # Of each request the method, the path, and the fields.
        self.requests: list[tuple[str, str, dict[str, str]]] = []

    def __enter__(self) -> "Origin":
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_) -> None:
        self.may_go_on.set()
        self.listener.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                one, _ = self.listener.accept()
                threading.Thread(target=self._serve, args=(one,), daemon=True).start()

    def _serve(self, one: socket.socket) -> None:
        with one, one.makefile("rb") as reader, contextlib.suppress(OSError, ValueError):
            while line := reader.readline():
                method, path, _ = line.decode().split()
                fields = {}
                while (field := reader.readline().decode().strip()):
                    name, _, value = field.partition(":")
                    fields[name.lower()] = value.strip()
                if fields.get("upgrade") == "websocket":
                    return self._echo(one, reader)
                if "100-continue" in fields.get("expect", ""):
                    one.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
                body, trailers = read_body(reader, fields)
                self.requests.append((method, path, fields))
                if path == "/too-early" and "early-data" in fields:
                    one.sendall(b"HTTP/1.1 425 Too Early\r\nContent-Length: 0\r\n\r\n")
                    continue
                one.sendall(self._response(path, body, trailers))

    def _response(self, path: str, body: bytes, trailers: bytes) -> bytes:
        if path == "/hints":
            return HINTS + plain(b"hinted")
        if path == "/trailers":
            return b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: x-sum\r\n\r\n4\r\nbody\r\n0\r\nx-sum: 42\r\n\r\n"
        if path == "/their-trailers":
            return plain(trailers)
        if path == "/wait":
            self.may_go_on.wait(60)
        return plain(body)

    @staticmethod
    def _echo(one: socket.socket, reader) -> None:
        """Bytes as they come: frames of WebSocket are passed on without being looked at."""
        one.sendall(b"HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: websocket\r\n"
                    b"Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n")
        while data := reader.read1(65536):
            one.sendall(data)


def read_body(reader, fields: dict[str, str]) -> tuple[bytes, bytes]:
    """The body and the trailers."""
    if "chunked" not in fields.get("transfer-encoding", ""):
        return reader.read(int(fields.get("content-length", 0))), b""
    body = bytearray()
    while size := int(reader.readline().split(b";")[0], 16):
        body += reader.read(size)
        reader.readline()
    trailers = b""
    while (line := reader.readline().strip()):
        trailers += line + b"\n"
    return bytes(body), trailers


def plain(body: bytes) -> bytes:
    return b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body)
