"""The loads of `bench/table`: nanoseconds of the server's processor time per request, or bytes of a connection."""

from __future__ import annotations

import json
import math
import os
import pathlib
import subprocess
import time
from dataclasses import dataclass

from . import load, machine, meter
from .load import Failed, Outcome
from .meter import Usage
from .process import Running
from .rows import Row

WARM_UP = 0.1
# Of the connections whose memory is measured: more would change the figure.
LOST = 0.02
IDLE_SECONDS = 6
# A server that takes many times as long for a request gets a part of the requests.
SLOW = {"caddy": 0.1}
# Bytes that may come in addition to the bodies, by request: heads, and packets with acknowledgements.
OVERHEAD, OVERHEAD_SHARE = 1_000, 1.2
NOT_MEASURED = Usage(0, 0, {})


@dataclass(frozen=True)
class Generators:
    """The programs that make the load, and the part of the usual amount that is requested."""

    # `serow bench` of one build, for all servers.
    serow: pathlib.Path
    own: pathlib.Path
    # The second generator, where Go is installed.
    go: pathlib.Path | None
    amount: float = 1.0

    def measure(self, row: Row, running: Running) -> float:
        """The first requests warm up the server."""
        if row.load == "idle":
            return self.memory(row, running)
        requests = self.requests(row, running)
        self.send(row, running, max(row.connections, round(requests * WARM_UP)))
        outcome = self.send(row, running, requests, gauge(running))
        return outcome.usage.cpu / outcome.requests

    def requests(self, row: Row, running: Running) -> int:
        share = self.amount * SLOW.get(running.server.name, 1.0)
        return max(row.connections * row.streams, round(row.requests * share))

    def send(self, row: Row, running: Running, requests: int, used: meter.Meter | None = None) -> Outcome:
        """So many requests, each of which succeeds."""
        if row.load == "http3" and hasattr(running, "send"):
            return running.send(row, requests, used)
        return getattr(self, f"send_{row.load}")(row, running, requests, used)

    def send_short(self, row: Row, running: Running, requests: int, used: meter.Meter | None) -> Outcome:
        return with_serow(self.serow, running, row.connections, requests, ["--no-keepalive"], used)

    def send_http3(self, row: Row, running: Running, requests: int, used: meter.Meter | None) -> Outcome:
        return with_serow(self.serow, running, row.connections, requests, ["--http3", "-m", str(row.streams)], used)

    def send_http2(self, row: Row, running: Running, requests: int, used: meter.Meter | None) -> Outcome:
        return load.with_h2load(running, row.connections, row.streams, requests, used)

    def send_keep(self, row: Row, running: Running, requests: int, used: meter.Meter | None) -> Outcome:
        return load.with_own(self.own, running, row.connections, used, requests=requests)

    def send_go(self, row: Row, running: Running, requests: int, used: meter.Meter | None) -> Outcome:
        """HTTP/3 by quic-go."""
        return self.with_go(row, running, requests, ["-m", str(row.streams)], used)

    def send_handshakes(self, row: Row, running: Running, requests: int, used: meter.Meter | None) -> Outcome:
        """TLS 1.3 by Go, with the same key exchange for all servers."""
        return self.with_go(row, running, requests, ["-handshakes"], used)

    def with_go(self, row: Row, running: Running, requests: int, options: list[str], used: meter.Meter | None) -> Outcome:
        """It compares the bytes of each body."""
        if not self.go:
            raise Failed("go is not installed")
        command = [*machine.pinned(machine.cores()[1]), str(self.go), *options, "-c", str(row.connections), "-n", str(requests),
                   "-file", f"{running.place.folder}{running.path}",
                   f"https://localhost:{running.address.rpartition(':')[2]}{running.path}"]
        before = load.children_cpu()
        if used:
            used.begin()
        done = subprocess.run(command, capture_output=True, text=True, timeout=10 * load.GRACE,
                              env=os.environ | {"GOMAXPROCS": "1"})
        usage = used.end() if used else NOT_MEASURED
        if done.returncode or json.loads(done.stdout)["requests"] != requests:
            raise Failed(f"load by Go: {done.stderr.strip()[-300:]}")
        seconds = json.loads(done.stdout)["seconds"]
        return Outcome(requests, seconds, math.nan, math.nan, load.children_cpu() - before, usage)

    def memory(self, row: Row, running: Running) -> float:
        """Bytes per connection, while connections that have sent requests wait."""
        connections = round(row.connections * self.amount)
        pids = running.pids()
        time.sleep(0.5)
        # Resident: the load may be the same program, and the proportional memory would shrink with it.
        before = meter.memory(pids)[0]
        # A request in two seconds on each connection, so that it has sent one before it is measured.
        options = ["--http3", "-R", str(connections // 2), "-d", f"{IDLE_SECONDS}s"]
        command = serow_command(self.serow, running, connections, options)
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
            time.sleep(IDLE_SECONDS - 2)
            growth = meter.memory(pids)[0] - before
            said, problem = process.communicate(timeout=load.GRACE)
        if process.returncode:
            raise Failed(f"serow bench: {problem.strip()}")
        report = json.loads(said)
        made, failed = report["summary"]["connections_made"], sum(report["errors"].values())
        # nginx and Caddy lose a few of a thousand that begin within two seconds, which their clients replace.
        if abs(made - connections) > LOST * connections or failed > LOST * connections:
            raise Failed(f"{made} connections instead of {connections}; {report['errors']}")
        return growth / connections


def gauge(running: Running) -> meter.Meter:
    return meter.ProcessorTime(running.pids())


def serow_command(program: pathlib.Path, running: Running, connections: int, options: list[str]) -> list[str]:
    scheme = "https" if running.tls else "http"
    port = running.address.rpartition(":")[2]
    return [*machine.pinned(machine.cores()[1]), str(program), "bench", "-k", "--json", "-t1", "-T", "30s", "-c", str(connections),
            *options, f"{scheme}://localhost:{port}{running.path}"]


def with_serow(program: pathlib.Path, running: Running, connections: int, requests: int, options: list[str],
               used: meter.Meter | None = None) -> Outcome:
    """`serow bench`; opening the connections is in the figures."""
    command = serow_command(program, running, connections, ["-n", str(requests), *options])
    before = load.children_cpu()
    if used:
        used.begin()
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=10 * load.GRACE)
    except subprocess.TimeoutExpired as error:
        raise Failed("serow bench did not end in time") from error
    # The server still closes connections.
    time.sleep(0.03)
    usage = used.end() if used else NOT_MEASURED
    if done.returncode:
        raise Failed(f"serow bench: {done.stderr.strip()}")
    report = json.loads(done.stdout)
    judge(report, requests, len(running.work.body))
    latency, seconds = report["latency"], report["summary"]["elapsed_s"]
    return Outcome(requests, seconds, latency["p50_us"], latency["p99_us"], load.children_cpu() - before, usage)


def judge(report: dict, requests: int, size: int) -> None:
    """Every response was a 200, and together they have the length of so many bodies."""
    failed = {kind: number for kind, number in report["errors"].items() if number}
    statuses = {status: number for status, number in report["statuses"].items() if number}
    if failed or statuses != {"200": requests}:
        raise Failed(f"serow bench: errors {failed}, statuses {statuses} of {requests} requests")
    received, least = report["summary"]["bytes"], requests * size
    if not least <= received <= least * OVERHEAD_SHARE + requests * OVERHEAD:
        raise Failed(f"serow bench: {received} bytes are not {requests} responses of {size} bytes")
