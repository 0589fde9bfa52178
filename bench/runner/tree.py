"""Programs that answer at a unix socket, with all processes below them."""

from __future__ import annotations

import contextlib
import os
import pathlib
import signal
import socket
import subprocess
import time
from collections.abc import Iterator

from .process import Broken

START_SECONDS = 20.0


class Stack:
    """Processes that answer at a unix socket."""

    def __init__(self, name: str, path: pathlib.Path, roots: list[subprocess.Popen], answering: list[subprocess.Popen]) -> None:
        self.name, self.path = name, path
        self.roots = roots
        # Whose youngest descendants are the workers.
        self.answering = answering

    def all(self) -> list[int]:
        return sorted({pid for process in self.roots for pid in family(process.pid)})

    def workers(self) -> list[int]:
        return sorted({pid for process in self.answering for pid in leaves(process.pid)})


@contextlib.contextmanager
def started(command: list, path: pathlib.Path, folder: pathlib.Path, where: pathlib.Path, target: str = "/",
            environment: dict[str, str] | None = None) -> Iterator[subprocess.Popen]:
    """A program that answers for this target at a socket, and ends with this block, with all that it started."""
    path.unlink(missing_ok=True)
    log = (folder / f"{path.name}.log").open("w+")
    try:
        # A group of its own, so that all of it can be stopped, and no session: Linux gives sessions equal shares of a busy processor,
        # and a server in front that is a program of its own would have one more.
        process = subprocess.Popen([str(word) for word in command], cwd=where, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                   process_group=0, env=os.environ | (environment or {}))
    except OSError as error:
        raise Broken(f"{command[0]}: {error}") from error
    try:
        deadline = time.monotonic() + START_SECONDS
        while not answers(path, target):
            if process.poll() is not None or time.monotonic() > deadline:
                log.seek(0)
                raise Broken(f"{command[0]} does not listen: {log.read()[-300:]}")
            time.sleep(0.05)
        yield process
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        # Whatever is left of it goes now.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        log.close()


def answers(path: pathlib.Path, target: str) -> bool:
    """Whether somebody answers a request there."""
    with socket.socket(socket.AF_UNIX) as probe:
        probe.settimeout(START_SECONDS)
        try:
            probe.connect(str(path))
            probe.sendall(f"GET {target} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
            return probe.recv(15).startswith(b"HTTP/1.1 200")
        except OSError:
            return False


def pin(pids: list[int], core: int | None) -> None:
    for pid in pids:
        if core is not None:
            for task in os.listdir(f"/proc/{pid}/task"):
                os.sched_setaffinity(int(task), {core})


def parents() -> dict[int, int]:
    found = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            with contextlib.suppress(OSError):
                found[int(entry)] = int(pathlib.Path(f"/proc/{entry}/stat").read_text().rpartition(")")[2].split()[1])
    return found


def family(pid: int) -> list[int]:
    """A process and all below it."""
    known, found = parents(), {pid}
    while more := {child for child, parent in known.items() if parent in found} - found:
        found |= more
    return sorted(found)


def leaves(pid: int) -> list[int]:
    known = set(parents().values())
    return [child for child in family(pid) if child not in known]
