"""The log cannot be written: a full disk, nobody who reads it, nothing open at all."""

from __future__ import annotations

import os
import pathlib
import signal
import subprocess
import time

from .. import wire
from ..probe import Probe
from ..server import Server
from ..verdict import Verdict

REQUESTS = 2000


def site(folder: pathlib.Path) -> pathlib.Path:
    served = folder / "site"
    served.mkdir()
    (served / "index.html").write_text("<p>Hello!</p>\n")
    return served


def serves_well(server: Server, name: str, verdict: Verdict, seconds: float) -> None:
    with Probe(server.address, "/") as probe:
        with wire.Connection(server.address) as connection:
            for _ in range(REQUESTS):
                assert connection.ask("/").status == 200
        time.sleep(seconds)
    verdict.say(f"{name}: {probe.latencies}")
    probe.latencies.judge(verdict, name)
    verdict.check(server.is_running(), f"{name}: the server ended")


def idle_processor(server: Server, name: str, verdict: Verdict) -> None:
    used = server.processor_seconds()
    time.sleep(1)
    used = server.processor_seconds() - used
    verdict.compare_time(used < 0.1, f"{name}: {used:.2f} s of processor time in an idle second")


def full_disk(verdict: Verdict, folder: pathlib.Path, short: bool) -> None:
    """The disk of the access log is full: requests are served, a warning is given, and not once for each line."""
    with Server.files(site(folder), "--access-log", "/dev/full") as server:
        serves_well(server, "full disk", verdict, 0.2)
        idle_processor(server, "full disk", verdict)
        lines = server.said().splitlines()[1:]
        verdict.check(1 <= len(lines) <= REQUESTS // 10, f"full disk: {len(lines)} lines on standard error: {lines[:2]}")
        verdict.say(f"full disk: {len(lines)} warnings, the first: {lines[0] if lines else None}")


def full_then_free(verdict: Verdict, folder: pathlib.Path, short: bool) -> None:
    """A disk that was full has room again: the lines that waited follow, and those of later requests."""
    small = folder / "small"
    small.mkdir()
    if os.geteuid() != 0 or subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", small],
                                           stderr=subprocess.DEVNULL).returncode != 0:
        verdict.say("full, then free: left out, for it takes the right to mount")
        return
    try:
        served = site(folder)
        log = small / "log"
        with Server.files(served, "--access-log", log) as server:
            serves_well(server, "full, then free", verdict, 0.3)
            verdict.check(log.stat().st_size > 30_000, "full, then free: the log is short")
            for _ in range(5):
                assert wire.ask_once(server.address, "/").status == 200
            text = ""
            while '"GET / HTTP/1.1" 200' in (more := log.read_text(errors="replace")):
                text += more
                os.truncate(log, 0)
                time.sleep(0.5)
            lines = text.splitlines()
            broken = [line for line in lines if not line.endswith('"') or '"GET / HTTP/1.1" 200' not in line]
            verdict.check(len(lines) > REQUESTS and not broken, f"full, then free: {len(lines)} lines, broken: {broken[:2]}")
            verdict.say(f"full, then free: {len(lines)} lines, of which {text[:65536].count(chr(10))} found room at once")
    finally:
        subprocess.run(["umount", small], check=False)


def unread_output(verdict: Verdict, folder: pathlib.Path, short: bool) -> None:
    """Standard output is a pipe whose reader does not read, and then one whose reader is gone."""
    read, write = os.pipe()
    with Server.files(site(folder), "--access-log", "-", stdout=write) as server:
        os.close(write)
        serves_well(server, "unread pipe", verdict, 0.2)
        os.close(read)
        serves_well(server, "broken pipe", verdict, 0.2)
        idle_processor(server, "broken pipe", verdict)


def closed(verdict: Verdict, folder: pathlib.Path, short: bool) -> None:
    """Standard output and error are closed: the server serves, and files that it opens do not get their descriptors."""
    def close_both() -> None:
        for number in (0, 1, 2):
            os.close(number)

    served = site(folder)
    with Server.files(served, "--access-log", "-", "--log-level", "trace", before=close_both) as server:
        serves_well(server, "closed output", verdict, 0.2)
        places = {number: os.readlink(f"/proc/{server.pid}/fd/{number}") for number in (0, 1, 2)
                  if os.path.exists(f"/proc/{server.pid}/fd/{number}")}
        verdict.check(all("socket" not in place and str(served) not in place for place in places.values()),
                      f"closed output: standard descriptors are {places}")
        server.process.send_signal(signal.SIGTERM)
        try:
            code = server.process.wait(30)
        except subprocess.TimeoutExpired:
            code = None
        verdict.check(code == 0, f"closed output: ended with {code}")


CASES = (full_disk, full_then_free, unread_output, closed)
