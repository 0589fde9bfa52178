"""The differences from nginx that are meant, each with its reason."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

from .. import wire
from .requests import Asked


@dataclasses.dataclass(frozen=True)
class Reason:
    name: str
    why: str
    # Of the request, the part that differs, our answer and nginx's.
    covers: Callable[[Asked, str, wire.Response, wire.Response], bool]


def named(*names: str) -> Callable[..., bool]:
    """Covers all parts of the requests with these names."""
    return lambda asked, part, one, other: asked.name in names


def status(one_status: int, other_status: int, *names: str) -> Callable[..., bool]:
    """Covers these two statuses of the requests with these names."""
    return lambda asked, part, one, other: (
        part == "status" and (one.status, other.status) == (one_status, other_status) and asked.name in names)


def has_field(name: str) -> Callable[[Asked], bool]:
    return lambda asked: any(field == name for field, _ in asked.headers)


ranged, encoded = has_field("Range"), has_field("Accept-Encoding")

REASONS = [
    Reason("own listing", "each server's listing is its own page; ours has a length where it is small, and a json form",
           lambda asked, part, one, other: asked.target == "/listed/" and part != "status"),
    Reason("hidden names", ".git, .env and .htpasswd lie in many a folder that is served; --hidden serves them",
           status(404, 200, "hidden")),
    Reason("dot segments", "RFC 3986 §5.2.4: who makes a request from a reference removes them; what still has them is a "
           "scanner or a confused proxy, and each reading of them is somebody's hole",
           lambda asked, part, one, other: part == "status" and one.status in (400, 404) and other.status == 200
           and asked.name in ("dot", "dot within", "up and down", "folder dot", "folder dot dot")),
    Reason("encoded slash", "RFC 3986 §2.2: %2F and / are not equivalent; no file name holds a slash",
           status(404, 200, "encoded slash")),
    Reason("fragment", "RFC 9112 §3.2: a request target has no fragment; RFC 9112 §3: an invalid request-line is answered 400",
           status(400, 200, "fragment")),
    Reason("OPTIONS", "RFC 9110 §9.3.7: it asks which methods there are; 204 with Allow says it", status(204, 405, "method OPTIONS")),
    Reason("405 before 404", "a method that is never allowed is refused without a look at the file system",
           status(405, 404, "POST to what is missing")),
    Reason("Accept-Ranges in all answers", "RFC 9110 §14.3 lets a server send it whenever the target has ranges: ours has, in its "
           "identity form, also where this answer is compressed or a part",
           lambda asked, part, one, other: part == "accept-ranges" and one.get(part) == "bytes" and (ranged(asked) or encoded(asked))),
    Reason("invalid ranges", "RFC 9110 §14.2: an invalid ranges-specifier may be ignored or rejected; ignoring serves the client",
           status(200, 416, "range, backwards", "range, no number")),
    Reason("a last position of any size", "RFC 9110 §14.1.2: a last position beyond the end means the rest",
           status(206, 416, "range, huge")),
    Reason("ranges are for GET", "RFC 9110 §14.2: Range is ignored with a method for which it is not defined, and GET is the only one",
           status(200, 206, "range of HEAD")),
    Reason("own boundary", "RFC 9110 §14.6: the boundary is the server's choice; ours is drawn at random",
           lambda asked, part, one, other: part in ("content-type", "content-length")
           and one.status == 206 and (one.get("content-type") or "").startswith("multipart/byteranges; boundary=")),
    Reason("a range before compression", "who asks for a part of a file that would be compressed on the way gets the part, "
           "uncompressed; RFC 9110 §12.5.3: identity is acceptable unless excluded", status(206, 200, "range and gzip")),
    Reason("dates are compared", "RFC 9110 §13.1.3: not modified if the last modification is earlier than or equal to the date",
           status(304, 200, "If-Modified-Since, after")),
    Reason("an invalid date is ignored", "RFC 9110 §13.1.4: If-Unmodified-Since is ignored if it is no valid date",
           status(200, 412, "If-Unmodified-Since, no date")),
    Reason("If-Match rules out If-Unmodified-Since", "RFC 9110 §13.2.2, steps 1 and 2",
           status(200, 412, "If-Match before If-Unmodified-Since")),
    Reason("lengths of what is compressed", "small files are compressed once and kept, so that their length is known",
           lambda asked, part, one, other: part in ("content-length", "transfer-encoding") and encoded(asked)
           and one.get("content-encoding") == other.get("content-encoding") == "gzip"),
    Reason("any coding", "RFC 9110 §12.5.3: * stands for every coding that is not named; nginx has only gzip",
           named("encoding, any")),
    Reason("types of its own", "a charset with every text type; .gz has a type without a table in the settings",
           lambda asked, part, one, other: part == "content-type" and asked.target.startswith("/packed.css")),
]


def reason(asked: Asked, part: str, one, other) -> Reason | None:
    for known in REASONS:
        if known.covers(asked, part, one, other):
            return known
    return None
