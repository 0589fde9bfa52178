"""Faults and deploys of programs under load, and their effect on clients."""

from __future__ import annotations

import collections
import os
import pathlib
import random
import signal
import socket
import subprocess
import time

from ..apps.servers import answer, kill
from ..polling import wait_until
from ..proxy.load import Load
from ..server import program
from ..verdict import Verdict
from .applications import COPIES, Program, express, go_inherits, go_unix, is_alive, puma_inherits, puma_unix, python

CONNECTIONS = 16
TARGETS = ("/bytes/100", "/bytes/100", "/bytes/3000", "/bytes/60000")
KILLS = {True: 6, False: 60}
DEPLOYS = {True: 6, False: 100}
# Seconds after a kill within which a request may still meet the copy that died.
SETTLED = 0.1
CALM = {True: 0.7, False: 10.0}
REFUSAL = "the old one stays"


def load(server: Program) -> Load:
    return Load(server.address, CONNECTIONS, targets=TARGETS)


def account(verdict: Verdict, what: str, server: Program, load: Load, posts: int = 0) -> None:
    """No GET failed, not more POSTs than these, and none was carried out twice."""
    twice = sum(count > 1 for count in collections.Counter(server.done.read_text().split()).values())
    gets, failed = load.count("GET"), len(load.failures("GET"))
    verdict.check(gets > 100 and load.count("POST") > 10, f"{what}: there was no load")
    verdict.check(failed == 0, f"{what}: {failed} GETs failed: {load.kinds()}")
    verdict.check(len(load.failures("POST")) <= posts, f"{what}: POSTs failed: {load.kinds()}")
    verdict.check(twice == 0, f"{what}: {twice} POSTs were carried out twice")
    verdict.check(not server.panics(), f"{what}: {server.panics()[:1]}")
    longest = max((asked.seconds for asked in load.asked), default=0.0)
    verdict.figure(f"{what}: {len(load.asked)} requests, {len(load.failures())} failed, longest {longest:.2f} s")


def programs_answer(verdict: Verdict, folder: pathlib.Path, short: bool) -> None:
    """Each in its way: at a port, at a unix socket, at a socket that it inherits."""
    for kind in (express, go_unix, go_inherits, puma_unix, puma_inherits):
        place = folder / kind.__name__
        place.mkdir()
        with kind(place) as server:
            with load(server) as asked:
                time.sleep(CALM[short])
                wait_until(lambda: asked.count("GET") > 100 and asked.count("POST") > 10)
            below = server.below()
        account(verdict, kind.__name__, server, asked)
        verdict.check(len(below) == COPIES, f"{kind.__name__}: {len(below)} copies")
        verdict.check(wait_until(lambda: not any(map(is_alive, below))), f"{kind.__name__}: copies are left behind")
    with python(folder) as server:
        verdict.check(answer(server, "GET", "/done")[0] == "200", "python3 -m http.server does not answer")


