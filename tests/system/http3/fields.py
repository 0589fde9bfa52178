"""HTTP/3 on the wire: frames, and field sections that use no table."""

from __future__ import annotations

import itertools

from .transport import varint

DATA, HEADERS, CANCEL_PUSH, SETTINGS, PUSH_PROMISE, GOAWAY, MAX_PUSH_ID, PRIORITY_UPDATE = 0, 1, 3, 4, 5, 7, 0xD, 0xF0700
CONTROL, PUSH, ENCODER, DECODER = 0, 1, 2, 3
FIELDS = ((":method", "GET"), (":scheme", "https"), (":authority", "localhost"), (":path", "/"))


def frame(kind: int, payload: bytes = b"") -> bytes:
    return varint(kind) + varint(len(payload)) + payload


def integer(number: int, bits: int, first: int) -> bytes:
    """RFC 7541 §5.1."""
    most = (1 << bits) - 1
    if number < most:
        return bytes([first | number])
    rest, number = [first | most], number - most
    while number >= 128:
        rest.append(number & 127 | 128)
        number >>= 7
    return bytes([*rest, number])


def literal(name: bytes, value: bytes) -> bytes:
    """RFC 9204 §4.5.6."""
    return integer(len(name), 3, 0x20) + name + integer(len(value), 7, 0) + value


def section(fields) -> bytes:
    return bytes(2) + b"".join(literal(name.encode("latin-1"), value.encode("latin-1")) for name, value in fields)


def headers(*more: tuple[str, str], path: str = "/", method: str = "GET") -> bytes:
    """The HEADERS of a request."""
    changed = {":path": path, ":method": method}
    return frame(HEADERS, section([(name, changed.get(name, value)) for name, value in itertools.chain(FIELDS, more)]))


def priority_update(stream: int, value: bytes = b"u=1") -> bytes:
    return frame(PRIORITY_UPDATE, varint(stream) + value)
