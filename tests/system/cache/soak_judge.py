"""Whether a response of the soak test is one version, and one that was current when it may have been."""

from __future__ import annotations

import dataclasses
import re

from ..wire import Response
from .soak_resources import HOST, VARIANTS, Content, Resource, byte_range, version_of

# For a clock of the server that is late, and for a response that another request had begun.
SLACK = 1.0


@dataclasses.dataclass
class Request:
    """A request of a client, and its time."""

    resource: Resource
    variant: int
    method: str = "GET"
    fields: dict[str, str] = dataclasses.field(default_factory=dict)
    # After so much of the body, the client leaves.
    leaves_after: int | None = None
    asked: float = 0.0
    # When it began to purge the resource that it asks for.
    purged: float = float("-inf")
    purge: str = ""

    def head(self) -> bytes:
        lines = [f"{self.method} {self.resource.path} HTTP/1.1", f"Host: {HOST}", f"X-Variant: {self.variant}",
                 *(f"{name}: {value}" for name, value in self.fields.items())]
        return "\r\n".join([*lines, "", ""]).encode()


class Body:
    """The body of a response, piece by piece, beside the version that its head names."""

    def __init__(self, request: Request, response: Response, answered: float) -> None:
        self.request, self.response, self.answered = request, response, answered
        self.received, self.is_whole = 0, False
        self.is_empty = request.method == "HEAD" or response.status == 304
        self.wrong = ""
        self.content: Content | None = None
        self.start, self.end = 0, 0
        if response.status not in (200, 206, 304):
            self.wrong = "an unexpected status"
            return
        if "x-version" in response.headers:
            self.version = int(response.headers["x-version"])
        elif response.status == 304 and "etag" in response.headers:
            self.version = version_of(response.headers["etag"])
        else:
            self.wrong = "no version"
            return
        self.content = request.resource.content(self.version, request.variant)
        self.end = self.content.length
        self.wrong = self.judge_head()

    def judge_head(self) -> str:
        response, fields = self.response, self.request.fields
        if response.get("etag") not in (self.content.etag, None):
            return "the entity tag of another version"
        if response.status == 304:
            return "" if fields.get("If-None-Match") == self.content.etag else "304 for another version"
        if response.status == 206:
            return self.judge_part()
        return "" if self.response.get("content-range") is None else "a part with the status of a whole"

    def judge_part(self) -> str:
        fields = self.request.fields
        expected = byte_range(fields["Range"], self.content.length) if "Range" in fields else None
        if expected is None:
            return "a part that was not asked for"
        self.start, self.end = expected
        if self.response.get("content-range") != f"bytes {self.start}-{self.end - 1}/{self.content.length}":
            return f"not the part {self.start}-{self.end - 1}/{self.content.length}"
        if fields.get("If-Range", self.content.etag) != self.content.etag:
            return "a part of another version than If-Range names"
        return ""

    def take(self, piece: bytes) -> None:
        place = self.start + self.received
        if self.content and not self.wrong and not self.content.has_at(place, piece):
            self.wrong = f"at {place}, {len(piece)} bytes of something else{self.origin_of(place, piece)}"
        self.received += len(piece)

    def origin_of(self, place: int, piece: bytes) -> str:
        """Which other version has the end of this piece there."""
        end = piece[-32:]
        for version in range(self.version - 100, self.version + 100):
            for variant in range(VARIANTS):
                if self.request.resource.content(version, variant).has_at(place + len(piece) - len(end), end):
                    return f": its end is version {version}, variant {variant}"
        return ""

    def judge(self) -> str:
        """The fault in the part of the response that has arrived; empty if it is right."""
        if self.wrong:
            return self.wrong
        length = self.response.get("content-length")
        if self.is_whole and not self.is_empty and self.received != self.end - self.start:
            return f"{self.received} bytes instead of {self.end - self.start} as a whole response"
        if self.request.method == "HEAD" and length not in (None, str(self.content.length)):
            return f"not the length {self.content.length}"
        oldest, newest = self.window()
        if not oldest <= self.version <= newest:
            return f"version {self.version}, where {oldest} to {newest} may be"
        return ""

    def window(self) -> tuple[int, int]:
        """The oldest and the newest version that may be sent."""
        request, resource = self.request, self.request.resource
        # A response that is not stored is not shared, either. A purge removes also what is on its way.
        slack = SLACK if resource.is_stored else 0.0
        since = max(request.asked - resource.lifetime - slack, request.purged)
        return resource.version_at(since), resource.version_at(self.answered)

    def lateness(self) -> float:
        """For how many seconds the version had been out of its lifetime when it was requested; negative within it."""
        resource = self.request.resource
        ended = (self.version + 1) * resource.period - resource.offset
        return self.request.asked - resource.lifetime - ended

    def cache_result(self) -> str:
        """The result of the cache, from the field Cache-Status."""
        status = self.response.get("cache-status") or "none"
        if "; hit" in status:
            return "stale" if re.search(r"ttl=-", status) else "hit"
        if "; collapsed" in status:
            return "collapsed"
        if "fwd-status=304" in status:
            return "revalidated"
        return "miss"

    def __str__(self) -> str:
        request, head = self.request, self.response
        return (f"{request.method} {request.resource.path} {request.fields} variant {request.variant}, "
                f"asked {request.asked:.3f}, purged {request.purged:.3f} {request.purge}, head {self.answered:.3f}; "
                f"{head.status} {head.headers}; {request.resource}")
