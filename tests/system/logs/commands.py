"""A command as the consumer: it has every line, also when it dies, and it ends when the server does."""

from __future__ import annotations

import os
import pathlib
import select
import signal
import time

from ..verdict import Verdict
from .logged import PATIENCE, Logged, broken, lines_of, together, until

# The shell's `read` takes a byte at a time, so that a line that it did not write is a line that it did not read.
MORTAL = "for i in 1 2 3 4 5 6 7 8 9 10; do read -r line || exit; echo \"$line\" >>{log}; done; exit 3"


def concatenated(verdict: Verdict, folder: pathlib.Path, short: bool) -> None:
    """All lines of a load, and whole, once the server has ended."""
    log, seconds = folder / "access.log", 1 if short else 5
    with Logged.serving(folder, f"| cat >>{log}") as server:
        server.load("-d", f"{seconds}s", "-c", "16")
        server.ask(10)
        counts = server.settled()
        server.stop()
        lines = lines_of(log)
    written, lost = counts
    verdict.check(written == len(lines) and written + lost == server.asked and not broken(lines),
                  f"cat: {len(lines)} lines, counted {counts}, of {server.asked} requests, broken {broken(lines)[:2]}")
    verdict.figure(f"cat: {len(lines)} lines of {server.asked} requests in {seconds} s, {lost} lost")


def mortal(verdict: Verdict, folder: pathlib.Path, short: bool) -> None:
    """It ends after ten lines, each time: the next one goes on where it stopped, and not a line is lost or twice there."""
    log, requests = folder / "access.log", 40 if short else 60
    with Logged.serving(folder, "| " + MORTAL.format(log=log)) as server:
        for number in range(requests):
            server.ask(target=f"/?{number}")
            time.sleep(0.05)
        found = lines_of(log, requests)
        said = server.said()
        server.stop()
    numbers = [int(line.partition("/?")[2].partition(" ")[0]) for line in lines_of(log)]
    # Those of two workers may change places within a tenth of a second.
    verdict.check(sorted(numbers) == list(range(requests)) and not broken(found),
                  f"a command that dies: {len(numbers)} lines of {requests}, {sorted(set(range(requests)) - set(numbers))[:9]} missing")
    verdict.check("its command ended (exit status: 3)" in said, f"a command that dies: {said[-300:]}")
    verdict.figure(f"a command that dies every ten lines: {len(numbers)} lines of {requests} requests, none twice")


def killed(verdict: Verdict, folder: pathlib.Path, short: bool) -> None:
    """Killed: the next one is there at once, and has all lines. (A command may read more until it dies: those are lost.)"""
    log, pid = folder / "access.log", folder / "pid"
    with Logged.serving(folder, f"| echo $$ >{pid}; exec cat >>{log}") as server:
        server.ask(10)
        lines_of(log, 10)
        kill_and_wait(int(pid.read_text()))
        began = time.monotonic()
        server.ask(1000)
        lines_of(log, 1010)
        took = time.monotonic() - began
        server.stop()
        lines = lines_of(log)
    verdict.check(len(lines) == 1010 and not broken(lines), f"killed: {len(lines)} lines of 1010")
    verdict.compare_time(took < 1, f"killed: the lines were there after {took:.1f} s")


def kill_and_wait(pid: int) -> None:
    """Kills a process of another parent, and waits until it has closed its descriptors. One that has the signal but not
    yet a processor still reads what is in its pipe."""
    process = os.pidfd_open(pid)
    try:
        signal.pidfd_send_signal(process, signal.SIGKILL)
        readable, _, _ = select.select([process], [], [], PATIENCE)
        assert readable, f"process {pid} lives after SIGKILL"
    finally:
        os.close(process)


def interrupted(verdict: Verdict, folder: pathlib.Path, short: bool) -> None:
    """Ctrl-C goes to the whole group of the terminal: the command is not among it, and has the last lines."""
    log = folder / "access.log"
    with Logged.serving(folder, f"| cat >>{log}") as server:
        server.ask(100)
        os.killpg(server.pid, signal.SIGINT)
        server.process.wait(30)
        lines = lines_of(log)
    verdict.check(len(lines) == 100, f"interrupted: {len(lines)} lines of 100")


def slow_to_end(verdict: Verdict, folder: pathlib.Path, short: bool) -> None:
    """It takes its time at the end: it is waited for for a moment, and not ended."""
    log = folder / "access.log"
    with Logged.serving(folder, f"| cat >>{log}; sleep 2; echo done >>{log}") as server:
        server.ask(5)
        lines_of(log, 5)
        seconds = server.stop()
    verdict.check(0.5 < seconds, f"slow to end: the server ended after {seconds:.1f} s")
    verdict.compare_time(seconds < 2.5, f"slow to end: the server ended after {seconds:.1f} s")
    verdict.check(until(lambda: lines_of(log)[-1], lambda line: line == "done") == "done", "slow to end: it was ended")


def hopeless(verdict: Verdict, folder: pathlib.Path, short: bool) -> None:
    """It cannot be started at all: requests are served, the log says so and not once for each, and the end is at once."""
    with Logged.serving(folder, "| /no/such/command") as server:
        server.ask(1000)
        time.sleep(0.3)
        used = server.processor_seconds()
        time.sleep(0.3)
        used = server.processor_seconds() - used
        seconds = server.stop()
        said = server.said().splitlines()
    warnings = [line for line in said if "WARN" in line]
    verdict.check(1 <= len(warnings) <= 100, f"hopeless: {len(warnings)} warnings of 1000 requests: {warnings[:2]}")
    verdict.compare_time(len(warnings) <= 10, f"hopeless: {len(warnings)} warnings")
    verdict.compare_time(seconds < 2.5 and used < 0.1, f"hopeless: {seconds:.1f} s to the end, {used:.2f} s of the processor")


CASES = (concatenated, killed, interrupted, together(mortal, slow_to_end, hopeless))
