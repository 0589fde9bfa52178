"""A file: moved away under load, truncated under load, on a full disk, and standard output."""

from __future__ import annotations

import os
import pathlib
import subprocess
import threading
import time

from ..verdict import Verdict
from .logged import Logged, broken, lines_of, until

RATE = "20k"


def moved(verdict: Verdict, folder: pathlib.Path, short: bool) -> None:
    """Moved away and opened anew on SIGUSR1, again and again under load: each line is in one file, and whole."""
    log, seconds = folder / "access.log", 1 if short else 10
    with Logged.serving(folder, str(log)) as server:
        load = threading.Thread(target=server.load, args=("-R", RATE, "-d", f"{seconds}s", "-c", "16"))
        load.start()
        moves = 0
        while load.is_alive():
            time.sleep(0.15)
            os.rename(log, folder / f"old.{moves}")
            moves += 1
            server.reopen()
            verdict.check(until(log.exists, bool), f"moved: no new file after move {moves}")
        load.join()
        server.settled()
        server.stop()
        lines = [line for path in (log, *folder.glob("old.*")) for line in lines_of(path)]
    verdict.check(len(lines) == server.asked and not broken(lines),
                  f"moved: {len(lines)} lines of {server.asked} requests, {len(broken(lines))} broken: {broken(lines)[:2]}")
    verdict.figure(f"moved: {server.asked} requests, {moves} times moved away: {len(lines)} lines")


def deleted(verdict: Verdict, folder: pathlib.Path, short: bool) -> None:
    """Deleted, and where it cannot be opened anew: then the old file goes on."""
    log = folder / "access.log"
    with Logged.serving(folder, str(log)) as server:
        server.ask(3)
        lines_of(log, 3)
        log.unlink()
        server.reopen()
        until(log.exists, bool)
        server.ask(2)
        verdict.check(len(lines_of(log, 2)) == 2, f"deleted: {lines_of(log)}")
        log.rename(folder / "old")
        log.mkdir()
        server.reopen()
        until(server.said, lambda said: "anew" in said)
        server.ask(4)
        verdict.check(len(lines_of(folder / "old", 6)) == 6, f"deleted: {lines_of(folder / 'old')}")


def full(verdict: Verdict, folder: pathlib.Path, short: bool) -> None:
    """A disk that is full, and emptied whenever it is: not a line is lost, and none is torn."""
    small = folder / "small"
    small.mkdir()
    if os.geteuid() != 0 or subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", small],
                                           stderr=subprocess.DEVNULL).returncode != 0:
        return verdict.figure("full disk: NOT RUN: it takes the right to mount")
    log, seen = small / "access.log", ""
    try:
        with Logged.serving(folder, str(log)) as server:
            server.ask(1500 if short else 15_000)
            while seen.count("\n") < server.asked:
                size = log.stat().st_size
                time.sleep(0.15)
                if log.stat().st_size == size:
                    verdict.check(size > 0, f"full disk: nothing comes after {seen.count(chr(10))} lines")
                    if size == 0:
                        break
                    seen += log.read_text()
                    os.truncate(log, 0)
            counts = server.settled()
            said = [line for line in server.said().splitlines() if "access log" in line]
        lines = seen.splitlines()
        verdict.check(len(lines) == server.asked and not broken(lines) and counts == (server.asked, 0),
                      f"full disk: {len(lines)} lines of {server.asked}, counted {counts}, broken {broken(lines)[:2]}")
        verdict.check("No space left" in said[0] and "can be written again" in said[-1], f"full disk: {said}")
        verdict.figure(f"full disk: {len(lines)} lines of {server.asked} through a disk of 64 KB")
    finally:
        subprocess.run(["umount", small], check=False)


def full_for_ever(verdict: Verdict, folder: pathlib.Path, short: bool) -> None:
    """The disk stays full: nobody waits for it, not even the end; the losses are told."""
    with Logged.serving(folder, "/dev/full") as server:
        server.ask(100)
        seconds = server.stop()
        said = server.said()
    verdict.compare_time(seconds < 1, f"full for ever: {seconds:.1f} s to the end")
    verdict.check("lines=100" in said, f"full for ever: {said}")


def closed_output(verdict: Verdict, folder: pathlib.Path, short: bool) -> None:
    """Standard output is closed, or its reader leaves: requests are served, and lines are counted as lost."""
    with Logged.serving(folder, "-", before=lambda: os.close(1)) as server:
        server.ask(100)
        verdict.check(sum(server.settled()) == 100, f"closed output: {server.counts()}")
        server.stop()
    read, write = os.pipe()
    with Logged.serving(folder, "-", stdout=write) as server:
        os.close(write)
        server.ask(100)
        verdict.check(server.settled() == (100, 0), f"read output: {server.counts()}")
        os.close(read)
        server.ask(100)
        verdict.check(server.settled() == (100, 100), f"output without a reader: {server.counts()}")
        verdict.check("is closed at its other end" in server.said(), f"output without a reader: {server.said()}")
        server.stop()


CASES = (moved, deleted, full, full_for_ever, closed_output)
