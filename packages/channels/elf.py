"""What packages promise about the format of their programs."""

from __future__ import annotations

import pathlib
import struct

from .error import ChannelError

# elf(5): the type of the program header that names the dynamic loader.
PT_INTERP = 3
# The header's length, and where it has the offset, length and number of the program headers, for 64 bits.
HEADER_LENGTH = 64
PROGRAM_HEADERS = "<32xQ14xHH"


def require_static(path: pathlib.Path) -> None:
    """Raises an error if a program needs a dynamic loader, and therefore a certain libc."""
    data = path.read_bytes()
    # 64 bits, little-endian
    if data[:6] != b"\x7fELF\x02\x01":
        raise ChannelError(f"{path} is not a program for x86_64 or aarch64")
    start, length, number = struct.unpack_from(PROGRAM_HEADERS, data[:HEADER_LENGTH])
    for index in range(number):
        if struct.unpack_from("<I", data, start + index * length)[0] == PT_INTERP:
            raise ChannelError(f"{path} is linked dynamically; packages need a static program: build it for musl")
