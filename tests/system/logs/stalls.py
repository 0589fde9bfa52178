"""A consumer that stands still (SIGSTOP): no request is slower for it, what is lost is counted, and nothing hangs."""

from __future__ import annotations

import contextlib
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import time

from ..verdict import Verdict
from .logged import Logged, lines_of, together, until

RATE = 5000
# 16 MiB of lines, and what the allocator keeps besides.
MOST_MEMORY = 48 << 20
# How much slower a request may be.
BAR = 2.0
# Long lines, so that what waits for the consumer is full within a second.
LONG = "x" * 4000
FORMAT = '$remote_addr "$request" $status $http_x_long end'
LONG_FIELD = ("-H", f"X-Long: {LONG}")
WHOLE = re.compile(rf'127\.0\.0\.1 "GET / HTTP/1.1" 200 {LONG} end')


class Stopped:
    """A process, and all of its group, that stands still while the `with` block runs."""

    def __init__(self, group: int) -> None:
        self.group = group

    def __enter__(self) -> "Stopped":
        os.killpg(self.group, signal.SIGSTOP)
        # On another processor it may go on for a moment, and take what comes then.
        stat = pathlib.Path(f"/proc/{self.group}/stat")
        until(lambda: stat.read_text().rpartition(")")[2].split()[0], lambda state: state == "T")
        return self

    def __exit__(self, *_) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.group, signal.SIGCONT)


def command(verdict: Verdict, folder: pathlib.Path, short: bool) -> None:
    """The bar: requests of a load, before the command is stopped and meanwhile."""
    log, pid = folder / "access.log", folder / "pid"
    rounds, time_each = (3, "500ms") if short else (6, "4s")
    planned = ("-R", str(RATE), "-d", time_each, "-c", "16", *LONG_FIELD)
    with Logged.serving(folder, f"| echo $$ >{pid}; exec cat >>{log}", "--access-log-format", FORMAT) as server:
        server.load("-n", "1000", "-c", "16", *LONG_FIELD)
        server.settled()
        usual = server.memory()
        group, normal, stopped = int(pid.read_text()), [], []
        for _ in range(rounds):
            normal.append(server.load(*planned).results["latency"])
            with Stopped(group):
                lost = server.counts()[1]
                fill(server)
                verdict.check(server.counts()[1] > lost, "stopped command: nothing is lost")
                stopped.append(server.load(*planned).results["latency"])
                memory = server.memory() - usual
            server.settled(30)
        written, lost = server.counts()
        said = server.said()
        server.stop()
        lines = lines_of(log)
    damaged = [line for line in lines if not WHOLE.fullmatch(line)]
    verdict.check(written + lost == server.asked and len(lines) == written and not damaged,
                  f"stopped command: {len(lines)} lines and {lost} lost of {server.asked} requests; counted {written}; "
                  f"{len(damaged)} damaged: {[line[:60] for line in damaged[:2]]}")
    verdict.check(said.count("lines of the access log are lost") == rounds and said.count("has caught up") == rounds
                  and sum(map(int, re.findall(r"lines=(\d+)", said))) == lost, f"stopped command: {said[-600:]}")
    verdict.check(memory < MOST_MEMORY, f"stopped command: {memory >> 20} MB of memory more")
    verdict.figure(f"stopped command: {server.asked} requests = {len(lines)} lines + {lost} lost; {memory >> 20} MB of memory more")
    compare(verdict, normal, stopped)


def fill(server: Logged) -> None:
    """Asks for more than can wait."""
    server.load("-n", "6000", "-c", "16", *LONG_FIELD)
    until(server.counts, lambda counts: counts[1] > 0)


def compare(verdict: Verdict, normal: list[dict], stopped: list[dict]) -> None:
    """p99 and the longest, each of the quietest round: what else the machine does makes rounds slower, and never faster;
    a server that waits for its log does it in every round, many times."""
    for name, shown in (("p99_us", "p99"), ("max_us", "p100")):
        before, during = (min(run[name] for run in runs) / 1000 for runs in (normal, stopped))
        verdict.figure(f"stopped command: {shown} {before:.2f} ms before, {during:.2f} ms while it stood still")
        verdict.compare_time(during <= BAR * before, f"stopped command: {shown} {during:.2f} ms, {before:.2f} ms before")


def both_outputs(verdict: Verdict, folder: pathlib.Path, short: bool) -> None:
    """Access log and error log go to the same pipe, as in a container, and nobody reads it: requests are served."""
    read, write = os.pipe()
    with Logged.serving(folder, "-", "--access-log-format", FORMAT, stdout=write, stderr=write) as server:
        os.close(write)
        began = time.monotonic()
        fill(server)
        took = time.monotonic() - began
        verdict.check(server.counts()[1] > 0, f"one pipe for both: {server.counts()}")
        server.ask(100)
        seconds = server.stop()
    os.close(read)
    verdict.compare_time(took < 10 and seconds < 4, f"one pipe for both: {took:.1f} s to fill it, {seconds:.1f} s to the end")


