"""A body that breaks off on one side of the proxy breaks off on the other: nobody takes half of one for a whole."""

from __future__ import annotations

import pathlib
import socket
import subprocess
import time

from .. import wire
from ..http2 import fields
from ..http2.client import Connection
from ..http2.tools import find
from ..polling import wait_until
from ..priorities import frames
from ..verdict import Verdict
from .proxies import Serow
from .upstream import Upstream, running

SIZE = 300_000
HTTP1, HTTP2 = "--http1.1", "--http2-prior-knowledge"
# How the server's response is framed, and how it ends. Where only the end of the connection says that it is over, an orderly
# one is no fault.
RESPONSES = (("cut", "bytes"), ("reset", "bytes"), ("cut", "chunks"), ("reset", "chunks"), ("reset", "end"))
SECONDS = 5.0


def responses(verdict: Verdict, folder: pathlib.Path, short: bool) -> None:
    """Responses that the server breaks off, as curl sees them."""
    with running(Upstream(folder, "a"), Upstream(folder, "b", unix=True)) as servers:
        for server in servers:
            # A server that breaks off is left alone; here it is the only one.
            with Serow(folder, (server,), ("--max-failures", "0")) as proxy:
                for version in (HTTP1, HTTP2):
                    for ending, framing in RESPONSES:
                        # A unix socket knows no RST, so that it ends in order.
                        if (server.address.startswith("unix:"), framing) != (True, "end"):
                            broken_off(verdict, proxy, version, f"/{ending}/{framing}/{SIZE}")
                    whole(verdict, proxy, version)
                verdict.check(not proxy.panics(), f"{proxy.said()[-300:]}")
    verdict.figure(f"responses truncated in {len(RESPONSES)} ways are truncated for HTTP/1.1 and HTTP/2")


def curl(proxy: Serow, version: str, path: str) -> tuple[int, int, int]:
    """Its exit code, the status, and how many bytes of a body came."""
    done = subprocess.run([find("curl"), "-sS", version, "-o", "/dev/null", "-w", "%{http_code} %{size_download}", "--max-time", "20",
                           f"http://127.0.0.1:{proxy.port}{path}"], capture_output=True, text=True)
    status, size = done.stdout.split()
    return done.returncode, int(status), int(size)


def broken_off(verdict: Verdict, proxy: Serow, version: str, path: str) -> None:
    code, status, size = curl(proxy, version, path)
    verdict.check(code != 0, f"{version} {path}: taken for whole: status {status}, {size} of {SIZE} bytes")
    # A reset, and one of a stream is such, may overtake what came before the end.
    verdict.check(status == 200 and size <= SIZE // 2, f"{version} {path}: status {status}, {size} bytes")


def whole(verdict: Verdict, proxy: Serow, version: str) -> None:
    """Those that are whole, so that the others mean something."""
    for framing in ("bytes", "chunks", "end"):
        found = curl(proxy, version, f"/{framing}/{SIZE}")
        verdict.check(found == (0, 200, SIZE), f"{version} /{framing}: curl ended with {found[0]}, status {found[1]}, {found[2]} bytes")


def requests(verdict: Verdict, folder: pathlib.Path, short: bool) -> None:
    """Requests whose client goes away in the middle of the body: the server does not get them as a whole."""
    with running(Upstream(folder, "a")) as (server,), Serow(folder, (server,)) as proxy:
        ways = {"length": length, "chunked": chunked, "http2": http2, "http2-length": http2_with_length}
        for name, begin in ways.items():
            with begin(proxy.address, name):
                # There is nothing to wait for: what is passed on as it comes is there long before.
                time.sleep(0.2)
        wait_until(lambda: sum(seen.event == "part" for seen in server.seen()) >= len(ways))
        parts = [seen for seen in server.seen() if seen.event == "part"]
        carried_out = [seen.id for seen in server.seen() if seen.event == "did"]
        verdict.check(not carried_out, f"taken for whole: {carried_out}")
        broken = {seen.id for seen in parts}
        verdict.check(broken == set(ways), f"the server saw {sorted(broken)} truncated, not {list(ways)}")
    verdict.figure(f"uploads truncated in {len(ways)} ways are truncated for the server")


def length(address: tuple[str, int], name: str) -> socket.socket:
    return sending(address, wire.request("/sum", {"X-Id": name, "Content-Length": "100000"}, "POST") + b"x" * 50_000)


def chunked(address: tuple[str, int], name: str) -> socket.socket:
    head = wire.request("/sum", {"X-Id": name, "Transfer-Encoding": "chunked"}, "POST")
    return sending(address, head + b"3e8\r\n" + b"x" * 1000 + b"\r\n")


def sending(address: tuple[str, int], data: bytes) -> socket.socket:
    connection = socket.create_connection(address, SECONDS)
    connection.sendall(data)
    return connection


def http2(address: tuple[str, int], name: str, *more: bytes) -> Connection:
    connection = Connection(address, SECONDS)
    stream = connection.open("/sum", fields.literal(b"x-id", name.encode()), *more, method=fields.POST, end=False)
    connection.send(frames.frame(frames.DATA, 0, stream, b"x" * 10_000))
    return connection


def http2_with_length(address: tuple[str, int], name: str) -> Connection:
    return http2(address, name, fields.literal(b"content-length", b"20000"))


CASES = (responses, requests)
