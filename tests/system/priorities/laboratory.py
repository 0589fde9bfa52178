"""The link, and what a server and a client do at its ends."""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from ..server import REPOSITORY, Broken, program
from . import servers
from .servers import Place, Server

WITHOUT = "SEROW_WITHOUT_NETLAB"
TESTS = REPOSITORY / "tests"


@dataclass(frozen=True)
class Link:
    rate: str
    rtt_ms: float
    options: tuple[str, ...] = ()

    @property
    def bits(self) -> float:
        for unit, factor in (("gbit", 1e9), ("mbit", 1e6), ("kbit", 1e3)):
            if self.rate.endswith(unit):
                return float(self.rate.removesuffix(unit)) * factor
        return float(self.rate)

    @property
    def name(self) -> str:
        return f"{self.rate}, {self.rtt_ms:g} ms"


def spelled(link: str) -> str:
    """The name of a link as people write it: 128 kbit/s, 300 ms."""
    for unit in ("gbit", "mbit", "kbit"):
        link = link.replace(unit, f" {unit[0].upper() if unit != 'kbit' else 'k'}bit/s")
    return link


@dataclass
class Outcome:
    """The output of the client, and the packets that the link carried."""

    output: str
    report: dict
    # To the client and to the server: a dictionary for each TCP segment.
    trace: list[dict] = field(default_factory=list)
    trace_back: list[dict] = field(default_factory=list)

    @property
    def told(self) -> dict:
        return json.loads(self.output)


def is_possible() -> bool:
    """Whether networks may be made here. Where they may not, the tests fail unless they are allowed not to run."""
    checked = subprocess.run([program("netlab"), "--check"], capture_output=True, text=True)
    if checked.returncode == 0:
        return True
    print(checked.stderr.strip(), file=sys.stderr)
    if os.environ.get(WITHOUT) == "1":
        print(f"\n*** priorities: NOT RUN, because {WITHOUT}=1 and no networks may be made here ***\n", file=sys.stderr)
        return False
    raise Broken(f"the laboratory needs root or user namespaces; {WITHOUT}=1 lets the other tests pass without it")


@contextlib.contextmanager
def place(tls: bool, site: pathlib.Path) -> Iterator[Place]:
    work = pathlib.Path(tempfile.mkdtemp(prefix="serow-priorities-"))
    try:
        key, certificate = work / "key.pem", work / "certificate.pem"
        if tls:
            subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                            "-days", "2", "-subj", "/CN=lab.example", "-keyout", key, "-out", certificate],
                           check=True, capture_output=True)
        yield Place(site, work, key, certificate, tls, work / "admin", work / "drawing.svg")
    finally:
        shutil.rmtree(work, ignore_errors=True)


def run(link: Link, server: Server, where: Place, client: list[str], limit: float, trace: bool = True) -> Outcome:
    """Runs a client against a server over the link."""
    return run_command(link, server.label, servers.command(server, where), where, client, limit, trace)


def run_command(link: Link, label: str, serving: list[str], where: Place, client: list[str], limit: float,
                trace: bool = True) -> Outcome:
    """The same with any program that listens where the servers do."""
    files = {name: where.work / name for name in ("report", "trace", "trace-back")}
    # The laboratory ends with us even when we are killed.
    guard = ["setpriv", "--pdeathsig", "TERM"] if shutil.which("setpriv") else []
    command = [*guard, program("netlab"), "--rate", link.rate, "--rtt", f"{link.rtt_ms}ms", *link.options, "--report", files["report"],
               "--wait-for", f"tcp:{servers.PORT}"]
    if trace:
        command += ["--trace", files["trace"], "--trace-back", files["trace-back"]]
    command += ["--", *serving, "--", *client]
    environment = os.environ | {"PYTHONPATH": str(TESTS), "PYTHONDONTWRITEBYTECODE": "1"}
    process = subprocess.Popen([str(part) for part in command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True, env=environment, cwd=where.work)
    try:
        output, errors = process.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        process.terminate()
        output, errors = process.communicate()
        raise Broken(f"{label}: not done after {limit:.0f} s: {errors[-400:]}") from None
    except BaseException:
        process.terminate()
        process.wait()
        raise
    if process.returncode != 0:
        raise Broken(f"{label}: exit code {process.returncode}: {errors[-800:]}")
    traces = [segments(files[name]) if trace else [] for name in ("trace", "trace-back")]
    return Outcome(output, json.loads(files["report"].read_text()), *traces)


def with_admin(server: Server, where: Place) -> Server:
    """The same server with a socket on which it says how it is doing."""
    return replace(server, options=(*server.options, "--admin", f"unix:{where.admin}"))


def segments(file: pathlib.Path) -> list[dict]:
    head, *lines = file.read_text().splitlines()
    names = head.split(",")
    read = {"source": int, "destination": int, "sequence": int, "length": int}
    return [{name: read.get(name, float)(value) if value else None for name, value in zip(names, line.split(","))}
            for line in lines]


def python(module: str, *arguments: str) -> list[str]:
    return [sys.executable, "-m", f"system.priorities.{module}", *arguments]
