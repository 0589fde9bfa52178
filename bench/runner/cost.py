"""Processor time of servers per request."""

from __future__ import annotations

import contextlib
import pathlib
import re
import socket
import subprocess
import sys
import time
from collections.abc import Iterator


@contextlib.contextmanager
def running(commands: list[list], *ports: int) -> Iterator[None]:
    with contextlib.ExitStack() as stack:
        for command in commands:
            process = subprocess.Popen([str(word) for word in command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            stack.callback(process.wait)
            stack.callback(process.terminate)
        for port in ports:
            wait_for(port)
        yield


def wait_for(port: int) -> None:
    for _ in range(1200):
        with contextlib.suppress(OSError):
            socket.create_connection(("127.0.0.1", port)).close()
            return
        time.sleep(0.05)
    sys.exit(f"nothing listens on port {port}")


def processes(port: int) -> set[str]:
    """The processes that listen on a port."""
    found = subprocess.run(["ss", "-Hltnp", f"sport = :{port}"], capture_output=True, text=True, check=True).stdout
    return set(re.findall(r"pid=(\d+)", found))


def processor_seconds(port: int) -> float:
    ticks = 0
    for pid in processes(port):
        # Nanoseconds of all threads; /proc/PID/stat counts in hundredths of a second.
        for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
            ticks += int((task / "schedstat").read_text().split()[0])
    return ticks / 1e9


def spent(port: int, path: str, seconds: int, *options: str) -> float:
    """Processor time of the server per request of wrk, in microseconds."""
    before = processor_seconds(port)
    output = subprocess.run(["wrk", "-t1", "-c32", f"-d{seconds}s", *options, f"http://127.0.0.1:{port}{path}"],
                            capture_output=True, text=True, check=True).stdout
    if "Non-2xx" in output:
        sys.exit(f"port {port}: errors\n{output}")
    return (processor_seconds(port) - before) / int(re.search(r"(\d+) requests in", output)[1]) * 1e6
