"""System calls per request, by name, under strace."""

from __future__ import annotations

import re
import select
import shutil
import signal
import subprocess
import tempfile
import time

from . import load, servers, store, works
from .matrix import matches, say
from .process import Broken, Running

CONNECTIONS = 64
REQUESTS = 20_000
ATTACH_LIMIT = 10.0
SUBJECTS = (("memory", "serow-hello"), ("memory", "epoll"), ("memory", "hyper"), ("memory", "nginx"),
            ("axum", "serow-axum"), ("file151", "serow-files"), ("file151", "nginx"), ("file151", "h2o"),
            ("file10k", "serow-files"), ("file10k", "nginx"), ("file10k", "h2o"))


def measure(run: store.Run, only: tuple[str, ...]) -> dict:
    if not shutil.which("strace"):
        raise load.Failed("strace is not installed")
    rows = []
    for work, name in SUBJECTS:
        label = f"{work}/tcp/{CONNECTIONS}/{name}"
        if servers.server(name).program not in run.programs or not matches(label, only):
            continue
        row = {"work": work, "server": name, "connections": CONNECTIONS, "error": None}
        try:
            row["calls"] = per_request(run, servers.server(name), works.work(work))
            calls = row["calls"]
            say(f"{label}: {sum(calls.values()):.3f} a request ({summary(calls)})")
        except (Broken, load.Failed, OSError, subprocess.SubprocessError) as error:
            row["error"] = str(error)
            say(f"{label}: {error}")
        rows.append(row)
    return {"requests": REQUESTS, "rows": rows}


def per_request(run: store.Run, server: servers.Server, work: works.Work) -> dict[str, float]:
    with Running(server, work, "tcp", run.programs[server.program], run.folder) as running:
        # Its connections are open before strace looks: only the calls of requests are counted.
        with load.Own(run.programs["load"], running, CONNECTIONS, requests=REQUESTS, keep=True) as own:
            # A worker that wakes late from the last of the first requests is not to be counted.
            time.sleep(0.1)
            with tempfile.NamedTemporaryFile("r", prefix="serow-bench-") as table:
                strace = attach(running.pids(), table.name)
                try:
                    told = own.count()
                finally:
                    strace.send_signal(signal.SIGINT)
                    strace.communicate(timeout=ATTACH_LIMIT)
                calls = parse(table.read())
        return {name: count / told["requests"] for name, count in calls.items()}


def attach(pids: list[int], table: str) -> subprocess.Popen:
    strace = subprocess.Popen(["strace", "-c", "-f", "-o", table, *(word for pid in pids for word in ("-p", str(pid)))],
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, bufsize=0)
    told, until = b"", time.monotonic() + ATTACH_LIMIT
    while told.count(b"attached") < len(pids):
        ready, _, _ = select.select([strace.stderr], [], [], max(0.0, until - time.monotonic()))
        piece = strace.stderr.read(4096) if ready else b""
        if not piece:
            strace.kill()
            strace.communicate()
            raise load.Failed(f"strace could not attach: {told.decode(errors='replace').strip() or 'no word in time'}")
        told += piece
    return strace


def parse(table: str) -> dict[str, int]:
    """The calls of strace's summary, by name, most frequent first."""
    calls = {}
    for line in table.splitlines():
        # % time, seconds, usecs/call, calls, errors (may be missing), syscall
        found = re.match(r"\s*[\d.]+\s+[\d.]+\s+\d+\s+(\d+)\s+(?:\d+\s+)?([a-z_0-9]+)$", line)
        if found and found.group(2) != "total":
            calls[found.group(2)] = int(found.group(1))
    return dict(sorted(calls.items(), key=lambda item: -item[1]))


def summary(calls: dict[str, float]) -> str:
    return ", ".join(f"{name} {count:.3f}" for name, count in calls.items() if count >= 0.0005)
