"""The attacks against a running server: others are served meanwhile, memory and time are bounded, nothing is left."""

from __future__ import annotations

import collections
import contextlib
import dataclasses
import functools
import multiprocessing
import os
import pathlib
import select
import socket
import tempfile
import time

from .. import wire
from ..http2 import client as http2
from ..polling import SECONDS as PATIENCE, wait_until
from ..probe import Probe
from ..server import Server
from ..verdict import Verdict
from . import attacks, errors, serving
from .attacks import FLOODS, Flood
from .client import Client
from .origin import Origin
from .transport import Transport, configuration

LARGE = 64 << 20
ATTACKERS = 2
SECONDS = {True: 1.0, False: 6.0}
# Bytes that a flood may add to the server's memory while it lasts, and that the allocator may keep: as over HTTP/2.
MOST_MEMORY, KEPT = 64 << 20, 24 << 20
HEAD, BODY = 3.0, 3.0
# The responses that a client asks for whose windows are shut, and what one may hold: its state, and nothing of its body.
RESPONSES, MOST_HELD = 128, 24 << 10
# Connections that hold, of one attack.
HOLDING = 5
# Initial packets of clients that do not exist.
SPOOFED = {True: 2000, False: 20_000}
# RFC 9000 §8.1.
MOST_AMPLIFIED = 3.0


@dataclasses.dataclass
class Count:
    """The traffic of attackers, and how their connections ended."""

    connections: int = 0
    frames: int = 0
    bytes: int = 0
    ends: collections.Counter = dataclasses.field(default_factory=collections.Counter)

    def __iadd__(self, other: "Count") -> "Count":
        self.connections += other.connections
        self.frames += other.frames
        self.bytes += other.bytes
        self.ends += other.ends
        return self


def run(short: bool, only: str | None, verdict: Verdict) -> None:
    with tempfile.TemporaryDirectory() as folder:
        site = pathlib.Path(folder)
        (site / "index.html").write_text("<p>Hello!</p>\n" * 10)
        with open(site / "large", "wb") as file:
            file.truncate(LARGE)
        for flood in FLOODS:
            if not only or only.lower() in flood.name.lower():
                run_flood(flood, site, short, verdict)
        for name, attack in (("spoofed Initial packets", spoof), ("handshakes that do not end", begin_handshakes),
                             ("slow heads", slow_heads), ("windows never opened", closed_windows),
                             ("window of the connection never opened", closed_connection)):
            if not only or only.lower() in name.lower():
                run_attack(name, attack, site, short, verdict)


@contextlib.contextmanager
def serve(kind: str, site: pathlib.Path):
    times = ("--head-timeout", f"{HEAD:.0f}s", "--body-timeout", f"{BODY:.0f}s")
    if kind == "proxy":
        with Origin() as origin, serving.proxy(origin.url, *times) as server:
            yield server
    else:
        with serving.files(site, "--access-log", "off", *times) as server:
            yield server


class Measured:
    """Measures the server while the `with` block lasts; other clients send requests meanwhile, by HTTP/2 and HTTP/3."""

    def __init__(self, name: str, server: Server, verdict: Verdict) -> None:
        self.name, self.server, self.verdict = name, server, verdict

    def __enter__(self) -> "Measured":
        for _ in range(10):
            with Client(self.server.address) as client:
                client.request("/")
        self.descriptors, self.memory = self.server.descriptors() + 4, self.server.memory()
        self.used, self.peak = self.server.processor_seconds_exact(), self.memory
        self.stack = contextlib.ExitStack()
        tls = functools.partial(http2.Connection, tls=True)
        self.probes = {version: self.stack.enter_context(Probe(self.server.address, "/", connect=connect))
                       for version, connect in (("HTTP/2", tls), ("HTTP/3", Client))}
        return self

    def look(self) -> None:
        self.peak = max(self.peak, self.server.memory())

    def __exit__(self, kind, *_) -> None:
        self.stack.close()
        if kind is not None:
            return
        self.used = self.server.processor_seconds_exact() - self.used
        name, verdict, server = self.name, self.verdict, self.server
        for version, probe in self.probes.items():
            verdict.say(f"{name}: others by {version}: {probe.latencies}")
            probe.latencies.judge(verdict, f"{name}: {version}")
        verdict.check(self.peak < self.memory + MOST_MEMORY, f"{name}: memory has grown from {self.memory >> 20} to "
                                                             f"{self.peak >> 20} MB")
        verdict.check(server.settles_at(self.descriptors, PATIENCE), f"{name}: {server.descriptors()} descriptors of {self.descriptors}")
        verdict.check(wait_until(lambda: server.memory() < self.memory + KEPT), f"{name}: {server.memory() >> 20} MB are left")
        verdict.check(server.is_running() and not server.panics(), f"{name}: {server.said()[-300:]}")
        with Client(server.address) as client:
            verdict.check(client.request("/").status == 200, f"{name}: no answer in the end")

    def __str__(self) -> str:
        return f"processor {self.used:.2f} s, memory {self.memory >> 20} MB, at most +{(self.peak - self.memory) >> 20} MB, " \
               f"+{(self.server.memory() - self.memory) >> 20} MB after"


