"""A program that decides which names may have a certificate on demand."""

from __future__ import annotations

import http.server
import threading
import urllib.parse


class Permission:
    """Allows the names with this end, and remembers what it was asked."""

    def __init__(self, allowed: str) -> None:
        self.names: list[str] = []
        permission = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                query = urllib.parse.parse_qs(urllib.parse.urlsplit(self.path).query)
                name = query.get("name", [""])[0]
                permission.names.append(name)
                self.send_response(200 if name.endswith(allowed) else 403)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_) -> None:
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server.server_port}/allowed?name="

    def __enter__(self) -> "Permission":
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_) -> None:
        self.server.shutdown()
        self.server.server_close()
