"""The load: wrk for TCP, h2load for HTTP/2, our own generator for unix sockets and wherever every request must be counted."""

from __future__ import annotations

import json
import math
import pathlib
import re
import resource
import select
import shutil
import subprocess
import time
from dataclasses import dataclass

from . import machine
from .machine import BENCH
from .meter import Meter, Usage
from .process import Running

# Beyond the time asked for: opening connections, awaiting the last answers.
GRACE = 30.0
# A response of which a noticeable part of the run's may be under way at its end is counted in bytes.
COUNTED_IN_BYTES = 100_000


class Failed(Exception):
    """A request failed, so there is no figure: one line."""


@dataclass(frozen=True)
class Outcome:
    # Not always whole: a large response that was under way at wrk's end counts by its part.
    requests: float
    seconds: float
    p50_us: float
    p99_us: float
    # Nanoseconds of processor time the load generator used.
    client_cpu: float
    usage: Usage


def wrk_is_there() -> bool:
    return shutil.which("wrk") is not None


def with_wrk(running: Running, connections: int, seconds: float, meter: Meter) -> Outcome:
    command = [*machine.pinned(machine.cores()[1]), "wrk", "-t1", f"-c{connections}", f"-d{math.ceil(seconds)}s",
               "--timeout", "10s", "-s", str(BENCH / "load/summary.lua"), f"http://{running.address}{running.path}"]
    before = children_cpu()
    meter.begin()
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=seconds + GRACE)
    except subprocess.TimeoutExpired as error:
        raise Failed("wrk did not end in time") from error
    # The server still closes the connections that wrk left.
    time.sleep(0.03)
    usage = meter.end()
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    if done.returncode or not lines:
        raise Failed(f"wrk: {(done.stderr or done.stdout).strip().splitlines()[-1]}")
    told = json.loads(lines[-1])
    requests = judged(told, running.response_size, connections)
    return Outcome(requests, told["seconds"], told["p50_us"], told["p99_us"], children_cpu() - before, usage)


def judged(told: dict, response_size: int, connections: int) -> float:
    """The requests wrk has counted, if none failed and each had the right length."""
    errors = {kind: told[kind] for kind in ("connect", "read", "write", "status", "timeout") if told[kind]}
    if errors:
        raise Failed(", ".join(f"{number} {kind} errors" for kind, number in errors.items()))
    requests, bytes_read = told["requests"], told["bytes"]
    if not requests:
        raise Failed("no request was answered")
    # wrk counts bytes as they come and requests when they are whole: at most one is under way on each connection.
    if not requests * response_size <= bytes_read <= (requests + connections) * response_size:
        raise Failed(f"{bytes_read} bytes are not {requests} responses of {response_size} bytes")
    return bytes_read / response_size if response_size >= COUNTED_IN_BYTES else requests


def with_h2load(running: Running, connections: int, streams: int, requests: int, meter: Meter | None) -> Outcome:
    """HTTP/2; opening the connections is in the figures."""
    scheme = "https" if running.tls else "http"
    command = [*machine.pinned(machine.cores()[1]), "h2load", "-t1", f"-c{connections}", f"-m{streams}", f"-n{requests}",
               f"{scheme}://{running.address}{running.path}"]
    before = children_cpu()
    if meter:
        meter.begin()
    try:
        said = subprocess.run(command, capture_output=True, text=True, timeout=10 * GRACE).stdout
    except subprocess.TimeoutExpired as error:
        raise Failed("h2load did not end in time") from error
    usage = meter.end() if meter else Usage(0, 0, {})
    found = re.search(r"finished in ([\d.]+)(us|ms|s),", said)
    data = re.search(r"\((\d+)\) data", said)
    if not found or not data or f"{requests} succeeded" not in said or f"status codes: {requests} 2xx" not in said:
        raise Failed(f"h2load: not {requests} answers: {said[-300:]!r}")
    if int(data.group(1)) != requests * len(running.work.body):
        raise Failed(f"{data.group(1)} bytes of bodies instead of {requests * len(running.work.body)}")
    seconds = float(found.group(1)) / {"us": 1e6, "ms": 1e3, "s": 1}[found.group(2)]
    return Outcome(requests, seconds, math.nan, math.nan, children_cpu() - before, usage)


def with_own(program: pathlib.Path, running: Running, connections: int, meter: Meter | None,
             seconds: float = 0, requests: int = 0) -> Outcome | None:
    """Exactly the counted requests lie between the meter's begin and end."""
    with Own(program, running, connections, seconds, requests) as own:
        before = own.cpu()
        if meter:
            meter.begin()
        told = own.count()
        usage = meter.end() if meter else Usage(0, 0, {})
        client = own.cpu() - before
    return Outcome(told["requests"], told["seconds"], told["p50_us"], told["p99_us"], client, usage)


class Own:
    """Our generator, its connections open and warm; `count` runs it, and with `keep` holds them idle after."""

    def __init__(self, program: pathlib.Path, running: Running, connections: int, seconds: float = 0,
                 requests: int = 0, keep: bool = False, addresses: int = 1, patience: float = GRACE):
        amount = ["-n", str(requests)] if requests else ["-d", str(seconds)]
        self.limit = seconds + patience
        self.command = [
            *machine.pinned(machine.cores()[1]), str(program), "-c", str(connections), *amount, "-s",
            "-b", str(len(running.work.body)), "-a", str(addresses), *(["-k"] if keep else []),
            running.address, running.path]

    def __enter__(self) -> Own:
        self.process = subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, bufsize=0)
        try:
            self.said()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def cpu(self) -> float:
        # Readable even after its end, until `stop` has waited for it.
        text = pathlib.Path(f"/proc/{self.process.pid}/schedstat").read_text()
        return float(text.split()[0])

    def count(self) -> dict:
        self.process.stdin.write(b"\n")
        return self.said()

    def let_go(self) -> dict:
        self.process.stdin.close()
        return self.said()

    def said(self) -> dict:
        ready, _, _ = select.select([self.process.stdout], [], [], self.limit)
        if not ready:
            raise Failed(f"the load did not end within {self.limit:.0f} s")
        line = self.process.stdout.readline()
        if not line:
            raise Failed(self.process.stderr.read().decode(errors="replace").strip().removeprefix("load: "))
        return json.loads(line)

    def stop(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            pipe.close()


def children_cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (used.ru_utime + used.ru_stime) * 1e9
