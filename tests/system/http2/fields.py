"""As much of HPACK (RFC 7541) as an attacker needs, and a reader of statuses."""

from __future__ import annotations

from ..priorities import frames

# RFC 7541, appendix A: the entries that whole requests are made of.
GET, POST, ROOT, HTTP, HTTPS = b"\x82", b"\x83", b"\x84", b"\x86", b"\x87"
STATUSES = {8: 200, 9: 204, 10: 206, 11: 304, 12: 400, 13: 404, 14: 500}
AUTHORITY, PATH, STATUS = 1, 4, 8
# RFC 7541, appendix B: the digits, most significant bit first.
DIGITS = {"00000": "0", "00001": "1", "00010": "2", "011001": "3", "011010": "4", "011011": "5", "011100": "6",
          "011101": "7", "011110": "8", "011111": "9"}


def integer(value: int, bits: int, first: int = 0) -> bytes:
    """RFC 7541 §5.1; `first` has what stands before it in the first byte."""
    most = (1 << bits) - 1
    if value < most:
        return bytes([first | value])
    value -= most
    encoded = bytearray([first | most])
    while value >= 128:
        encoded.append(value & 127 | 128)
        value >>= 7
    return bytes([*encoded, value])


def text(value: bytes) -> bytes:
    return integer(len(value), 7) + value


def literal(name: bytes | int, value: bytes, *, kept: bool = False) -> bytes:
    """A field; `kept` ones go into the table (RFC 7541 §6.2.1), others do not (§6.2.2)."""
    index = name if isinstance(name, int) else 0
    start = integer(index, 6, 0x40) if kept else integer(index, 4)
    return start + (b"" if index else text(name)) + text(value)


def request(path: bytes = b"/", method: bytes = GET, *more: bytes, scheme: bytes = HTTP) -> bytes:
    target = ROOT if path == b"/" else literal(PATH, path)
    return b"".join([method, scheme, target, literal(AUTHORITY, b"localhost"), *more])


def headers(stream: int, block: bytes, *, end_stream: bool = True, end_headers: bool = True) -> bytes:
    """A block as HEADERS with as many CONTINUATION as it takes."""
    first, rest = block[:16384], block[16384:]
    flags = (frames.END_STREAM if end_stream else 0) | (frames.END_HEADERS if end_headers and not rest else 0)
    made = [frames.frame(frames.HEADERS, flags, stream, first)]
    while rest:
        first, rest = rest[:16384], rest[16384:]
        made.append(frames.frame(CONTINUATION, frames.END_HEADERS if end_headers and not rest else 0, stream, first))
    return b"".join(made)


def status(block: bytes) -> int | None:
    """The status at the beginning of a block, if the block has one that can be read without a dynamic table."""
    while block and block[0] & 0xE0 == 0x20:
        size = 1
        if block[0] & 0x1F == 0x1F:
            while block[size] & 0x80:
                size += 1
            size += 1
        block = block[size:]
    if not block:
        return None
    if block[0] & 0x80:
        return STATUSES.get(block[0] & 0x7F)
    index = block[0] & (0x3F if block[0] & 0x40 else 0x0F)
    if index not in STATUSES:
        return None
    length, value = block[1] & 0x7F, block[2:2 + (block[1] & 0x7F)]
    digits = unpacked(value) if block[1] & 0x80 else value.decode("latin-1")
    return int(digits) if length and digits.isdigit() else None


def unpacked(value: bytes) -> str:
    """Digits in Huffman's code."""
    found, bits = "", ""
    for bit in "".join(f"{byte:08b}" for byte in value):
        bits += bit
        if bits in DIGITS:
            found += DIGITS[bits]
            bits = ""
    return found


# RFC 9113 §6.10; RFC 9218 §7.1; RFC 9113 §6.3.
CONTINUATION, PRIORITY_UPDATE, PRIORITY = 9, 16, 2
