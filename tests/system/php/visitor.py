"""Clients that keep cookies and follow nothing by themselves."""

from __future__ import annotations

import base64
import http.client
import http.cookies
import json
import pathlib
import subprocess
import urllib.parse
from typing import Any, NamedTuple

from ..gallery.visitor import Fields
from ..http3.tools import python
from ..http3_clients.tools import REQUIREMENTS
from ..server import REPOSITORY

# A busy machine takes its time.
TIMEOUT = 300


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
    """Over HTTP/1.1 in cleartext."""

    def __init__(self, origin: str) -> None:
        self.origin = origin
        self.jar: dict[str, str] = {}

    def stranger(self) -> "Visitor":
        """Another one, without cookies."""
        return Visitor(self.origin)

    def twin(self) -> "Visitor":
        """Another window, with the same cookies."""
        other = self.stranger()
        other.jar = dict(self.jar)
        return other

    def close(self) -> None:
        """Ends a program that makes the requests."""

    def ask(self, method: str, target: str, body: bytes | str | None = None, chunked: bool = False, **fields: str) -> Answer:
        sent = {name.replace("_", "-"): value for name, value in fields.items()}
        if self.jar and "Cookie" not in sent:
            sent["Cookie"] = "; ".join(f"{name}={value}" for name, value in self.jar.items())
        answer = self.transfer(method, target, body.encode() if isinstance(body, str) else body, chunked, sent)
        self.keep(answer.fields.get_all("Set-Cookie", []))
        return answer

    def transfer(self, method: str, target: str, data: bytes | None, chunked: bool, sent: dict[str, str]) -> Answer:
        connection = self.kept()
        content = iter([data[:1000], data[1000:]]) if chunked and data else data
        connection.request(method, target, content, sent, encode_chunked=chunked)
        response = connection.getresponse()
        answer = Answer(response.status, response.headers, response.read())
        connection.close()
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
        return http.client.HTTPConnection(urllib.parse.urlsplit(self.origin).netloc, timeout=TIMEOUT)

    def follow(self, answer: Answer) -> Answer:
        """The page that a redirection leads to, if it leads to the same site."""
        parts = urllib.parse.urlsplit(answer.location)
        if not answer.location or parts.netloc not in ("", urllib.parse.urlsplit(self.origin).netloc):
            return answer
        return self.get(urllib.parse.urlunsplit(("", "", parts.path or "/", parts.query, "")))

    def get(self, target: str, **fields: str) -> Answer:
        return self.ask("GET", target, **fields)

    def form(self, target: str, /, **values: str) -> Answer:
        return self.ask("POST", target, urllib.parse.urlencode(values), Content_Type="application/x-www-form-urlencoded")

    def send_json(self, method: str, target: str, value: object, **fields: str) -> Answer:
        return self.ask(method, target, json.dumps(value), Content_Type="application/json", **fields)


class Curl(Visitor):
    """Over HTTP/2 or HTTP/3 with TLS: a program, `curl.py`, makes the requests."""

    def __init__(self, origin: str, protocol: str, authority: pathlib.Path) -> None:
        super().__init__(origin)
        self.protocol, self.authority = protocol, authority
        self.program = subprocess.Popen([python(REQUIREMENTS), "-m", "system.php.curl"], cwd=REPOSITORY / "tests", stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)

    def stranger(self) -> "Curl":
        return Curl(self.origin, self.protocol, self.authority)

    def close(self) -> None:
        self.program.stdin.close()
        self.program.wait()

    def transfer(self, method: str, target: str, data: bytes | None, chunked: bool, sent: dict[str, str]) -> Answer:
        order = {"protocol": self.protocol, "authority": str(self.authority), "method": method, "url": f"{self.origin}{target}", "fields": sent,
                 "chunked": chunked, "body": None if data is None else base64.b64encode(data).decode()}
        self.program.stdin.write(json.dumps(order) + "\n")
        self.program.stdin.flush()
        found = json.loads(self.program.stdout.readline())
        if "error" in found:
            raise OSError(f"{method} {target} over {self.protocol}: {found['error']}")
        fields = http.client.HTTPMessage()
        for name, value in found["fields"]:
            fields[name] = value
        return Answer(found["status"], fields, base64.b64decode(found["body"]))


def multipart(fields: dict[str, str], name: str, filename: str, content: bytes, kind: str = "image/png") -> tuple[bytes, str]:
    """The body of a form with a file, and its type."""
    boundary = "0123456789abcdef"
    parts = [f'--{boundary}\r\nContent-Disposition: form-data; name="{key}"\r\n\r\n{value}\r\n'.encode() for key, value in fields.items()]
    head = f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"; filename="{filename}"\r\nContent-Type: {kind}\r\n\r\n'
    return b"".join([*parts, head.encode(), content, f"\r\n--{boundary}--\r\n".encode()]), f"multipart/form-data; boundary={boundary}"
