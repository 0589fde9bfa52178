"""A client that keeps cookies and follows nothing."""

from __future__ import annotations

import http.client
import http.cookies
import json
import urllib.parse
from typing import Any, NamedTuple

from ..gallery.visitor import Fields

TIMEOUT = 60


class Answer(NamedTuple):
    status: int
    fields: http.client.HTTPMessage
    body: bytes

    @property
    def text(self) -> str:
        return self.body.decode(errors="replace")

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def inputs(self) -> dict[str, str]:
        """The fields of the page's forms."""
        found = Fields()
        found.feed(self.text)
        return found.values

    @property
    def location(self) -> str:
        return self.fields.get("Location", "")


class Visitor:
    def __init__(self, port: int) -> None:
        self.port = port
        self.jar: dict[str, str] = {}

    def ask(self, method: str, target: str, body: bytes | str | None = None, chunked: bool = False, **fields: str) -> Answer:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=TIMEOUT)
        sent = {name.replace("_", "-"): value for name, value in fields.items()}
        if self.jar:
            sent["Cookie"] = "; ".join(f"{name}={value}" for name, value in self.jar.items())
        data = body.encode() if isinstance(body, str) else body
        content = iter([data[:1000], data[1000:]]) if chunked and data else data
        connection.request(method, target, content, sent, encode_chunked=chunked)
        response = connection.getresponse()
        answer = Answer(response.status, response.headers, response.read())
        connection.close()
        self.keep(response.headers.get_all("Set-Cookie", []))
        return answer

    def keep(self, lines: list[str]) -> None:
        """Keeps cookies, or drops those that have ended."""
        for line in lines:
            for name, morsel in http.cookies.SimpleCookie(line).items():
                if morsel["max-age"] == "0" or morsel.value == "deleted":
                    self.jar.pop(name, None)
                else:
                    self.jar[name] = morsel.value

    def kept(self) -> http.client.HTTPConnection:
        """A connection for many requests."""
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=TIMEOUT)

    def follow(self, answer: Answer) -> Answer:
        """The page that a redirection leads to, if it leads to the same site."""
        parts = urllib.parse.urlsplit(answer.location)
        if not answer.location or parts.netloc not in ("", f"127.0.0.1:{self.port}"):
            return answer
        return self.get(urllib.parse.urlunsplit(("", "", parts.path or "/", parts.query, "")))

    def get(self, target: str, **fields: str) -> Answer:
        return self.ask("GET", target, **fields)

    def form(self, target: str, /, **values: str) -> Answer:
        return self.ask("POST", target, urllib.parse.urlencode(values), Content_Type="application/x-www-form-urlencoded")

    def send_json(self, method: str, target: str, value: object, **fields: str) -> Answer:
        return self.ask(method, target, json.dumps(value), Content_Type="application/json", **fields)


def multipart(fields: dict[str, str], name: str, filename: str, content: bytes, kind: str = "image/png") -> tuple[bytes, str]:
    """The body of a form with a file, and its type."""
    boundary = "0123456789abcdef"
    parts = [f'--{boundary}\r\nContent-Disposition: form-data; name="{key}"\r\n\r\n{value}\r\n'.encode() for key, value in fields.items()]
    head = f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"; filename="{filename}"\r\nContent-Type: {kind}\r\n\r\n'
    return b"".join([*parts, head.encode(), content, f"\r\n--{boundary}--\r\n".encode()]), f"multipart/form-data; boundary={boundary}"
