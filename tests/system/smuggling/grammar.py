"""A request in HTTP/1.1 as RFC 9110 and 9112 have it to the letter, for a message that a proxy has made itself."""

from __future__ import annotations

import re

# RFC 9110 §5.6.2.
TOKEN = r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+"
# RFC 3986 §3.3 and §3.4, a path and perhaps a query, and what that has no place for but browsers and others send every day:
# quotes, brackets, bytes beyond ASCII. No reader takes them for the end of a target, as a space or for another part of it.
ORIGIN = r"/[\x21\x22\x24-\x7e\x80-\xff]*"
REQUEST_LINE = re.compile(rf"({TOKEN}) ({ORIGIN}|\*) HTTP/1\.1".encode("latin-1"))
# RFC 9110 §5.5: visible characters and bytes beyond ASCII; between them spaces and tabs.
VISIBLE = r"\x21-\x7e\x80-\xff"
VALUE = rf"(?:[{VISIBLE}](?:[ \t{VISIBLE}]*[{VISIBLE}])?)?"
FIELD = re.compile(rf"({TOKEN}):[ \t]*({VALUE})[ \t]*".encode("latin-1"))
# RFC 3986 §3.2.2: a name or address in brackets, perhaps a port.
HOST = re.compile(rb"(?:(?:[A-Za-z0-9\-._~!$&'()*+,;=]|%[0-9A-Fa-f]{2})*|\[[0-9A-Fa-f:.]+\])(?::[0-9]*)?")
# RFC 9112 §7.1, with extensions.
QUOTED = r'"(?:[\t \x21\x23-\x5b\x5d-\x7e\x80-\xff]|\\[\t \x21-\x7e\x80-\xff])*"'
CHUNK = re.compile(rf"([0-9A-Fa-f]+)(?:[ \t]*;[ \t]*{TOKEN}(?:[ \t]*=[ \t]*(?:{TOKEN}|{QUOTED}))?)*".encode("latin-1"))
# Options that Connection may have in a message between a proxy and its server, and fields that are about the connection
# and may be there (RFC 9110 §7.6.1).
CONNECTION = {"close", "keep-alive", "upgrade", "te"}
# RFC 9110 §6.5.1: fields that frame or route a message, concern its connection or authenticate the client must not be
# trailers; nor may a client send as trailers the fields in which a proxy describes the client.
NOT_IN_TRAILERS = {"transfer-encoding", "content-length", "host", "connection", "te", "trailer", "max-forwards", "authorization",
                   "proxy-authorization", "cookie", "forwarded", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto"}


class Malformed(Exception):
    """A violation of the grammar: one line."""


def head(received: bytes) -> tuple[str, str, list[tuple[str, str]]]:
    """Method, target and fields, names in lower case, of a head without the empty line at its end."""
    first, *lines = received.split(b"\r\n")
    line = REQUEST_LINE.fullmatch(first)
    if not line:
        raise Malformed(f"request line {first[:120]!r}")
    method, target = line.group(1).decode(), line.group(2).decode("latin-1")
    if target == "*" and method != "OPTIONS":
        raise Malformed(f"{method} *")
    found = fields(lines)
    hosts = [value for name, value in found if name == "host"]
    if len(hosts) != 1 or not HOST.fullmatch(hosts[0].encode("latin-1")):
        raise Malformed(f"Host: {hosts}")
    named = {option.strip().lower() for name, value in found if name == "connection" for option in value.split(",")}
    if strange := named - CONNECTION - {""}:
        raise Malformed(f"Connection names {', '.join(sorted(strange))}")
    return method, target, found


def fields(lines: list[bytes]) -> list[tuple[str, str]]:
    found = []
    for line in lines:
        field = FIELD.fullmatch(line)
        if not field:
            raise Malformed(f"field {line[:120]!r}")
        found.append((field.group(1).decode().lower(), field.group(2).decode("latin-1")))
    return found


def length(found: list[tuple[str, str]]) -> int | None:
    """The body's length; None where it is chunked."""
    lengths = [value for name, value in found if name == "content-length"]
    codings = [value for name, value in found if name == "transfer-encoding"]
    if lengths and codings:
        raise Malformed(f"Content-Length {lengths} and Transfer-Encoding {codings}")
    if codings:
        if [coding.lower() for coding in codings] != ["chunked"]:
            raise Malformed(f"Transfer-Encoding {codings}")
        return None
    if len(lengths) > 1 or lengths and not re.fullmatch(r"[0-9]{1,19}", lengths[0], re.ASCII):
        raise Malformed(f"Content-Length {lengths}")
    return int(lengths[0]) if lengths else 0


def chunk_size(line: bytes) -> int:
    """Of a line without its end."""
    found = CHUNK.fullmatch(line)
    if not found or len(found.group(1)) > 15:
        raise Malformed(f"chunk size {line[:120]!r}")
    return int(found.group(1), 16)


def trailers(lines: list[bytes]) -> list[tuple[str, str]]:
    found = fields(lines)
    if wrong := {name for name, _ in found} & NOT_IN_TRAILERS:
        raise Malformed(f"trailers with {', '.join(sorted(wrong))}")
    return found
