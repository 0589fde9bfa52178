"""An application behind the proxy, which responds with what it received, and in other ways where the path asks for it."""

from __future__ import annotations

import base64
import hashlib
import http.server
import threading
import urllib.parse

# Lengths of responses are multiples of it.
STEP = 16384
# Fields of the application's response to `/status/N`, beside the status.
MORE = {204: {}, 302: {"Location": "/elsewhere"}, 401: {"WWW-Authenticate": "Bearer"}, 429: {"Retry-After": "7"}}


class Handler(http.server.BaseHTTPRequestHandler):
    """Responds to every method; `/status/N` and `/set` in any path choose another response."""

    protocol_version = "HTTP/1.1"
    server_version, sys_version = "app", ""

    def handle_any(self) -> None:
        path, _, query = self.path.partition("?")
        if self.headers.get("Upgrade", "").lower() == "websocket":
            return self.switch()
        body = self.received()
        status, fields = 200, {"X-App": self.server.name}
        if "/status/" in path:
            status = int(path.rpartition("/status/")[2][:3])
            fields |= MORE.get(status, {})
        if path.endswith("/set"):
            for name, value in urllib.parse.parse_qsl(query, keep_blank_values=True):
                fields[name] = value
        text = self.echo(body)
        kind = "application/json" if path.endswith(".json") else "text/plain; charset=utf-8"
        self.send_response(status)
        for name, value in ({"Content-Type": kind} | fields).items():
            self.send_header(name, value)
        if status not in (204, 304):
            self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        if self.command != "HEAD" and status not in (204, 304):
            self.wfile.write(text)

    def received(self) -> bytes:
        if "chunked" in self.headers.get("Transfer-Encoding", ""):
            pieces = []
            while size := int(self.rfile.readline().split(b";")[0], 16):
                pieces.append(self.rfile.read(size))
                self.rfile.readline()
            self.rfile.readline()
            return b"".join(pieces)
        return self.rfile.read(int(self.headers.get("Content-Length", 0)))

    def echo(self, body: bytes) -> bytes:
        """The request as it arrived, a line for each part."""
        fields = sorted((name.lower(), value) for name, value in self.headers.items())
        lines = [f"app: {self.server.name}", f"method: {self.command}", f"target: {self.path}"]
        lines += [f"field {name}: {value}" for name, value in fields]
        lines.append(f"body: {len(body)} {hashlib.sha256(body).hexdigest()[:12]}")
        text = "\n".join([*lines, ""]).encode("latin-1")
        # A field more or less must not show in the length.
        return text.ljust(-(-len(text) // STEP) * STEP)

    def switch(self) -> None:
        key = self.headers.get("Sec-WebSocket-Key", "")
        accept = base64.b64encode(hashlib.sha1((key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").encode()).digest())
        self.send_response(101)
        for name, value in {"Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Accept": accept.decode()}.items():
            self.send_header(name, value)
        self.end_headers()
        self.close_connection = True

    def log_message(self, *_) -> None:
        pass

    def __getattr__(self, name: str):
        if name.startswith("do_"):
            return self.handle_any
        raise AttributeError(name)


class Application(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request, client_address) -> None:
        """A proxy may close its connections."""


class Upstream:
    """Runs while the `with` block does."""

    def __init__(self, name: str) -> None:
        self.server = Application(("127.0.0.1", 0), Handler)
        self.server.name = name

    @property
    def port(self) -> int:
        return self.server.server_port

    def __enter__(self) -> "Upstream":
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_) -> None:
        self.server.shutdown()
        self.server.server_close()
