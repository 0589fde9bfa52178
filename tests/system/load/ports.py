"""Connections by the thousand: at once, one after the other where ports are few, and where the backlog is short."""

from __future__ import annotations

import json
import pathlib
import subprocess
import sys

from ..attack import raise_open_files
from ..server import Server
from ..verdict import Verdict
from .generator import Outcome, bench_json
from .mistakes import certificate
from .peers import Nginx

CONNECTIONS = 5000
RUNS = 10
# Of a run; more than there are ports.
REQUESTS = 2000
# In a network of its own the system may use these ports alone, and none of them again before its minute is over.
PORTS = range(40_000, 41_000)
FOLDER = pathlib.Path(__file__).resolve().parents[2]


def crowd(verdict: Verdict, folder: pathlib.Path, short: bool) -> None:
    """Many connections at once: all are made, and all are served."""
    (folder / "index.html").write_text("Hello!\n")
    with Server.files(folder, "--access-log", "off") as server:
        for options in ([], ["--http2", "-m", "4"]):
            url = f"http://127.0.0.1:{server.port}/"
            outcome = bench_json("-c", CONNECTIONS, "-n", 10 * CONNECTIONS, "-T", "30s", *options, url)
            made = outcome.results["summary"]["connections_made"]
            verdict.check(outcome.requests == 10 * CONNECTIONS and made == CONNECTIONS and not outcome.errors,
                          f"crowd: {outcome.requests} requests, {made} connections, {outcome.errors}")
            verdict.figure(f"{made} connections at once {' '.join(options)}: {outcome.requests} requests in "
                           f"{outcome.results['summary']['elapsed_s']:.1f} s, p99 {outcome.results['latency']['p99_us'] / 1e3:.0f} ms")


def backlog(verdict: Verdict, folder: pathlib.Path, short: bool) -> None:
    """A unix socket whose backlog is full says EAGAIN at once: that is waited out."""
    (folder / "index.html").write_text("Hello!\n")
    path = folder / "socket"
    with Server.files(folder, "--access-log", "off", "--backlog", "1", "--listen", f"unix:{path}"):
        for options in ([], ["--http2"]):
            outcome = bench_json("-P", path, "-c", "200", "-n", REQUESTS, "-T", "60s", "--no-keepalive", *options,
                                 "http://localhost/")
            verdict.check(outcome.requests == REQUESTS and not outcome.errors,
                          f"backlog: {outcome.requests} requests, {outcome.errors}")
    verdict.say(f"backlog: {REQUESTS} connections to a socket with room for one")


def few_ports(verdict: Verdict, folder: pathlib.Path, short: bool) -> None:
    """A connection for each request, more than there are ports, over and over: none stays taken by the generator."""
    alone = subprocess.run([*UNSHARE, sys.executable, "-m", __name__, str(folder), str(1 if short else RUNS)], cwd=FOLDER,
                           capture_output=True, text=True)
    if alone.returncode == NOT_POSSIBLE:
        verdict.say(f"few ports: left out, for it takes the right to a network of its own: {alone.stderr.strip()[-200:]}")
        return
    assert alone.returncode == 0, alone.stderr[-1000:]
    rows = [json.loads(line) for line in alone.stdout.splitlines()]
    for row in rows:
        verdict.check(row["requests"] == REQUESTS and not row["errors"], f"few ports: {row}")
    verdict.figure(f"{REQUESTS} connections through {len(PORTS)} ports, {len(rows)} times")


def inside(folder: pathlib.Path, runs: int) -> None:
    """The part of it that runs in a network of its own; prints a line for each run."""
    try:
        subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
        settings = pathlib.Path("/proc/sys/net/ipv4")
        (settings / "tcp_tw_reuse").write_text("0")
        (settings / "ip_local_port_range").write_text(f"{PORTS.start} {PORTS.stop - 1}")
    except (OSError, subprocess.CalledProcessError) as error:
        print(error, file=sys.stderr)
        sys.exit(NOT_POSSIBLE)
    raise_open_files()
    (folder / "site").mkdir()
    (folder / "site" / "index.html").write_text("Hello!\n")
    files = certificate(folder)
    # Ports for servers are of the same range: they are asked for before the others are.
    with (Server.files(folder / "site", "--access-log", "off") as plain, Nginx(folder) as nginx,
          Server.files(folder / "site", "--access-log", "off", "--tls", files) as tls):
        for _ in range(runs):
            for options in ([f"http://127.0.0.1:{plain.port}/"], [nginx.url()], ["--http2", f"http://127.0.0.1:{plain.port}/"],
                            ["--http2", nginx.url(http2=True)], ["-k", f"https://127.0.0.1:{tls.port}/"],
                            ["-k", "--http2", f"https://127.0.0.1:{tls.port}/"]):
                show(options, bench_json("--no-keepalive", "-n", REQUESTS, "-c", "16", *options))


def show(options: list, outcome: Outcome) -> None:
    print(json.dumps({"options": options, "requests": outcome.requests, "errors": outcome.errors}), flush=True)


UNSHARE = ["unshare", "--map-root-user", "--net"]
NOT_POSSIBLE = 77
CASES = (crowd, backlog, few_ports)

if __name__ == "__main__":
    inside(pathlib.Path(sys.argv[1]), int(sys.argv[2]))
