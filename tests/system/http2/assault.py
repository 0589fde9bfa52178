"""The attacks against a running server: others are served meanwhile, memory and time are bounded, nothing is left."""

from __future__ import annotations

import contextlib
import os
import pathlib
import tempfile
import time

from .. import attack as slow_clients
from ..polling import attempts
from ..probe import Probe
from ..server import Server
from ..verdict import Verdict
from .attacks import FLOODS, Flood
from .client import Connection, is_answering
from .flood import Attackers
from .holding import Hold, holds, watched

LARGE = 64 << 20
REST = 2.5
ATTACKERS = 2
SECONDS = {True: 1.0, False: 6.0}
# Connections that hold, of one attack.
HOLDING = 100
# Bytes that a flood may add to the server's memory while it lasts: the windows of two attackers with their streams, the
# kernel's buffers aside; and bytes of them that the allocator may keep.
MOST_MEMORY, KEPT = 64 << 20, 24 << 20
# A connection counts as so many frames, besides those that it sends.
FRAMES_OF_CONNECTION = 10
# Processor time of a frame of an attack. A request that is answered costs as much.
MOST_PER_FRAME = 50e-6
# The server looks at its deadlines four times a second; the rest is the attacker's own turn.
LATE = 2.5
# Until descriptors are as before: far more than the times for heads and bodies.
SECONDS_UNTIL_SETTLED = 30.0
# And of a byte of it: a block of 15,000 references to the table is one frame.
MOST_PER_BYTE = 20e-9
HEAD, BODY = 3.0, 3.0


def run(short: bool, only: str | None, verdict: Verdict) -> None:
    slow_clients.raise_open_files()
    with tempfile.TemporaryDirectory() as folder:
        site = pathlib.Path(folder)
        (site / "index.html").write_text("<p>Hello!</p>\n" * 10)
        with open(site / "large", "wb") as file:
            file.truncate(LARGE)
        # Files that have just been written are sent in another way (copied); these are at rest.
        time.sleep(REST)
        for flood in FLOODS:
            if not only or only.lower() in flood.name.lower():
                run_flood(flood, site, short, verdict)
        for hold in holds(HEAD, BODY, not short):
            if not only or only.lower() in hold.name.lower():
                run_hold(hold, site, verdict)


def serve(kind: str, site: pathlib.Path) -> Server:
    if kind == "echo":
        return Server.example("echo")
    options = ("--access-log", "off", "--head-timeout", f"{HEAD:.0f}s", "--body-timeout", f"{BODY:.0f}s")
    return Server.files(site, *options, *(("--tls", "self-signed") if kind == "tls" else ()))


@contextlib.contextmanager
def probes(server: Server, tls: bool = False):
    """Asks by both versions meanwhile; over TLS by HTTP/2."""
    if tls:
        def connect(address, timeout):
            return Connection(address, timeout, tls=True)
        with Probe(server.address, "/", connect=connect) as one:
            yield {"HTTP/2 over TLS": one}
        return
    with Probe(server.address, "/") as one, Probe(server.address, "/", connect=Connection) as two:
        yield {"HTTP/1.1": one, "HTTP/2": two}


