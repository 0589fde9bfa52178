"""A client that keeps cookies and follows nothing."""

from __future__ import annotations

import http.client
import http.cookies
import json
import urllib.parse
from typing import Any, NamedTuple

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
        for line in response.headers.get_all("Set-Cookie", []):
            for name, morsel in http.cookies.SimpleCookie(line).items():
                self.jar[name] = morsel.value
        return answer

    def get(self, target: str, **fields: str) -> Answer:
        return self.ask("GET", target, **fields)

    def form(self, target: str, **values: str) -> Answer:
        return self.ask("POST", target, urllib.parse.urlencode(values), Content_Type="application/x-www-form-urlencoded")

    def send_json(self, method: str, target: str, value: object, **fields: str) -> Answer:
        return self.ask(method, target, json.dumps(value), Content_Type="application/json", **fields)


def multipart(fields: dict[str, str], name: str, filename: str, content: bytes) -> tuple[bytes, str]:
    """The body of a form with a file, and its type."""
    boundary = "0123456789abcdef"
    parts = [f'--{boundary}\r\nContent-Disposition: form-data; name="{key}"\r\n\r\n{value}\r\n'.encode() for key, value in fields.items()]
    head = f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"; filename="{filename}"\r\nContent-Type: image/png\r\n\r\n'
    return b"".join([*parts, head.encode(), content, f"\r\n--{boundary}--\r\n".encode()]), f"multipart/form-data; boundary={boundary}"
