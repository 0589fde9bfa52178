"""Work × transport × connections × server, in interleaved rounds."""

from __future__ import annotations

import contextlib
import fnmatch
import sys
from dataclasses import dataclass, field

from . import load, meter, servers, store
from .process import Broken, Running
from .works import CONNECTIONS, TRANSPORTS, WORKS, Work

# Long enough for caches, the branch predictor and the servers' file caches to settle; not counted.
WARM_UP = 0.2


@dataclass(frozen=True)
class Settings:
    rounds: int = 9
    seconds: float = 1
    connections: tuple[int, ...] = CONNECTIONS
    only: tuple[str, ...] = ()
    # "wrk", "own" or "auto", for TCP; unix sockets always get our own.
    load: str = "auto"

    def wrk_for(self, work: Work, transport: str) -> bool:
        if transport == "unix" or not load.wrk_is_there():
            return False
        # wrk reads 8 KB at a time: with a large file it and not the server is the limit, and most of the server's
        # sending happens on wrk's core, while the kernel handles wrk's acknowledgements.
        return self.load == "wrk" or self.load == "auto" and len(work.body) < load.COUNTED_IN_BYTES


@dataclass
class Cell:
    work: str
    transport: str
    connections: int
    server: str
    # One entry a round, None where that round failed, so that ratios stay within a round.
    rounds: list[dict | None] = field(default_factory=list)
    error: str | None = None

    @property
    def name(self) -> str:
        return f"{self.work}/{self.transport}/{self.connections}/{self.server}"


def matches(name: str, patterns: tuple[str, ...]) -> bool:
    return not patterns or any(fnmatch.fnmatch(name, pattern) or pattern in name for pattern in patterns)


def cells(settings: Settings, programs: dict) -> list[Cell]:
    """Every cell to measure. A cell brings along the references of its group, by which its ratio is computed."""
    found = []
    for work in WORKS:
        there = [name for name in work.servers if servers.server(name).program in programs]
        for transport in TRANSPORTS:
            for connections in settings.connections:
                group = [Cell(work.name, transport, connections, name) for name in there]
                wanted = {cell.server for cell in group if matches(cell.name, settings.only)}
                found += [cell for cell in group if cell.server in wanted or wanted and cell.server in work.references]
    return found


def measure(settings: Settings, run: store.Run) -> dict:
    chosen = cells(settings, run.programs)
    for round_number in range(settings.rounds):
        for work in WORKS:
            for transport in TRANSPORTS:
                group = [cell for cell in chosen if cell.work == work.name and cell.transport == transport]
                # There and back again: a machine that slowly gets faster or slower favours nobody.
                order = group[::-1] if round_number % 2 else group
                if group:
                    say(f"round {round_number + 1} of {settings.rounds}: {work.title}, {transport}")
                    measure_group(settings, run, work, transport, order)
    return {
        "rounds": settings.rounds,
        "seconds": settings.seconds,
        "metric": "cycles" if meter.perf_counts() else "cpu",
        "load": settings.load,
        "cells": [vars(cell) for cell in chosen],
    }


def measure_group(settings: Settings, run: store.Run, work: Work, transport: str, group: list[Cell]) -> None:
    """One round of one work over one transport: all servers run, idle but for the one that is measured."""
    with contextlib.ExitStack() as stack:
        running = {}
        for name in dict.fromkeys(cell.server for cell in group):
            server = servers.server(name)
            try:
                running[name] = stack.enter_context(
                    Running(server, work, transport, run.programs[server.program], run.folder))
            except (Broken, OSError) as error:
                for cell in group:
                    if cell.server == name:
                        fail(cell, error)
        for cell in group:
            if cell.server in running:
                measure_cell(settings, run, running[cell.server], cell)


def measure_cell(settings: Settings, run: store.Run, running: Running, cell: Cell) -> None:
    gauge = meter.Meter(running.pids())
    try:
        load.with_own(run.programs["load"], running, cell.connections, None, seconds=WARM_UP)
        if settings.wrk_for(running.work, cell.transport):
            outcome = load.with_wrk(running, cell.connections, settings.seconds, gauge)
        else:
            outcome = load.with_own(run.programs["load"], running, cell.connections, gauge, seconds=settings.seconds)
        running.check()
    except (load.Failed, Broken, OSError) as error:
        fail(cell, error)
        return
    finally:
        gauge.close()
    cell.rounds.append(per_request(outcome))


def per_request(outcome: load.Outcome) -> dict:
    requests, usage = outcome.requests, outcome.usage
    return {
        "requests": requests,
        "per_second": requests / outcome.seconds,
        "cpu": usage.cpu / requests,
        "user_share": usage.user_share,
        "client_cpu": outcome.client_cpu / requests,
        "p50_us": outcome.p50_us,
        "p99_us": outcome.p99_us,
        **{event: value / requests for event, value in usage.events.items()},
    }


def fail(cell: Cell, error: Exception) -> None:
    cell.rounds.append(None)
    cell.error = str(error)
    say(f"  {cell.name}: {error}")


def say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
