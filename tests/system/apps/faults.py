"""Faults of workers under load, and their effect on the clients of the other workers: none."""

from __future__ import annotations

import collections
import contextlib
import dataclasses
import os
import pathlib
import random
import signal
import subprocess
import time
from collections.abc import Callable, Iterator

from ..polling import wait_until
from ..proxy.load import Load
from ..server import Server
from ..verdict import Verdict
from . import servers
from .servers import Serow, ask, kill, workers

# So many connections ask 600 times a second: four workers that take 2 ms for each are busy a third of the time.
CONNECTIONS = 32
CALM, AFTERWARDS = 0.5, 1.5
TIMES = {True: 5, False: 40}


@dataclasses.dataclass
class Row:
    gets: int
    posts: int
    gets_failed: int
    posts_failed: int
    # POSTs that were carried out twice.
    twice: int
    # How many requests the fault itself may cost: those that were in a worker that died.
    dead: int
    longest: float
    kinds: str
    said: str = ""


def victim(server: Server) -> int:
    """One of the workers, as soon as there is one."""
    while not (found := workers(server)):
        time.sleep(0.02)
    return random.choice(found)


def killed(server: Server, times: int) -> list[str]:
    for _ in range(times):
        kill(victim(server))
        time.sleep(0.15)
    return []


def exits(server: Server, times: int) -> list[str]:
    return [ask(server, "POST", "/exit") for _ in range(times)]