def run_flood(flood: Flood, site: pathlib.Path, short: bool, verdict: Verdict) -> None:
    with serve(flood.server, site) as server:
        count = Count()
        context = multiprocessing.get_context("fork")
        queue = context.Queue()
        with Measured(flood.name, server, verdict) as measured:
            processes = [context.Process(target=attack, args=(flood, server.address, SECONDS[short], queue), daemon=True)
                         for _ in range(ATTACKERS)]
            for process in processes:
                process.start()
            while any(process.is_alive() for process in processes) and queue.qsize() < ATTACKERS:
                measured.look()
                time.sleep(0.05)
            for process in processes:
                count += queue.get(timeout=60)
                process.join(10)
        ends = ", ".join(f"{times} × {end}" for end, times in count.ends.most_common())
        verdict.say(f"| {flood.name} | {flood.known_as} | {count.connections} connections, {count.frames} frames, "
                    f"{count.bytes >> 10} KB | {ends} | {measured}")
        if flood.is_cut:
            # Those whom the end of the test interrupted are kept.
            verdict.check(count.ends["H3_EXCESSIVE_LOAD"] > 0 and count.ends["kept"] <= ATTACKERS
                          and not count.ends.keys() - {"kept", "H3_EXCESSIVE_LOAD"},
                          f"{flood.name}: not cut off with H3_EXCESSIVE_LOAD: {ends}")


def attack(flood: Flood, address: tuple[str, int], seconds: float, queue) -> None:
    """One connection after the other, in a process of its own."""
    count, until = Count(), time.monotonic() + seconds
    # Connections are begun until the time is up; one that must be cut off goes on until it is.
    while time.monotonic() < until:
        attacker = Transport(address, attacks.options(flood))
        try:
            attacker.complete(PATIENCE)
            steps, last = flood.steps(attacker), until + (PATIENCE if flood.is_cut else 0.5)
            while attacker.ended is None and time.monotonic() < last:
                if waiting(attacker) < 1 << 20:
                    count.frames += next(steps)
                attacker.pump(lambda: False, 0.01)
            end = attacker.ended
            count.ends["kept" if end is None else errors.name(end.error_code, end.frame_type)] += 1
        except (OSError, wire.Cut) as error:
            count.ends[f"{type(error).__name__}: {str(error)[:60]}"] += 1
        count.connections += 1
        count.bytes += attacker.bytes_sent
        attacker.close()
    queue.put(count)


def waiting(attacker: Transport) -> int:
    return sum(len(stream.sender._buffer) for stream in attacker.quic._streams.values())


def run_attack(name: str, attacking, site: pathlib.Path, short: bool, verdict: Verdict) -> None:
    with serve("files", site) as server:
        # Of a file that was written a moment ago, pieces are copied.
        os.utime(site / "large")
        with Measured(name, server, verdict) as measured:
            said = attacking(server, measured, short, verdict)
        verdict.say(f"| {name} | {said} | {measured}")


def initial(address: tuple[str, int]) -> bytes:
    """The first datagram of a client."""
    with contextlib.closing(Transport(address)) as transport:
        transport.drop = True
        return transport.quic.datagrams_to_send(time.monotonic())[0][0]


