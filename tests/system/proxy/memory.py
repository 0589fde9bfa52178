"""Large bodies between a fast side and a slow one: they wait in the kernel's buffers, not in the proxy's memory."""

from __future__ import annotations

import contextlib
import pathlib
import subprocess
import time
import zlib
from collections.abc import Iterator

from ..http2.tools import find
from ..resident import Watch, without_huge_pages
from ..server import Server
from ..verdict import Verdict
from . import content
from .cuts import HTTP1, HTTP2
from .proxies import Serow
from .upstream import Upstream, running

# The bar: above what the proxy takes when nothing is under way.
BAR = 1 << 20
SIZES = {True: 64 << 20, False: 1 << 30}
# The slow side's bytes a second, far below what the other one could do.
RATE = 64 << 20
# The fast side waits, and everything between fills up.
PAUSE = 0.3
# The seed of a body without a request's id.
SEED = "-"
LIMIT = 120


def large_bodies(verdict: Verdict, folder: pathlib.Path, short: bool) -> None:
    size = SIZES[short]
    expected = content.checksum(content.pieces(SEED, size))
    with running(Upstream(folder, "a")) as (server,), Serow(folder, (server,), before=without_huge_pages) as proxy:
        for version in (HTTP1, HTTP2):
            # Its idle size is the memory that it takes once it has carried such bodies.
            for way in (slow_reader, slow_upstream, slow_writer):
                way(proxy, version, 1 << 20)
        time.sleep(0.2)
        idle = proxy.memory()
        for version in (HTTP1, HTTP2):
            for way in (slow_reader, slow_upstream, slow_writer):
                name = f"{way.__name__.replace('_', ' ')}, {version.strip('-')}"
                with Watch(proxy) as watch:
                    began = time.monotonic()
                    found = way(proxy, version, size)
                    took = time.monotonic() - began
                above = watch.most - idle
                verdict.figure(f"{name}: {size >> 20} MB in {took:.1f} s, {above / 1024:.0f} KiB above idle")
                verdict.check(found == expected, f"{name}: what arrived is not what was sent: {found}, not {expected}")
                verdict.check(watch.looks > 10, f"{name}: looked at only {watch.looks} times")
                verdict.check(above <= BAR, f"{name}: {above / 1024:.0f} KiB above the {idle / 1024:.0f} KiB of idleness")
        verdict.check(not proxy.panics(), f"{proxy.said()[-300:]}")


def slow_reader(proxy: Serow, version: str, size: int) -> str:
    """Reads nothing for a while, then slowly; the checksum of what it read."""
    command = [find("curl"), "-sS", version, "--max-time", str(LIMIT), f"http://127.0.0.1:{proxy.port}/bytes/{size}"]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as reader:
        time.sleep(PAUSE)
        found, began, received = 0, time.monotonic(), 0
        while piece := reader.stdout.read1(content.PIECE):
            found, received = zlib.crc32(piece, found), received + len(piece)
            time.sleep(max(0.0, began + received / RATE - time.monotonic()))
    return f"{found:08x}" if reader.returncode == 0 and received == size else f"curl ended with {reader.returncode}, {received} bytes"


def slow_upstream(proxy: Serow, version: str, size: int) -> str:
    """A server that reads slowly what a client sends as fast as it may; the checksum of what it read."""
    return uploaded(proxy, version, content.pieces(SEED, size), f"/sum/{RATE}")


def slow_writer(proxy: Serow, version: str, size: int) -> str:
    """A client that sends slowly, without saying how much."""
    return uploaded(proxy, version, slowly(content.pieces(SEED, size)), "/sum")


def slowly(pieces: Iterator[bytes]) -> Iterator[bytes]:
    began, sent = time.monotonic(), 0
    for piece in pieces:
        yield piece
        sent += len(piece)
        time.sleep(max(0.0, began + sent / RATE - time.monotonic()))


def uploaded(proxy: Serow, version: str, pieces: Iterator[bytes], path: str) -> str:
    command = [find("curl"), "-sS", version, "--max-time", str(LIMIT), "-H", "Expect:", "-T", "-",
               f"http://127.0.0.1:{proxy.port}{path}"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as writer:
        with contextlib.suppress(BrokenPipeError):
            for piece in pieces:
                writer.stdin.write(piece)
            writer.stdin.close()
        said = writer.stdout.read().decode(errors="replace").strip()
    return said if writer.returncode == 0 else f"curl ended with {writer.returncode}: {said}"


CASES = (large_bodies,)
