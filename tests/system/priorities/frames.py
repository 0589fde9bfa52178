"""As much of HTTP/2 (RFC 9113) as a client needs that asks for files and notes which bytes came when."""

from __future__ import annotations

import struct

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, RST_STREAM, SETTINGS, PING, GOAWAY, WINDOW_UPDATE = 0, 1, 3, 4, 6, 7, 8
END_STREAM, ACK, END_HEADERS, PADDED = 0x1, 0x1, 0x4, 0x8
# RFC 9113 §6.5.2: settings.
ENABLE_PUSH, INITIAL_WINDOW_SIZE = 2, 4
# RFC 9113 §6.9.1.
LARGEST_WINDOW = (1 << 31) - 1
FIRST_WINDOW = 65_535
HEADER = 9


def frame(kind: int, flags: int, stream: int, payload: bytes = b"") -> bytes:
    return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload


def settings(values: dict[int, int]) -> bytes:
    return frame(SETTINGS, 0, 0, b"".join(struct.pack(">HI", *pair) for pair in values.items()))


def window_update(stream: int, increment: int) -> bytes:
    return frame(WINDOW_UPDATE, 0, stream, struct.pack(">I", increment))


def literal(name: str, value: str) -> bytes:
    """A field that is not put into the table (RFC 7541 §6.2.2), without Huffman's code."""
    return b"\x00" + text(name) + text(value)


def text(value: str) -> bytes:
    encoded = value.encode()
    # Seven bits hold 126; longer values take the prefix and one more byte here (RFC 7541 §5.1).
    assert len(encoded) < 127 + 128
    size = [len(encoded)] if len(encoded) < 127 else [127, len(encoded) - 127]
    return bytes(size) + encoded


def request(stream: int, scheme: str, authority: str, path: str) -> bytes:
    fields = {":method": "GET", ":scheme": scheme, ":authority": authority, ":path": path}
    return frame(HEADERS, END_STREAM | END_HEADERS, stream, b"".join(literal(*field) for field in fields.items()))


def is_success(block: bytes) -> bool:
    """Whether a field block begins with `:status: 200`, perhaps behind an update of the table's size (RFC 7541 §6)."""
    while block and block[0] & 0xE0 == 0x20:
        # Five bits hold 30; a larger size goes on while the highest bit is set.
        size = 1
        if block[0] & 0x1F == 0x1F:
            while block[size] & 0x80:
                size += 1
            size += 1
        block = block[size:]
    # Entry 8 of the static table; or a literal with the name of one of its entries for `:status`, 8 to 14.
    return block[:1] == b"\x88" or (block[:1] in (b"\x08", b"\x48") and block[1:5] in (b"\x03200", b"\x82\x10\x01"))


class Reader:
    """Takes bytes as they come; hands on DATA bytes at once, other frames when they are whole."""

    def __init__(self, on_data, on_frame) -> None:
        self.on_data, self.on_frame = on_data, on_frame
        self.waiting = b""
        # Of the DATA frame being read: its stream, what of it is missing, whether it is the stream's last.
        self.stream, self.missing, self.last = 0, 0, False

    def feed(self, received: bytes) -> None:
        rest = memoryview(self.waiting + received if self.waiting else received)
        self.waiting = b""
        while len(rest):
            if self.missing:
                taken = min(self.missing, len(rest))
                self.missing -= taken
                self.on_data(self.stream, taken, self.last and not self.missing)
                rest = rest[taken:]
                continue
            if len(rest) < HEADER:
                break
            length = int.from_bytes(rest[:3], "big")
            kind, flags, stream = rest[3], rest[4], int.from_bytes(rest[5:9], "big") & LARGEST_WINDOW
            if kind == DATA and not flags & PADDED:
                self.stream, self.missing, self.last = stream, length, bool(flags & END_STREAM)
                rest = rest[HEADER:]
                if not length:
                    self.on_data(stream, 0, self.last)
                continue
            if len(rest) < HEADER + length:
                break
            self.on_frame(kind, flags, stream, bytes(rest[HEADER:HEADER + length]))
            rest = rest[HEADER + length:]
        self.waiting = bytes(rest)
