"""One running server: started on a free address, waited for until it answers rightly, always stopped."""

from __future__ import annotations

import contextlib
import os
import pathlib
import random
import re
import shutil
import signal
import socket
import ssl
import subprocess
import tempfile
import time

from . import machine, servers
from .servers import Server
from .works import Work

READY_LIMIT = 10.0
# callgrind runs a program some fifty times slower.
READY_LIMIT_UNDER_A_TOOL = 90.0
STOP_LIMIT = 5.0
# callgrind writes its profile at the end.
STOP_LIMIT_UNDER_A_TOOL = 60.0


class Broken(Exception):
    """The server did not start, or did not answer as it should: one line."""


def free_port() -> int:
    """A port of 127.0.0.1 below the kernel's ephemeral ports: no connection of another test takes it meanwhile."""
    while True:
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", random.randrange(10_100, 32_768)))
            return probe.getsockname()[1]


def connected(address: str, limit: float, tls: bool) -> socket.socket:
    family, to = socket.AF_INET, None
    if address.startswith("unix:"):
        family, to = socket.AF_UNIX, address.removeprefix("unix:")
    connection = socket.socket(family)
    try:
        connection.settimeout(limit)
        name, _, port = address.rpartition(":")
        connection.connect(to or (name, int(port)))
        # The certificates are made for one run and signed by nobody.
        return ssl._create_unverified_context().wrap_socket(connection) if tls else connection
    except BaseException:
        connection.close()
        raise


def answer(address: str, path: str, limit: float, tls: bool = False) -> tuple[bytes, bytes]:
    """Head and body of one request, asked with the bytes that wrk sends."""
    host = "localhost" if address.startswith("unix:") else address
    with connected(address, limit, tls) as connection:
        connection.sendall(f"GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
        received = b""
        while b"\r\n\r\n" not in received:
            received += more(connection)
        head, _, body = received.partition(b"\r\n\r\n")
        length = re.search(rb"\r\ncontent-length: *(\d+)", head, re.IGNORECASE)
        if not length:
            raise Broken("answers without Content-Length")
        while len(body) < int(length.group(1)):
            body += more(connection)
    return head, body


def more(connection: socket.socket) -> bytes:
    received = connection.recv(1 << 16)
    if not received:
        raise Broken("closed the connection in the middle of an answer")
    return received


class Running:
    """A context: the server runs inside it and is gone, with everything it wrote, after it."""

    # The core it runs on: the server's or the load's.
    core = 0

    def __init__(self, server: Server, work: Work, transport: str, program: pathlib.Path, folder: pathlib.Path,
                 tool: list[str] | None = None, certificates: pathlib.Path | None = None, http3: bool = False):
        self.server, self.work = server, work
        self.path = servers.path(server, work)
        self.tool = tool or []
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix="serow-bench-"))
        # A worker that gives up root must still reach its socket.
        self.directory.chmod(0o755)
        self.address = f"127.0.0.1:{free_port()}" if transport == "tcp" else f"unix:{self.directory}/socket"
        self.tls = certificates is not None
        self.place = servers.Place(program, folder, self.directory, self.address, certificates, http3)
        self.process: subprocess.Popen | None = None
        # Bytes of one whole response, head and body.
        self.response_size = 0

    def __enter__(self) -> Running:
        try:
            command = self.arguments()
            # The server ends with us even when we are killed.
            guard = ["setpriv", "--pdeathsig", "TERM"] if shutil.which("setpriv") else []
            with open(self.directory / "log", "wb") as log:
                self.process = subprocess.Popen(
                    [*guard, *machine.pinned(machine.cores()[self.core]), *self.tool, *command], stdin=subprocess.DEVNULL,
                    stdout=log, stderr=log, cwd=self.directory, start_new_session=True, env=self.environment())
            self.wait_until_ready()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def environment(self) -> dict[str, str]:
        """For programs that would write to the user's home, or start a thread for each core."""
        home = str(self.directory)
        return os.environ | {"GOMAXPROCS": "1", "HOME": home, "XDG_CONFIG_HOME": home, "XDG_DATA_HOME": home}

    def arguments(self) -> list[str]:
        return servers.command(self.server, self.work, self.place)

    def wait_until_ready(self) -> None:
        limit = READY_LIMIT_UNDER_A_TOOL if self.tool else READY_LIMIT
        until = time.monotonic() + limit
        while True:
            if self.process.poll() is not None:
                raise Broken(f"did not start: {self.last_words()}")
            try:
                self.check(limit)
                return
            except OSError as error:
                if time.monotonic() > until:
                    raise Broken(f"did not answer within {limit:.0f} s: {error}") from error
            time.sleep(0.02)

    def check(self, limit: float = READY_LIMIT) -> None:
        """The bytes of the body, once before and once after a measurement: the load generator compares lengths only."""
        head, body = answer(self.address, self.path, limit, self.tls)
        if not re.match(rb"HTTP/1\.1 200( |\r|$)", head):
            raise Broken(f"answered {head.splitlines()[0].decode(errors='replace')}")
        if body != self.work.body:
            raise Broken(f"answered {len(body)} bytes that are not the right {len(self.work.body)}")
        self.response_size = len(head) + 4 + len(body)

    def last_words(self) -> str:
        lines = (self.directory / "log").read_text(errors="replace").strip().splitlines()
        return lines[-1] if lines else f"exit code {self.process.returncode}"

    def pids(self) -> list[int]:
        """The server's process and all below it."""
        parents: dict[int, list[int]] = {}
        for entry in os.listdir("/proc"):
            if entry.isdigit():
                try:
                    status = pathlib.Path(f"/proc/{entry}/stat").read_text()
                except OSError:
                    continue
                parents.setdefault(int(status.rpartition(")")[2].split()[1]), []).append(int(entry))
        found = [self.process.pid]
        for pid in found:
            found.extend(parents.get(pid, []))
        return found

    def stop(self) -> None:
        if self.process:
            if self.process.poll() is None:
                self.process.terminate()
                try:
                    self.process.wait(STOP_LIMIT_UNDER_A_TOOL if self.tool else STOP_LIMIT)
                except subprocess.TimeoutExpired:
                    pass
            # Its group is its own (start_new_session): whatever is left of it goes now.
            try:
                os.killpg(self.process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            self.process.wait()
        shutil.rmtree(self.directory, ignore_errors=True)
