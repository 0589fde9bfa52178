"""The requests of a configuration, one a line: `METHOD TARGET | Name: value | … | body: text`.

The host is that of the line `host: …` above, unless the request has one; `Host: -` leaves it out. `tls` sends the request
over TLS, `version: 1.0` as HTTP/1.0. `{x*500}` stands for 500 times `x`, `{tag}` for the entity tag that the server gives the
target, `{date}` for the date of all files, and `\\xHH` for a byte.
"""

from __future__ import annotations

import dataclasses
import pathlib
import re

DATE = "Sun, 09 Sep 2001 01:46:40 GMT"


@dataclasses.dataclass(frozen=True)
class Request:
    line: str
    method: str
    target: str
    fields: tuple[tuple[str, str], ...]
    host: str | None
    is_tls: bool = False
    version: str = "1.1"
    body: bytes = b""

    @property
    def needs_tag(self) -> bool:
        return any("{tag}" in value for _, value in self.fields)

    def message(self, tag: str = "") -> bytes:
        fields = [("Host", self.host)] if self.host is not None else []
        fields += [(name, value.replace("W/{tag}", "W/" + tag.removeprefix("W/")).replace("{tag}", tag))
                   for name, value in self.fields]
        names = {name.lower() for name, _ in fields}
        if "connection" not in names:
            fields.append(("Connection", "close"))
        if self.body and "content-length" not in names and "transfer-encoding" not in names:
            fields.append(("Content-Length", str(len(self.body))))
        head = [f"{self.method} {self.target} HTTP/{self.version}", *(f"{name}: {value}" for name, value in fields), "", ""]
        return "\r\n".join(head).encode("latin-1") + self.body


def read(path: pathlib.Path) -> list[Request]:
    found, host = [], "localhost"
    for line in path.read_text().splitlines():
        if not line or line.startswith("#"):
            continue
        if line.startswith("host: "):
            host = line.removeprefix("host: ")
            continue
        found.append(parse(line, host))
    return found


def parse(line: str, host: str) -> Request:
    first, *rest = [expanded(part) for part in line.split(" | ")]
    method, _, target = first.partition(" ")
    request = {"host": host}
    fields = []
    for part in rest:
        name, _, value = part.partition(": ")
        match name:
            case "tls":
                request["is_tls"] = True
            case "version":
                request["version"] = value
            case "body":
                request["body"] = value.encode("latin-1")
            case "Host":
                request["host"] = None if value == "-" else value
            case _:
                fields.append((name, value))
    return Request(line, method, target, tuple(fields), **request)


def expanded(text: str) -> str:
    text = re.sub(r"\{([^{}*]+)\*(\d+)\}", lambda found: found[1] * int(found[2]), text)
    text = re.sub(r"\\x([0-9a-f]{2})", lambda found: chr(int(found[1], 16)), text)
    return text.replace("{date}", DATE)