def run_flood(flood: Flood, site: pathlib.Path, short: bool, verdict: Verdict) -> None:
    with serve(flood.server, site) as server:
        settle(server)
        descriptors, memory = usual(server), server.memory()
        attackers = Attackers(flood, server.address, SECONDS[short], ATTACKERS)
        used, peak = server.processor_seconds_exact(), memory
        with probes(server) as asked:
            until = time.monotonic() + SECONDS[short]
            attackers.start()
            while time.monotonic() < until:
                peak = max(peak, server.memory())
                time.sleep(0.05)
            count = attackers.wait()
        probed = sum(probe.latencies.count for probe in asked.values())
        used = max(0.0, server.processor_seconds_exact() - used)
        each = used / max(1, count.frames + probed + FRAMES_OF_CONNECTION * count.connections)
        name = flood.name
        verdict.say(f"{name} ({flood.known_as}): {count}; at most {count.most} frames on a connection")
        verdict.say(f"{name}: processor {used:.2f} s, {each * 1e6:.1f} µs a frame, "
                    f"{used / max(1, count.connections) * 1e3:.1f} ms a connection; memory {memory >> 10} KB, at most "
                    f"{peak >> 10} KB, {server.memory() >> 10} KB after")
        judge_latency(name, asked, verdict)
        if flood.cut_with:
            kept = {end: times for end, times in count.ends.items() if end not in (flood.cut_with, "closed")}
            # Those whom the end of the test interrupted.
            verdict.check(sum(kept.values()) <= ATTACKERS and count.ends[flood.cut_with] > 0,
                          f"{name}: not cut off with {flood.cut_with}: {count.ends}")
        verdict.check(peak < memory + MOST_MEMORY, f"{name}: memory has grown to {peak >> 10} KB")
        verdict.compare_time(each < MOST_PER_FRAME + MOST_PER_BYTE * count.bytes / max(1, count.frames),
                             f"{name}: {each * 1e6:.0f} µs of processor time for each frame")
        judge_after(name, server, descriptors, memory, verdict)


def run_hold(hold: Hold, site: pathlib.Path, verdict: Verdict) -> None:
    tls = hold.server == "tls"
    with serve(hold.server, site) as server:
        settle(server, tls)
        descriptors, memory = usual(server), server.memory()
        peak = memory
        with probes(server, tls) as asked:
            held = watched(server.address, hold, HOLDING)
            for _ in attempts(hold.timeout + 10):
                if not held.open:
                    break
                held.step()
                peak = max(peak, server.memory())
            held.close()
        times, name = sorted(held.cut_after), hold.name
        each = max(0, peak - memory) // HOLDING
        ended = f"cut off after {times[0]:.1f}–{times[-1]:.1f} s" if times else "not cut off"
        verdict.say(f"{name}: {len(times)} of {HOLDING} {ended} (timeout {hold.timeout:.0f} s); memory {memory >> 10} KB, at "
                    f"most {peak >> 10} KB ({each} bytes a connection), {server.memory() >> 10} KB after")
        judge_latency(name, asked, verdict)
        if verdict.check(len(times) == HOLDING, f"{name}: {HOLDING - len(times)} connections were not cut off"):
            verdict.compare_time(times[-1] < hold.timeout + LATE, f"{name}: cut off only after {times[-1]:.1f} s")
        verdict.check(each < hold.most, f"{name}: {each} bytes of memory for each connection")
        judge_after(name, server, descriptors, memory, verdict, tls)


def settle(server: Server, tls: bool = False) -> None:
    """So that what a first request costs is no part of what is measured."""
    for _ in range(20):
        is_answering(server.address, tls=tls)


def usual(server: Server) -> int:
    # Each worker may keep what was asked for open.
    return server.descriptors() + 2 * (os.cpu_count() or 1)


def judge_latency(name: str, asked: dict[str, Probe], verdict: Verdict) -> None:
    for version, probe in asked.items():
        verdict.say(f"{name}: others by {version}: {probe.latencies}")
        probe.latencies.judge(verdict, f"{name}: {version}")


def judge_after(name: str, server: Server, descriptors: int, memory: int, verdict: Verdict, tls: bool = False) -> None:
    verdict.check(server.settles_at(descriptors, SECONDS_UNTIL_SETTLED), f"{name}: {server.descriptors()} descriptors left of {descriptors}")
    verdict.check(server.memory() < memory + KEPT, f"{name}: {server.memory() >> 10} KB of memory are left")
    verdict.check(server.is_running() and not server.panics(), f"{name}: {server.said()[-300:]}")
    verdict.check(is_answering(server.address, tls=tls), f"{name}: no answer in the end")
