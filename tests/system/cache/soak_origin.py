"""The origin of the soak test: sends the versions that are current, some slowly, and cuts some off."""

from __future__ import annotations

import asyncio
import email.utils
import os
import random
import time

from .soak_resources import MEGABYTE, Content, Resource, byte_range, resource, version_of

# One response in so many is cut off, of those that are at times.
CUT_ONE_IN = 15
# So that other requests come while a response arrives.
MAX_WAIT = 0.1
# Bytes per second of a large response.
LARGE_RATE = 40 * MEGABYTE
HTTP_ERRORS = (asyncio.IncompleteReadError, ConnectionError)


def run(port: int) -> None:
    """Serves until the process is killed."""
    os.nice(5)
    asyncio.run(listen(port))


async def listen(port: int) -> None:
    server = await asyncio.start_server(serve, "127.0.0.1", port, backlog=1024)
    await server.serve_forever()


async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while await respond(await reader.readuntil(b"\r\n\r\n"), writer):
            pass
        await writer.drain()
    except HTTP_ERRORS:
        pass
    finally:
        writer.close()


async def respond(head: bytes, writer: asyncio.StreamWriter) -> bool:
    """Whether the connection stays open."""
    # Of this moment, whatever happens until it is sent.
    moment = time.monotonic()
    first, *lines = head.decode("latin-1").split("\r\n")
    method, target, _ = first.split(" ")
    fields = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    asked = resource(int(target.rpartition("/")[2]))
    version = asked.version_at(moment)
    content = asked.content(version, int(fields.get("x-variant", "0")))
    await asyncio.sleep(random.random() ** 3 * MAX_WAIT)
    if asked.has_etag and fields.get("if-none-match") == content.etag:
        writer.write(sent_head("304 Not Modified", asked, content, []))
        return True
    status, more, start, end = "200 OK", [], 0, content.length
    part = byte_range(fields["range"], content.length) if wants_part(asked, fields, content) else None
    if part:
        start, end = part
        status, more = "206 Partial Content", [f"Content-Range: bytes {start}-{end - 1}/{content.length}"]
    framing = "length" if part else asked.framing
    more.append({"length": f"Content-Length: {end - start}", "chunked": "Transfer-Encoding: chunked",
                 "close": "Connection: close"}[framing])
    writer.write(sent_head(status, asked, content, more))
    if method == "HEAD":
        return framing != "close"
    is_cut = asked.is_cut_at_times and framing != "close" and random.randrange(CUT_ONE_IN) == 0
    await send(writer, content, start, random.randrange(start, end) if is_cut else end, framing, is_cut)
    return framing != "close" and not is_cut


def wants_part(asked: Resource, fields: dict[str, str], content: Content) -> bool:
    return asked.accepts_ranges and "range" in fields and fields.get("if-range", content.etag) == content.etag


def sent_head(status: str, asked: Resource, content: Content, more: list[str]) -> bytes:
    lines = [f"HTTP/1.1 {status}", f"X-Version: {version_of(content.etag)}", f"Surrogate-Key: {asked.tag}", *more]
    cache_control = f"max-age={asked.max_age}" if asked.is_stored else "no-store"
    if asked.stale_while_revalidate:
        cache_control += f", stale-while-revalidate={asked.stale_while_revalidate}"
    lines.append(f"Cache-Control: {cache_control}")
    if asked.has_etag:
        lines.append(f"ETag: {content.etag}")
    if asked.has_date:
        lines.append(f"Date: {email.utils.formatdate(usegmt=True)}")
    if asked.varies:
        lines.append("Vary: X-Variant")
    return "\r\n".join([*lines, "", ""]).encode()


async def send(writer: asyncio.StreamWriter, content: Content, start: int, end: int, framing: str,
               is_cut: bool) -> None:
    pause = 0.0
    for piece in content.pieces(start, end):
        if framing == "chunked":
            writer.write(b"%x\r\n" % len(piece))
        writer.write(piece)
        if framing == "chunked":
            writer.write(b"\r\n")
        await writer.drain()
        pause += len(piece) / LARGE_RATE
        # Not for each piece: a timer is late by a millisecond.
        if pause > 0.02:
            await asyncio.sleep(pause)
            pause = 0.0
    if framing == "chunked" and not is_cut:
        writer.write(b"0\r\n\r\n")
    if is_cut:
        # Some of it arrives, and the connection ends: with a reset for every other one.
        await asyncio.sleep(random.random() * MAX_WAIT)
        if random.randrange(2):
            writer.transport.abort()
