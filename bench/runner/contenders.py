"""The servers of a row of `bench/table`: which there are, and how each is started."""

from __future__ import annotations

import contextlib
import math
import os
import pathlib
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass

from . import build, machine, meter, proxies, servers
from .generators import NOT_MEASURED, Generators
from .load import Failed, Outcome
from .process import Broken, Running
from .rows import LIMITS, OURS, Row

BUILT_PEERS = build.TARGET / "peers"
# Debian's are without HTTP/3.
BUILT = ("nginx", "h2o")
PROGRAMS = {"serow-hello": "hello", "serow-axum": "axum", "hyper-axum": "hyper", "nginx-read": "nginx"}


@dataclass(frozen=True)
class Contender:
    """A server in one row; `name` tells two builds of Serow apart."""

    name: str
    server: str
    program: pathlib.Path


@dataclass(frozen=True)
class Build:
    """A build of Serow: the program, and the examples of the library beside it."""

    label: str
    serow: pathlib.Path

    def program(self, server: str) -> pathlib.Path:
        return self.serow if server == "serow" else self.serow.parent / "examples" / PROGRAMS[server]


@dataclass(frozen=True)
class Field:
    """All that a row's servers need."""

    builds: tuple[Build, ...]
    programs: dict[str, pathlib.Path]
    # Why a program is not there, by its name.
    reasons: dict[str, str]
    folder: pathlib.Path
    generators: Generators

    @property
    def certificates(self) -> pathlib.Path:
        return self.folder.parent

    def contenders(self, row: Row) -> tuple[list[Contender], dict[str, str]]:
        """Those of a row, and for each that is left out the reason."""
        found, missing = [], {}
        for server in row.servers:
            if server in OURS:
                for each in self.builds:
                    if (program := each.program(server)).exists():
                        found.append(Contender(each.label, server, program))
                    else:
                        missing[each.label] = f"no {program}"
                continue
            name = self.program_name(row, server)
            if name not in self.programs:
                missing[server] = self.reasons.get(name, "not installed")
            elif row.service == "http3" and name in BUILT and not is_built(self.programs[name]):
                missing[server] = "Debian's has no HTTP/3; see bench/peers/build --help"
            else:
                found.append(Contender(server, server, self.programs[name]))
        return found, missing

    @staticmethod
    def program_name(row: Row, server: str) -> str:
        return "epoll-proxy" if server == "epoll" and row.service == "proxy" else PROGRAMS.get(server, server)

    @contextlib.contextmanager
    def running(self, row: Row, chosen: list[Contender], tool: list[str] | None = None) -> Iterator[dict[str, Running | Exception]]:
        """The servers by name, or why one does not run."""
        with contextlib.ExitStack() as stack:
            behind = stack.enter_context(self.behind(row)) if row.service in ("proxy", "cache") else None
            found: dict[str, Running | Exception] = {}
            for each in chosen:
                try:
                    found[each.name] = stack.enter_context(self.server(row, each, behind, tool))
                except (Broken, Failed, OSError) as error:
                    found[each.name] = error
            yield found

    def behind(self, row: Row) -> Running:
        if row.service == "proxy":
            return proxies.Upstream(row.work, "tcp", self.programs["epoll"], self.folder)
        return Origin(servers.server("serow-files"), row.work, "tcp", self.builds[0].serow, self.folder)

    def server(self, row: Row, contender: Contender, behind: Running | None, tool: list[str] | None) -> Running:
        if contender.server == "udp":
            return Udp(servers.Server("udp", "C, UDP", "udp", "udp"), row.work, "tcp", contender.program, self.folder, tool)
        if row.service == "proxy":
            proxy = next(proxy for proxy in proxies.PROXIES if proxy.name == contender.server)
            return proxies.Proxy(proxy, proxies.CASES[0], row.work, contender.program, behind, self.certificates, tool)
        server = servers.server("serow-files" if contender.server == "serow" else contender.server)
        if row.service == "cache":
            return Cache(server, row.work, contender.program, behind, tool)
        certificates = self.certificates if row.service in ("tls", "http3") else None
        return Running(server, row.work, "tcp", contender.program, self.folder, tool, certificates, row.service == "http3")


class Origin(Running):
    """Serow, on the load's core, with responses that may be stored."""

    core = 1

    def arguments(self) -> list[str]:
        return [*super().arguments(), "--cache-control", "max-age=86400"]


class Cache(Running):
    """A proxy with a cache on the disk; the check that waits until it runs also stores the response."""

    def __init__(self, server: servers.Server, work, program: pathlib.Path, origin: Running,
                 tool: list[str] | None) -> None:
        super().__init__(server, work, "tcp", program, origin.place.folder, tool)
        self.origin = origin.place

    def arguments(self) -> list[str]:
        place = self.place
        if self.server.name == "nginx":
            values = {"user": "user root;" if os.geteuid() == 0 else "", "listen": place.address,
                      "origin": self.origin.address, "directory": place.directory}
            return [str(place.program), "-e", "stderr", "-p", str(place.directory), "-c",
                    str(servers.write(place, "cache-nginx.conf", values))]
        return [str(place.program), "proxy", self.origin.address, "--listen", place.address, "--workers", "1", "--access-log",
                "off", "--cache", "256M", "--cache-dir", f"{place.directory}/cache"]


class Udp(Running):
    """The limit of HTTP/3, which has a load of its own in the same program."""

    def arguments(self) -> list[str]:
        return [str(self.place.program), "serve", self.address]

    def check(self, limit: float = 0) -> None:
        self.request(1, 1)

    def request(self, requests: int, streams: int) -> None:
        command = [*machine.pinned(machine.cores()[1]), str(self.place.program), "load", self.address,
                   str(len(self.work.body)), str(requests), str(streams)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300)
        if done.returncode == 3:
            raise ConnectionRefusedError(done.stderr.strip())
        if done.returncode:
            raise Failed(done.stderr.strip())

    def send(self, row: Row, requests: int, used: meter.Meter | None) -> Outcome:
        if used:
            used.begin()
        self.request(requests, row.streams)
        return Outcome(requests, math.nan, math.nan, math.nan, math.nan, used.end() if used else NOT_MEASURED)


def is_built(program: pathlib.Path) -> bool:
    return program.parent == BUILT_PEERS


def peer_programs(wanted: set[str]) -> tuple[dict[str, pathlib.Path], dict[str, str]]:
    """As build.programs; nginx and h2o of bench/peers/build come first."""
    built = {name: BUILT_PEERS / name for name in BUILT if name in wanted and (BUILT_PEERS / name).exists()}
    found, reasons = build.programs(wanted - built.keys())
    return found | built, reasons


def label(name: str) -> str:
    """As a reader knows it."""
    if name in LIMITS or name in PROGRAMS or name in ("nginx", "h2o", "caddy"):
        return {"udp": "C, UDP"}.get(name) or servers.server(name).label
    return "HAProxy" if name == "haproxy" else name
