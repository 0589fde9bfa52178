"""A request as a server behind the proxy reads it, piece by piece."""

from __future__ import annotations

import dataclasses
import zlib


class Body:
    """The length that is missing of a request's body, and the checksum of the bytes that came."""

    def __init__(self, headers: dict[str, str]) -> None:
        self.chunked = "chunked" in headers.get("transfer-encoding", "")
        self.missing = int(headers.get("content-length", 0))
        self.sum, self.is_last = 0, False

    def take(self, buffer: bytearray) -> bool:
        """Takes what belongs to it; whether it is whole now."""
        if not self.chunked:
            self._eat(buffer)
            return self.missing == 0
        while True:
            self._eat(buffer)
            if self.missing or (end := buffer.find(b"\r\n")) < 0:
                return False
            line = bytes(buffer[:end])
            del buffer[:end + 2]
            if self.is_last and not line:
                return True
            # The empty line behind a chunk has no size; those behind the last chunk are trailers.
            if line and not self.is_last:
                self.missing = int(line.split(b";")[0], 16)
                self.is_last = self.missing == 0

    def _eat(self, buffer: bytearray) -> None:
        taken = min(self.missing, len(buffer))
        self.sum = zlib.crc32(buffer[:taken], self.sum)
        self.missing -= taken
        del buffer[:taken]


@dataclasses.dataclass
class Request:
    method: str
    target: str
    id: str
    body: Body

    @property
    def words(self) -> list[str]:
        return self.target.strip("/").split("/")

    @property
    def rate(self) -> int:
        """Bytes a second at which its body is read; 0: as they come."""
        return int(self.words[1]) if self.words[0] == "sum" and len(self.words) > 1 else 0


def read_head(head: bytes) -> Request:
    first, *lines = head.decode("latin-1").split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    method, target, _ = first.split(" ", 2)
    return Request(method, target, headers.get("x-id", "-"), Body(headers))
