#!/usr/bin/env python3
"""The origin: `origin.py [PORT [CERTIFICATE KEY]]`, or with the port in PORT. /attack/NUMBER/TURN is answered as that case says, /victim/NAME with `VICTIM NAME`.
A client that writes NUMBER/TURN to the unix socket CONTROL gets an answer when all of that response has been sent."""

from __future__ import annotations

import asyncio
import collections
import os
import pathlib
import socket
import ssl
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))

from system.origins import ways  # noqa: E402

CASES = ways.cases()
SENT: dict[str, asyncio.Event] = collections.defaultdict(asyncio.Event)


async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    try:
        while await exchange(reader, writer):
            pass
    except (OSError, asyncio.IncompleteReadError):
        pass
    finally:
        writer.close()


async def exchange(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
    _, target, _ = head.split("\r\n")[0].split(" ")
    length = next((int(line.split(":")[1]) for line in head.split("\r\n") if line.startswith("content-length:")), 0)
    await reader.readexactly(length)
    if "transfer-encoding: chunked" in head:
        while (size := int((await reader.readline()).split(b";")[0], 16)) > 0:
            await reader.readexactly(size + 2)
        await reader.readline()
    kind, _, name = target.lstrip("/").partition("/")
    if kind == "victim":
        writer.write(ways.response(f"VICTIM {name}".encode(), f"X-Victim: {name}"))
        await writer.drain()
        return True
    parts, pause = CASES[int(name.partition("/")[0])].writes()
    try:
        for number, part in enumerate(parts):
            if number > 0 and pause > 0:
                await asyncio.sleep(pause)
            writer.write(part)
            await writer.drain()
    finally:
        # Also where the proxy had enough of it.
        SENT[name].set()
    return True


async def tell_when_sent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    name = (await reader.readline()).decode().strip()
    await SENT[name].wait()
    writer.write(b"sent\n")
    writer.close()


async def main() -> None:
    port, *files = sys.argv[1:] or [os.environ["PORT"]]
    context = None
    if files:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*files)
    server = await asyncio.start_server(serve, "127.0.0.1", int(port), limit=1 << 20, ssl=context)
    await asyncio.start_unix_server(tell_when_sent, os.environ["CONTROL"])
    async with server:
        await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main())
