"""The servers that are asked: nginx, which logs each request as it is answered, and servers of raw bytes."""

from __future__ import annotations

import contextlib
import pathlib
import socket
import threading
from collections.abc import Callable, Iterator

from ..http2.tools import find
from ..server import Server, free_port

BODY = "Hello!\n"
# Without a buffer a line is in the file as soon as its request is answered, whatever becomes of the process.
SETTINGS = """\
daemon off;
master_process off;
error_log stderr crit;
# Root in a user namespace cannot give files to other users.
user root root;
pid {work}/nginx.pid;
worker_rlimit_nofile 20000;
events {{ worker_connections 15000; }}
http {{
    log_format line "$request_uri $status $server_protocol $connection";
    access_log {work}/requests line;
    default_type text/plain;
    client_body_temp_path {work}/body; proxy_temp_path {work}/proxy; fastcgi_temp_path {work}/fastcgi;
    uwsgi_temp_path {work}/uwsgi; scgi_temp_path {work}/scgi;
    server {{
        listen 127.0.0.1:{port} backlog=4096;
        listen unix:{work}/socket;
        location /missing {{ return 404; }}
        location / {{ return 200 "Hello!\\n"; }}
    }}
    server {{
        listen 127.0.0.1:{http2_port} http2 backlog=4096;
        listen unix:{work}/http2.socket http2;
        location / {{ return 200 "Hello!\\n"; }}
    }}
}}
"""


class Nginx(Server):
    """nginx with a log of its requests, in HTTP/1.1 at one port and in HTTP/2 at another."""

    def __init__(self, work: pathlib.Path) -> None:
        self.work, self.http2_port = work, free_port()
        port = free_port()
        settings = work / "nginx.conf"
        settings.write_text(SETTINGS.format(work=work, port=port, http2_port=self.http2_port))
        super().__init__([find("nginx"), "-p", str(work), "-c", str(settings)], port)

    def __enter__(self) -> "Nginx":
        # A process that was killed leaves them there, and nobody can listen where they are.
        for http2 in (False, True):
            pathlib.Path(self.unix(http2)).unlink(missing_ok=True)
        super().__enter__()
        return self

    def url(self, http2: bool = False) -> str:
        return f"http://127.0.0.1:{self.http2_port if http2 else self.port}"

    def unix(self, http2: bool = False) -> str:
        return str(self.work / ("http2.socket" if http2 else "socket"))

    def logged(self, path: str) -> list[str]:
        """The statuses of the requests for this path."""
        with open(self.work / "requests") as lines:
            return [line.split(" ")[1] for line in lines if line.split(" ")[0] == path]


class Raw:
    """Listens while the `with` block runs; each connection is given to `serve` in a thread of its own, then closed."""

    def __init__(self, serve: Callable[[socket.socket], None], backlog: int = 512) -> None:
        self.serve, self.backlog = serve, backlog
        self.connections = 0

    def __enter__(self) -> "Raw":
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=self.backlog)
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_) -> None:
        # Closing alone would not wake the thread that accepts.
        with contextlib.suppress(OSError):
            self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()

    @property
    def port(self) -> int:
        return self.listener.getsockname()[1]

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/"

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection = self.listener.accept()[0]
                self.connections += 1
                threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with connection, contextlib.suppress(OSError):
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.serve(connection)


def requests(connection: socket.socket) -> Iterator[bytes]:
    """The heads and bodies of requests, one after the other, until the connection ends."""
    rest = b""
    while True:
        while b"\r\n\r\n" not in rest:
            if not (piece := connection.recv(65536)):
                return
            rest += piece
        head, _, rest = rest.partition(b"\r\n\r\n")
        length = next((int(line[15:]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:")), 0)
        while len(rest) < length:
            if not (piece := connection.recv(65536)):
                return
            rest += piece
        yield head + b"\r\n\r\n" + rest[:length]
        rest = rest[length:]


def answering(answer: bytes, keep: bool = True) -> Callable[[socket.socket], None]:
    """A server that gives each request this answer; to HEAD its head alone."""
    def serve(connection: socket.socket) -> None:
        for request in requests(connection):
            connection.sendall(answer.partition(b"\r\n\r\n")[0] + b"\r\n\r\n" if request.startswith(b"HEAD") else answer)
            if not keep:
                return
    return serve


def silent(connection: socket.socket) -> None:
    """A server that takes everything and never answers."""
    while connection.recv(65536):
        pass