def hangs(server: Server, times: int) -> list[str]:
    return [ask(server, "POST", "/hang") for _ in range(max(1, times // 10))]


def stands_still(server: Server, times: int) -> list[str]:
    for _ in range(max(1, times // 10)):
        pid = victim(server)
        kill(pid, signal.SIGSTOP)
        time.sleep(servers.TIMEOUT + 1.5)
        kill(pid, signal.SIGCONT)
    return []


def fails(server: Server, times: int) -> list[str]:
    return [ask(server, "GET", "/raise") for _ in range(times)]


def breaks_off(server: Server, times: int) -> list[str]:
    return [ask(server, "GET", "/half") for _ in range(times)]


def grows(server: Server, times: int) -> list[str]:
    return [ask(server, "GET", "/leak") for _ in range(3 * times)]


def forks_fail(server: Server, times: int) -> list[str]:
    """A worker is killed while no process can be forked, which is possible again half a second later."""
    for _ in range(max(1, times // 10)):
        with unable_to_fork(servers.template_process(server)):
            kill(victim(server))
            time.sleep(0.5)
            assert len(workers(server)) < servers.WORKERS, "a process could be forked"
        until_complete(server)
    return []


@contextlib.contextmanager
def unable_to_fork(pid: int) -> Iterator[None]:
    def allow(number: str) -> None:
        # Its own user may do so everywhere, root only where nothing was taken from it.
        user = int(field("status", "Uid:")[1]) if os.geteuid() == 0 else None
        subprocess.run(["prlimit", f"--pid={pid}", f"--nproc={number}:"], user=user, check=True)

    def field(file: str, name: str) -> list[str]:
        lines = pathlib.Path(f"/proc/{pid}/{file}").read_text().splitlines()
        return next(line.split() for line in lines if line.startswith(name))

    before = field("limits", "Max processes")[2]
    allow("0")
    yield
    allow(before)


def template_process_killed(server: Server, times: int) -> list[str]:
    for _ in range(max(1, times // 10)):
        before = servers.template_process(server)
        kill(before)
        time.sleep(0.1)
        kill(victim(server))
        until_complete(server, without=before)
    return []


def until_complete(server: Server, without: int = 0) -> None:
    wait_until(lambda: servers.template_process(server) not in (0, without) and len(workers(server)) >= servers.WORKERS)


@dataclasses.dataclass(frozen=True)
class Fault:
    name: str
    happen: Callable[[Server, int], list[str]]
    # The beginning of the responses to the requests that cause the fault.
    expected: str = ""
    # Whether only Serow has it.
    own: bool = False
    options: tuple[str, ...] = ()
    # Whether the limit of processes is to count.
    unprivileged: bool = False
    # Requests of others that may fail for each time: POSTs that were in the worker.
    cost: int = 0


FAULTS = (
    Fault("is killed (SIGKILL)", killed, cost=1),
    Fault("calls exit during a request", exits, "502"),
    Fault("hangs during a request", hangs, "504"),
    Fault("is stopped (SIGSTOP)", stands_still, cost=1),
    Fault("raises an exception", fails, "500"),
    Fault("crashes in the middle of a response", breaks_off, "cut"),
    Fault("is killed, while fork fails for 0.5 s", forks_fail, cost=1, unprivileged=True),
    Fault("grows by 20 MB per request; memory limit 150 MB", grows, "200", options=("--memory-limit", "150M")),
    Fault("is killed, and the process that forks workers too", template_process_killed, own=True, cost=1),
)


def sit(server: Server, fault: Fault, times: int) -> tuple[Row, list[str]]:
    """One fault, under load."""
    with server, Load(server.address, CONNECTIONS, targets=("/bytes/100", "/bytes/100", "/bytes/3000", "/bytes/60000")) as load:
        time.sleep(CALM)
        answers = fault.happen(server, times)
        time.sleep(AFTERWARDS)
        count = len(workers(server))
        load.is_over.set()
        load.thread.join()
        said = "; ".join(server.panics()[:1])
    return row_of(load, server, fault.cost * times, said if count >= servers.WORKERS else f"{said}{count} workers are left"), answers


def row_of(load: Load, server: Server, dead: int, said: str = "") -> Row:
    done = collections.Counter(server.done.read_text().split())
    longest = max((asked.seconds for asked in load.asked), default=0.0)
    return Row(load.count("GET"), load.count("POST"), len(load.failures("GET")), len(load.failures("POST")),
               sum(count > 1 for count in done.values()), dead, longest, load.kinds(), said)


def workers_fail(verdict: Verdict, folder: pathlib.Path, short: bool) -> None:
    """Faults of workers: only the request in a dying worker can fail, and only where nobody knows whether it was carried out."""
    requests = 0
    for number, fault in enumerate(FAULTS):
        (folder / str(number)).mkdir()
        row, answers = sit(Serow(folder / str(number), *fault.options, unprivileged=fault.unprivileged), fault, TIMES[short])
        requests += row.gets + row.posts
        check(verdict, fault, row, answers)
    verdict.figure(f"{len(FAULTS)} faults of workers, {requests} requests")


def check(verdict: Verdict, fault: Fault, row: Row, answers: list[str]) -> None:
    name = fault.name
    verdict.say(f"{name}: {row.gets} GET, {row.gets_failed} failed; {row.posts} POST, {row.posts_failed} failed; longest {row.longest:.2f} s "
                f"({row.kinds}); {dict(collections.Counter(answers))}")
    verdict.check(row.gets > 100 and row.posts > 20, f"{name}: there was no load")
    verdict.check(row.gets_failed <= (row.dead if fault.happen is stands_still else 0), f"{name}: {row.gets_failed} GETs failed: {row.kinds}")
    verdict.check(row.posts_failed <= row.dead, f"{name}: {row.posts_failed} POSTs failed: {row.kinds}")
    verdict.check(row.twice == 0, f"{name}: {row.twice} POSTs were carried out twice")
    verdict.check(all(answer.startswith(fault.expected) for answer in answers), f"{name}: expected {fault.expected}, got {answers[:5]}")
    verdict.check(not row.said, f"{name}: {row.said}")


def compare(verdict: Verdict, folder: pathlib.Path, short: bool) -> dict[str, dict[str, tuple[Row, list[str]]]]:
    """The faults with each server that can have them, for the table; only counted."""
    found: dict[str, dict[str, tuple[Row, list[str]]]] = {}
    for kind in (Serow, *servers.PEERS):
        found[kind.name] = {}
        for number, fault in enumerate(FAULTS):
            if kind is not Serow and (fault.own or fault.options):
                continue
            place = folder / f"{kind.name}-{number}"
            place.mkdir()
            server = kind(place, *fault.options, unprivileged=fault.unprivileged)
            row, answers = found[kind.name][fault.name] = sit(server, fault, TIMES[short])
            verdict.say(f"{kind.name}: {fault.name}: {row.gets} GET, {row.gets_failed} failed; {row.posts} POST, {row.posts_failed} failed, "
                        f"{row.twice} done twice; longest {row.longest:.2f} s ({row.kinds}); {dict(collections.Counter(answers))}; {row.said}")
    return found


CASES = (workers_fail,)
