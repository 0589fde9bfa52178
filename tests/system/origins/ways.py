"""Responses of a misbehaving origin: each is whole, and has a tail behind it, in several writes."""

from __future__ import annotations

import dataclasses
import itertools

POISON = b"POISON"
LARGE = 100_000
# Fits into the first window of HTTP/2 (RFC 9113 §6.9.2).
WINDOW = 60_000


def response(body: bytes, *fields: str, status: str = "200 OK", version: str = "HTTP/1.1") -> bytes:
    head = "".join(f"{line}\r\n" for line in (f"{version} {status}", f"Content-Length: {len(body)}", *fields, "Set-Cookie: session=other"))
    return head.encode() + b"\r\n" + body


def chunked(body: bytes, *, extension: str = "", trailers: str = "") -> bytes:
    head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    return head + b"%x%s\r\n%s\r\n0\r\n%s\r\n" % (len(body), extension.encode(), body, trailers.encode())


@dataclasses.dataclass(frozen=True)
class Way:
    """A request, and the response to it, whole by the rules (RFC 9112 §6.3)."""

    name: str
    method: str
    sent: bytes
    # Of the request.
    body: bytes = b""

    @property
    def has_no_content(self) -> bool:
        """A response that never has content: some servers send it all the same, a moment later."""
        return self.method == "HEAD" or self.sent.startswith((b"HTTP/1.1 204", b"HTTP/1.1 304"))


HEAD_ONLY = b"HTTP/1.1 200 OK\r\nContent-Length: 11\r\n\r\n"
HINTS = b"HTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\n\r\n"
WAYS = (
    Way("length", "GET", response(b"SEE-THIS")),
    Way("length zero", "GET", response(b"")),
    Way("chunked", "GET", chunked(b"SEE-THIS")),
    Way("chunked with extension and trailers", "GET", chunked(b"SEE-THIS", extension=";a=b", trailers="X: y\r\n")),
    Way("204", "GET", b"HTTP/1.1 204 No Content\r\n\r\n"),
    Way("304", "GET", b'HTTP/1.1 304 Not Modified\r\nETag: "a"\r\n\r\n'),
    Way("304 with length", "GET", b"HTTP/1.1 304 Not Modified\r\nContent-Length: 6\r\n\r\n"),
    Way("POST", "POST", response(b"SEE-THIS"), b"a=b"),
    Way("POST with a large body", "POST", response(b"SEE-THIS"), b"x" * WINDOW),
    Way("large", "GET", response(b"x" * LARGE)),
    Way("large and chunked", "GET", chunked(b"x" * LARGE)),
    Way("HEAD with length", "HEAD", HEAD_ONLY),
    Way("HEAD chunked", "HEAD", b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"),
    Way("HEAD without framing", "HEAD", b"HTTP/1.1 200 OK\r\n\r\n"),
    Way("HTTP/1.0 with keep-alive", "GET", response(b"SEE-THIS", "Connection: keep-alive", version="HTTP/1.0")),
    Way("early hints", "GET", HINTS + response(b"SEE-THIS")),
    Way("100 Continue", "GET", b"HTTP/1.1 100 Continue\r\n\r\n" + response(b"SEE-THIS")),
    Way("205", "GET", response(b"", status="205 Reset Content")),
    Way("404", "GET", response(b"not found", status="404 Not Found")),
    Way("500", "GET", response(b"error", status="500 Internal Server Error")),
    Way("301", "GET", response(b"moved", "Location: /x", status="301 Moved Permanently")),
    Way("PUT answered with 204", "PUT", b"HTTP/1.1 204 No Content\r\n\r\n", b"text"),
    Way("DELETE", "DELETE", response(b"")),
    Way("OPTIONS", "OPTIONS", response(b"", "Allow: GET")),
)

TAILS = {
    "a response": response(POISON),
    "half a response": response(POISON)[:40],
    "a byte": b"H",
    "an empty line and a response": b"\r\n" + response(POISON),
    "a chunked response": chunked(POISON),
    "a large response": response(POISON * (LARGE // len(POISON))),
    "the body alone": b"POISON-BODY",
    "100 Continue": b"HTTP/1.1 100 Continue\r\n\r\n",
    "two responses": response(POISON) * 2,
    "a change of protocol": b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n" + POISON,
    "408 and the end": response(b"", "Connection: close", status="408 Request Timeout"),
}

# How the bytes are divided among writes, with a pause between them in seconds.
SPLITS = {
    "one write": lambda sent, tail: ([sent + tail], 0),
    "a write each": lambda sent, tail: ([sent, tail], 0),
    "a byte of the tail first": lambda sent, tail: ([sent + tail[:1], tail[1:]], 0.001),
    "the end of the response with the tail": lambda sent, tail: ([sent[:-1], sent[-1:] + tail], 0.001),
    "byte by byte": lambda sent, tail: ([*(sent[at:at + 1] for at in range(min(len(sent), 300))), sent[300:] + tail], 0),
    # For what never has content: no other proxy waits for that.
    "a tail later": lambda sent, tail: ([sent, tail], 0.005),
}


@dataclasses.dataclass(frozen=True)
class Case:
    number: int
    way: Way
    tail: str
    split: str

    @property
    def name(self) -> str:
        return f"{self.way.name}; {self.tail}; {self.split}"

    def writes(self) -> tuple[list[bytes], float]:
        parts, pause = SPLITS[self.split](self.way.sent, TAILS[self.tail])
        return [part for part in parts if part], pause


def cases() -> list[Case]:
    """All valid combinations. No proxy can tell a tail that comes later, behind a response with content, from an answer
    to the next request."""
    together = (
        (way, tail, split) for way, tail, split in itertools.product(WAYS, TAILS, SPLITS)
        if split != "a tail later" or way.has_no_content
    )
    return [Case(number, *parts) for number, parts in enumerate(together)]
