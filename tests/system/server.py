"""A server in a process of its own: started, watched and stopped by its id."""

from __future__ import annotations

import contextlib
import os
import pathlib
import random
import re
import signal
import socket
import subprocess
import tempfile

from .polling import attempts, wait_until

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
START_SECONDS = 10.0
STOP_SECONDS = 5.0
TICK = os.sysconf("SC_CLK_TCK")
# The packages of the programs that are no examples of `serow`.
PACKAGES = {"serow": "-p serow-cli --features all", "netlab": "-p serow-netlab", "hpack_blocks": "-p serow-http2 --examples",
            "qpack_peer": "-p serow-http3 --examples"}


class Broken(Exception):
    """The server did not start, or is gone."""


def target() -> pathlib.Path:
    return pathlib.Path(os.environ.get("CARGO_TARGET_DIR", REPOSITORY / "target"))


def program(name: str) -> pathlib.Path:
    """The build of `serow`, of `netlab`, or of an example, of the profile that SEROW_PROFILE names."""
    path = target() / os.environ.get("SEROW_PROFILE", "release") / (name if name in ("serow", "netlab") else f"examples/{name}")
    if not path.exists():
        raise Broken(f"{path} is missing; run: {build_command(name)}")
    return path


def build_command(name: str) -> str:
    return f"cargo build --profile {os.environ.get('SEROW_PROFILE', 'release')} {PACKAGES.get(name, '-p serow --examples')}"


def free_port() -> int:
    """A port of 127.0.0.1 below the kernel's ephemeral ports: no connection of another test takes it meanwhile."""
    while True:
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", random.randrange(10_100, 32_768)))
            return probe.getsockname()[1]


def resident_bytes(pid: int) -> int:
    """Bytes of the memory of a process that are in the machine's."""
    try:
        text = pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text()
        return int(re.search(r"^Rss:\s+(\d+)", text, re.M).group(1)) * 1024
    except OSError:
        text = pathlib.Path(f"/proc/{pid}/status").read_text()
        return int(re.search(r"^VmRSS:\s+(\d+)", text, re.M).group(1)) * 1024


class Server:
    """Runs while the `with` block does. The file `log` keeps its output on standard error."""

    def __init__(self, command: list[str], port: int, *, wrap: list[str] | None = None, user: int | None = None,
                 stdout: int | None = None, stderr: int | None = None, before=None) -> None:
        self.command = [*(wrap or []), *map(str, command)]
        self.port = port
        self.log = tempfile.TemporaryFile()
        self.options = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL if stdout is None else stdout,
                        "stderr": self.log if stderr is None else stderr, "preexec_fn": before,
                        "start_new_session": True}
        if user is not None:
            self.options |= {"user": user, "group": user, "extra_groups": []}
        self.process: subprocess.Popen | None = None

    @classmethod
    def files(cls, folder: str | os.PathLike, *options: str, **rest) -> "Server":
        port = free_port()
        command = [program("serow"), "files", folder, "--listen", f"127.0.0.1:{port}", *options]
        return cls(command, port, **rest)

    @classmethod
    def example(cls, name: str, *options: str, **rest) -> "Server":
        port = free_port()
        return cls([program(name), f"127.0.0.1:{port}", *options], port, **rest)

    def __enter__(self) -> "Server":
        self.process = subprocess.Popen(self.command, **self.options)
        for _ in attempts(START_SECONDS, pause=0.01):
            if self.process.poll() is not None:
                raise Broken(f"{' '.join(self.command)} ended with {self.process.returncode}: {self.said()}")
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self.port)) == 0:
                    return self
        self.__exit__()
        raise Broken(f"{' '.join(self.command)} does not listen: {self.said()}")

    def __exit__(self, *_) -> None:
        if self.process is None or self.process.poll() is not None:
            return
        self.process.send_signal(signal.SIGCONT)
        # The second signal ends at once what the first would let finish.
        for sign in (signal.SIGTERM, signal.SIGTERM, signal.SIGKILL):
            self.process.send_signal(sign)
            try:
                self.process.wait(0.3 if sign == signal.SIGTERM else STOP_SECONDS)
                return
            except subprocess.TimeoutExpired:
                pass

    @property
    def pid(self) -> int:
        assert self.process is not None
        return self.process.pid

    @property
    def address(self) -> tuple[str, int]:
        return "127.0.0.1", self.port

    def is_running(self) -> bool:
        return self.process is not None and self.process.poll() is None

    def said(self) -> str:
        self.log.seek(0)
        return self.log.read().decode(errors="replace").strip()

    def panics(self) -> list[str]:
        return [line for line in self.said().splitlines() if re.search(r"panic", line)]

    def processor_seconds(self) -> float:
        fields = pathlib.Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / TICK

    def processor_seconds_exact(self) -> float:
        """To the nanosecond, as the scheduler counts it; of threads that still run."""
        tasks = pathlib.Path(f"/proc/{self.pid}/task").iterdir()
        return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks) / 1e9

    def memory(self) -> int:
        """Bytes of its memory that are in the machine's. Not its share of them (PSS): that grows when others end that run the
        same program."""
        return resident_bytes(self.pid)

    def descriptors(self) -> int:
        return len(os.listdir(f"/proc/{self.pid}/fd"))

    def settles_at(self, descriptors: int, seconds: float = 5.0) -> bool:
        """Whether it has no more descriptors than these within some seconds."""
        return wait_until(lambda: self.descriptors() <= descriptors, seconds)
