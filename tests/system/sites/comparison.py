"""Where two responses differ: status, header fields, body, and what the application received."""

from __future__ import annotations

import re
import zlib

from .. import wire

# Each server's own: when it answered, what it is called, and how it says that the connection ends.
IGNORED = {"date", "server", "connection", "keep-alive", "x-powered-by"}
# Of an error message of the server itself, only what a client acts upon counts.
OF_MESSAGES = {"content-type", "content-length", "etag", "last-modified", "accept-ranges", "transfer-encoding"}


def differences(ours: wire.Response | str, theirs: wire.Response | str, ports: dict[int, str],
                origin: str) -> dict[str, tuple[str, str]]:
    """Each part that differs, with ours and nginx's. `ports` has names for the ports, which are others in each run. `origin`
    is that of the request: an address in `Location` may have it or not."""
    if isinstance(ours, str) or isinstance(theirs, str):
        return {} if ours == theirs else {"response": (brief(ours), brief(theirs))}
    found = {}
    if ours.status != theirs.status:
        return {"status": (str(ours.status), str(theirs.status))}
    are_messages = is_message(ours) and is_message(theirs)
    for name in sorted((ours.headers.keys() | theirs.headers.keys()) - IGNORED):
        if are_messages and name in OF_MESSAGES:
            continue
        one, other = (value_of(response, name, ports, origin) for response in (ours, theirs))
        if one != other:
            found[name] = (one, other)
    if not are_messages:
        found |= of_bodies(content(ours), content(theirs), ports)
    return found


def brief(response: wire.Response | str) -> str:
    return response if isinstance(response, str) else str(response.status)


def is_message(response: wire.Response) -> bool:
    """Whether the body is a message of the server itself, and not a page of the site."""
    if response.status < 300:
        return False
    body = response.body
    return not body or b"<center>nginx" in body or re.fullmatch(rb"\d{3} [A-Z][^\n]*\n", body) is not None


def value_of(response: wire.Response, name: str, ports: dict[int, str], origin: str) -> str:
    value = response.get(name)
    if value is None:
        return "–"
    match name:
        case "etag":
            # Entity tags have no common form.
            return "weak" if value.startswith("W/") else "strong"
        case "location":
            return re.sub(rf"^{re.escape(origin)}(:PORT|:TLS)?(?=/)", "", named(value, ports))
        case "expires":
            return "a date" if "GMT" in value else value
        case "vary":
            return ", ".join(sorted({part.strip().lower() for part in value.split(",")}))
        case "content-type" if value.startswith("multipart/"):
            return value.partition("boundary=")[0]
        case "allow":
            return ", ".join(sorted(part.strip() for part in value.split(",")))
    return named(value, ports)


def named(text: str, ports: dict[int, str]) -> str:
    return re.sub(r":(\d{4,5})\b", lambda found: f":{ports.get(int(found[1]), found[1])}", text)


def content(response: wire.Response) -> bytes:
    if response.get("content-encoding") == "gzip" and response.body:
        return zlib.decompress(response.body, 31)
    if (response.get("content-type") or "").startswith("multipart/"):
        return re.sub(rb"--[0-9A-Za-z_-]{10,}", b"--BOUNDARY", response.body)
    return response.body


def of_bodies(one: bytes, other: bytes, ports: dict[int, str]) -> dict[str, tuple[str, str]]:
    if one == other:
        return {}
    if not (one.startswith(b"app: ") and other.startswith(b"app: ")):
        return {"body": (excerpt(one), excerpt(other))}
    found = {}
    ours, theirs = (received(body, ports) for body in (one, other))
    for name in sorted(ours.keys() | theirs.keys()):
        if ours.get(name) != theirs.get(name):
            found[f"application: {name}"] = (ours.get(name, "–"), theirs.get(name, "–"))
    return found


def received(body: bytes, ports: dict[int, str]) -> dict[str, str]:
    """The parts of the request that the application received, by their names."""
    parts: dict[str, str] = {}
    for line in named(body.decode("latin-1").rstrip(), ports).splitlines():
        name, _, value = line.partition(": ")
        parts[name] = f"{parts[name]}, {value}" if name in parts else value
    return parts


def excerpt(body: bytes) -> str:
    text = body[:60].decode("latin-1").encode("unicode_escape").decode()
    return f"{len(body)} bytes: {text}" if body else "empty"