def other_protocols_and_streams(verdict: Verdict, folder: pathlib.Path, short: bool) -> None:
    with express(folder) as server:
        with socket.create_connection(server.address, timeout=10) as connection:
            connection.sendall(b"GET /echo HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
            head = connection.recv(4096)
            connection.sendall(b"hello\n")
            verdict.check(head.startswith(b"HTTP/1.1 101 ") and connection.recv(100) == b"hello\n", f"no upgrade: {head[:100]}")
        with socket.create_connection(server.address, timeout=10) as connection:
            began = time.monotonic()
            connection.sendall(b"GET /ticks HTTP/1.1\r\nHost: a\r\n\r\n")
            received = b""
            while b"data: 0" not in received:
                received += connection.recv(4096)
            first = time.monotonic() - began
            while b"data: 1" not in received:
                received += connection.recv(4096)
            verdict.compare_time(first < 0.7 < time.monotonic() - began, f"the first event came after {first:.2f} s")


def copies_are_killed(verdict: Verdict, folder: pathlib.Path, short: bool) -> None:
    """Only POSTs that are in a copy that dies can fail, since nobody knows whether they were carried out.

    A request that two copies die with fails as well, since it may be what they die of: each request meets one death."""
    kills = []
    with express(folder) as server, load(server) as asked:
        for _ in range(KILLS[short]):
            verdict.check(wait_until(lambda: len(server.below()) == COPIES and len(server.pids()) == COPIES), "a copy is missing")
            last = kills[-1] if kills else 0.0
            verdict.check(wait_until(lambda: not asked.has_open(before=last + SETTLED)), "a request does not end")
            kill(random.choice(server.below()))
            kills.append(time.monotonic())
            time.sleep(0.2)
        said = server.said()
    for failed in asked.failures("GET"):
        after = ", ".join(f"{(kill_at - failed.began) * 1000:+.0f}" for kill_at in kills if abs(kill_at - failed.began) < 5)
        verdict.say(f"GET {failed.id} took {failed.seconds:.3f} s, {failed.failure}; copies were killed at {after} ms; {said[-2000:]}")
    # Half of the connections are at one copy, and one of five requests is a POST.
    account(verdict, f"{KILLS[short]} copies killed", server, asked, posts=KILLS[short] * CONNECTIONS // 4)


def deployed(verdict: Verdict, folder: pathlib.Path, short: bool) -> None:
    """One time of three the new version is broken, and the old one stays."""
    script = folder / "server.js"
    with express(folder) as server:
        code, version = script.read_text(), ""
        with load(server) as asked:
            for deploy in range(1, DEPLOYS[short] + 1):
                broken, refusals = deploy % 3 == 0, server.said().count(REFUSAL)
                script.write_text("console.log('broken'); process.exit(5)\n" if broken else
                                  code.replace("process.env.VERSION || ''", f"'{deploy}'"))
                os.kill(server.pid, signal.SIGHUP)
                if broken:
                    wait_until(lambda: server.said().count(REFUSAL) > refusals)
                else:
                    version = str(deploy)
                    wait_until(lambda: answer(server, "GET", "/version")[1] == version)
                found = answer(server, "GET", "/version")[1]
                verdict.check(found == version, f"deploy {deploy}: version {found!r} is served, not {version!r}")
        said = server.said()
        verdict.check(said.count("exit status: 5") == DEPLOYS[short] // 3, "a broken version is not told with its exit status")
        verdict.check(wait_until(lambda: len(server.below()) == COPIES), f"{len(server.below())} copies are left")
    account(verdict, f"{DEPLOYS[short]} deploys", server, asked)


def inherited_socket_deployed(verdict: Verdict, folder: pathlib.Path, short: bool) -> None:
    with go_inherits(folder) as server:
        with load(server) as asked:
            for _ in range(DEPLOYS[short] // 2):
                before = set(server.below())
                os.kill(server.pid, signal.SIGHUP)
                verdict.check(wait_until(lambda: not before & set(server.below())), "old copies do not leave")
    account(verdict, f"{DEPLOYS[short] // 2} deploys of copies with one socket", server, asked)


def programs_that_do_not_start(verdict: Verdict, folder: pathlib.Path, short: bool) -> None:
    cases = {
        "is not there": (["/no/such/program"], "/no/such/program: No such file"),
        "exits at once": (["sh", "-c", "echo no database >&2; exit 7"], "no database"),
        "never listens": (["sleep", "60"], "accepts no connections on 127.0.0.1:"),
    }
    for name, (command, expected) in cases.items():
        words = [program("serow"), "app", "--listen", "127.0.0.1:0", "--start-timeout", "1s", "--", *command]
        done = subprocess.run(words, capture_output=True, text=True, timeout=20)
        verdict.check(done.returncode == 1 and expected in done.stderr, f"a program that {name}: {done.returncode}, {done.stderr!r}")


def nothing_outlives_serow(verdict: Verdict, folder: pathlib.Path, short: bool) -> None:
    with express(folder) as server:
        below = server.below()
        kill(server.pid)
        verdict.check(len(below) == COPIES and wait_until(lambda: not any(map(is_alive, below))), "copies outlive a killed Serow")


SCENES = (programs_answer, other_protocols_and_streams, copies_are_killed, deployed, inherited_socket_deployed,
          programs_that_do_not_start, nothing_outlives_serow)