def spoof(server: Server, measured: Measured, short: bool, verdict: Verdict) -> str:
    """Initial packets of clients that never answer, each from a port of its own: how much comes back?"""
    sent = received = 0
    worst = 0.0
    sockets: dict[socket.socket, list[int]] = {}
    began = time.monotonic()
    for _ in range(SPOOFED[short] // 10):
        victim = socket.socket(type=socket.SOCK_DGRAM)
        victim.connect(server.address)
        victim.setblocking(False)
        data = initial(server.address)
        victim.send(data)
        sockets[victim] = [len(data), 0]
    # The server repeats what nobody acknowledges.
    until = time.monotonic() + HEAD + 2
    while time.monotonic() < until:
        for victim in select.select(list(sockets)[:900], [], [], 0.1)[0]:
            with contextlib.suppress(OSError):
                while data := victim.recv(65536):
                    sockets[victim][1] += len(data)
        measured.look()
    for victim, (out, back) in sockets.items():
        sent, received, worst = sent + out, received + back, max(worst, back / out)
        victim.close()
    verdict.check(worst <= MOST_AMPLIFIED, f"spoofed Initial packets: amplification {worst:.2f}")
    return f"{len(sockets)} clients, {sent >> 10} KB, {received >> 10} KB back in {time.monotonic() - began:.1f} s, " \
           f"amplification {received / sent:.2f}, at most {worst:.2f}"


def begin_handshakes(server: Server, measured: Measured, short: bool, verdict: Verdict) -> str:
    """More and more Initial packets; then Retry is demanded, and a client that answers it is served."""
    count = SPOOFED[short]
    retried = [0]
    packets = [initial(server.address) for _ in range(count)]
    with contextlib.ExitStack() as stack:
        # Of several ports, so that each worker has its part.
        flooders = [stack.enter_context(socket.socket(type=socket.SOCK_DGRAM)) for _ in range(16)]
        for flooder in flooders:
            flooder.connect(server.address)
            flooder.setblocking(False)
        for number, packet in enumerate(packets):
            flooder = flooders[number % len(flooders)]
            with contextlib.suppress(OSError):
                flooder.send(packet)
            with contextlib.suppress(OSError):
                while data := flooder.recv(65536):
                    # RFC 9000 §17.2.5: a Retry packet is a long header of type 3.
                    retried[0] += data[0] >> 4 == 0xF
            if number % 100 == 0:
                measured.look()
        with Client(server.address) as client:
            verdict.check(client.request("/").status == 200, "handshakes that do not end: a client with Retry is not served")
            verdict.check(client.quic._retry_source_connection_id is not None, "handshakes that do not end: no Retry is demanded")
    return f"{count} Initial packets, {retried[0]} answered with Retry"


def hold(server: Server, measured: Measured, steps, **windows: int) -> list[tuple[float, str]]:
    """Connections that begin something and do not go on: when and how they end."""
    held, ends, began = [], [], {}
    for _ in range(HOLDING):
        one = Transport(server.address, configuration(**windows))
        one.complete()
        attacks.begin(one)
        steps(one)
        began[one] = time.monotonic()
        one.pump(lambda: False, 0.05)
        held.append(one)
    until = time.monotonic() + PATIENCE
    while held and time.monotonic() < until:
        for one in list(held):
            one.pump(lambda: False, 0.01)
            resets = len(one.resets) >= RESPONSES
            if one.ended is not None or resets:
                end = one.ended
                ends.append((time.monotonic() - began[one], errors.name(end.error_code, end.frame_type) if end else "streams reset"))
                held.remove(one)
                one.close()
        measured.look()
    for one in held:
        ends.append((float("inf"), "kept"))
        one.close()
    return ends


def judge_hold(name: str, ends: list[tuple[float, str]], timeout: float, verdict: Verdict) -> str:
    said = ", ".join(f"{times} × {end}" for end, times in collections.Counter(end for _, end in ends).items()) + \
        f", after {min(ends)[0]:.1f}–{max(ends)[0]:.1f} s (timeout {timeout:.0f} s)"
    verdict.check(max(ends)[0] < float("inf"), f"{name}: {said}")
    verdict.compare_time(max(ends)[0] < timeout + 4, f"{name}: {said}")
    return said


def slow_heads(server: Server, measured: Measured, short: bool, verdict: Verdict) -> str:
    def steps(one: Transport) -> None:
        for stream in range(0, 128 * 4, 4):
            one.quic.send_stream_data(stream, fields_begun())
    return judge_hold("slow heads", hold(server, measured, steps), HEAD, verdict)


def fields_begun() -> bytes:
    return b"\x01\x40\x80\x00\x00"


def ask_for_much(one: Transport) -> None:
    for stream in range(0, RESPONSES * 4, 4):
        one.quic.send_stream_data(stream, attacks.fields.headers(path="/large"), True)


def closed_windows(server: Server, measured: Measured, short: bool, verdict: Verdict) -> str:
    ends = hold(server, measured, ask_for_much, max_stream_data=0)
    return judge_responses("windows never opened", ends, measured, verdict)


def closed_connection(server: Server, measured: Measured, short: bool, verdict: Verdict) -> str:
    def steps(one: Transport) -> None:
        # aioquic would open it by itself.
        one.quic._write_connection_limits = lambda *_, **__: None
        ask_for_much(one)
    ends = hold(server, measured, steps, max_data=2048)
    return judge_responses("window of the connection never opened", ends, measured, verdict)


def judge_responses(name: str, ends: list[tuple[float, str]], measured: Measured, verdict: Verdict) -> str:
    grown, most = measured.peak - measured.memory, HOLDING * RESPONSES * MOST_HELD
    verdict.check(grown < most, f"{name}: {grown >> 10} KB for {HOLDING * RESPONSES} responses, at most {most >> 10}")
    return judge_hold(name, ends, BODY, verdict)