def end_and_signals(verdict: Verdict, folder: pathlib.Path, short: bool) -> None:
    """While it stands still, SIGUSR1 does no harm and the server ends. The command ends with it: the system lets no process
    group stand still that nobody is left to wake (SIGHUP, setpgid(2))."""
    log, pid = folder / "access.log", folder / "pid"
    with Logged.serving(folder, f"| echo $$ >{pid}; exec cat >>{log}", "--access-log-format", FORMAT) as server:
        server.ask(1)
        lines_of(log, 1)
        with Stopped(int(pid.read_text())):
            server.ask(200, headers={"X-Long": LONG})
            server.reopen()
            time.sleep(0.2)
            server.ask(1)
            seconds = server.stop()
            said = server.said()
        status = pathlib.Path(f"/proc/{int(pid.read_text())}/status")
        gone = until(lambda: not status.exists() or "State:\tZ" in status.read_text(), bool)
        lines = lines_of(log)
    verdict.check(re.search("nobody reads the access log.*lines=", said) is not None, f"stopped at the end: {said[-200:]}")
    verdict.compare_time(seconds < 3, f"stopped at the end: {seconds:.1f} s")
    verdict.check(gone and len(lines) == 1, f"stopped at the end: gone: {gone}; {len(lines)} lines")
    verdict.figure(f"stopped at the end: the server ended after {seconds:.1f} s")


READER = """
import os, sys, time
with open(sys.argv[1], "rb") as pipe, open(sys.argv[2], "wb") as log:
    while data := os.read(pipe.fileno(), 65536):
        log.write(data)
        log.flush()
"""


def named_pipe(verdict: Verdict, folder: pathlib.Path, short: bool) -> None:
    """A named pipe whose reader comes late and stands still for a while, and a file in its place after SIGUSR1."""
    pipe, log = folder / "access.log", folder / "read"
    os.mkfifo(pipe)
    with Logged.serving(folder, str(pipe), "--access-log-format", FORMAT) as server:
        server.ask(100, headers={"X-Long": LONG})
        reader = subprocess.Popen([sys.executable, "-c", READER, pipe, log], start_new_session=True)
        try:
            verdict.check(len(lines_of(log, 100)) == 100, f"named pipe: {len(lines_of(log))} lines of 100")
            with Stopped(reader.pid):
                server.ask(6000, headers={"X-Long": LONG})
                lost = until(server.counts, lambda counts: counts[1] > 0)[1]
            written, lost = server.settled()
            found = lines_of(log, written)
            verdict.check(lost > 0 and written + lost == 6100 == server.asked and len(found) == written
                          and all(WHOLE.fullmatch(line) for line in found), f"named pipe: {len(found)} lines, {written} {lost}")
            # The reader stands still again, and a file comes in the place of the pipe: the rest is there, and whole.
            with Stopped(reader.pid):
                server.ask(1000, headers={"X-Long": LONG})
                pipe.rename(folder / "moved")
                server.reopen()
                written, lost = server.settled()
                moved = lines_of(pipe)
            read = until(lambda: [line for line in lines_of(log) if WHOLE.fullmatch(line)],
                         lambda read: len(read) + len(moved) >= written)
            verdict.check(written + lost == 7100 and len(read) + len(moved) == written and len(moved) > 900
                          and all(WHOLE.fullmatch(line) for line in moved),
                          f"named pipe: {len(read)} lines read, {len(moved)} in the file, {written} {lost}")
        finally:
            reader.kill()
            reader.wait()
    verdict.figure(f"named pipe: {written} lines and {lost} lost of 7100 requests")


def collector(verdict: Verdict, folder: pathlib.Path, short: bool) -> None:
    """A collector that takes nothing, over a socket of this machine and over TCP: the same."""
    for kind in ("tcp",) if short else ("tcp", "unix"):
        if kind == "unix":
            end = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
            end.bind(str(folder / "log"))
            address = f"unix:{folder}/log"
        else:
            end = socket.create_server(("127.0.0.1", 0))
            address = f"tcp://127.0.0.1:{end.getsockname()[1]}"
        with end, Logged.serving(folder, f"syslog:{address}", "--access-log-format", FORMAT) as server:
            began = time.monotonic()
            fill(server)
            took = time.monotonic() - began
            lost = server.counts()[1]
            seconds = server.stop()
        verdict.check(lost > 0, f"collector over {kind}: nothing is lost")
        verdict.compare_time(took < 10 and seconds < 3, f"collector over {kind}: {took:.1f} s to fill it, {seconds:.1f} s to the end")


CASES = (command, named_pipe, together(both_outputs, end_and_signals, collector))
