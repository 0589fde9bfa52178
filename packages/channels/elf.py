"""Checks what packages promise about their programs: the processor, and that they run with any libc."""

from __future__ import annotations

import pathlib
import struct

from .binaries import machine
from .error import ChannelError

# elf(5): 64 bits, little-endian.
IDENTIFICATION = b"\x7fELF\x02\x01"
HEADER_LENGTH = 64
# In the header: the processor, and the offset, length and number of the program headers.
FIELDS = "<18xH12xQ14xHH"
PROCESSORS = {"x86_64": 62, "aarch64": 183}
# The type of the program header that names the dynamic loader.
PT_INTERP = 3


def require_static(path: pathlib.Path, target: str) -> None:
    """Raises an error unless a program is for the processor of a target, and needs no dynamic loader."""
    data = path.read_bytes()
    if data[:len(IDENTIFICATION)] != IDENTIFICATION or len(data) < HEADER_LENGTH:
        raise ChannelError(f"{path} is not a program for {machine(target)}")
    processor, start, length, number = struct.unpack_from(FIELDS, data)
    if processor != PROCESSORS[machine(target)]:
        raise ChannelError(f"{path} is a program for another processor than {machine(target)}")
    types = [struct.unpack_from("<I", data, start + index * length)[0] for index in range(number)]
    if PT_INTERP in types:
        raise ChannelError(f"{path} is linked dynamically; packages need a static program: build it for {target}")
