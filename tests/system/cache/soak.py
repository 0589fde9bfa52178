"""A cache of 64 MB for 1 GB of URLs that change all the time: what clients receive, and what the server takes."""

from __future__ import annotations

import dataclasses
import json
import multiprocessing
import os
import pathlib
import queue
import statistics
import subprocess
import time

from ..polling import wait_until
from ..resident import without_huge_pages
from ..server import Broken, Server, free_port, program
from ..verdict import Verdict
from . import soak_client, soak_origin
from .soak_client import Report
from .soak_resources import MEGABYTE

ORIGINS, CLIENTS = 2, 3
MEMORY = 64 * MEGABYTE
# Half as much for responses that are arriving; besides, the program, what waits to be written to the folder, and what
# the allocator keeps.
MAX_RESIDENT = MEMORY + MEMORY // 2 + 72 * MEGABYTE
# Part by which it may grow from the middle to the end.
GROWTH = 0.05
# In shorter runs, the cache is still filling in the middle.
STEADY_AFTER = 300.0
# A file may exceed the limit until the thread that writes has made room.
DIR_SLACK = 0.02
# While one look counts the files, some are removed and others are written: it is too much only if several looks say so.
DIR_LOOKS = 4
WARM_UP = 4.0
SETTLE = 10.0
# Connections to the origin that are idle when it was warm may be others in the end.
SPARE_DESCRIPTORS = 4
# Results of the cache for requests.
RESULTS = ("hit", "stale", "collapsed", "revalidated", "miss")
PROCESSES = multiprocessing.get_context("fork")


@dataclasses.dataclass
class Sample:
    resident: int
    descriptors: int


class Soak:
    def __init__(self, folder: pathlib.Path, seconds: float, dir_size: int, verdict: Verdict) -> None:
        self.folder, self.seconds, self.dir_size, self.verdict = folder, seconds, dir_size, verdict
        self.cache, self.admin = folder / "cache", folder / "admin"
        self.samples: list[Sample] = []
        self.largest_dir = 0

    def run(self) -> None:
        ports = [free_port() for _ in range(ORIGINS)]
        origins = [PROCESSES.Process(target=soak_origin.run, args=(port,), daemon=True) for port in ports]
        for origin in origins:
            origin.start()
        try:
            port = free_port()
            with Server(self.command(ports, port), port, before=without_huge_pages) as server:
                self.measure(server)
        finally:
            for origin in origins:
                origin.kill()
                origin.join()

    def command(self, origins: list[int], port: int) -> list:
        # Bodies that are cut off must not eject an origin, and no response hides behind a second attempt.
        return [program("serow"), "proxy", *(f"127.0.0.1:{origin}" for origin in origins),
                "--listen", f"127.0.0.1:{port}", "--admin", f"unix:{self.admin}", "--cache", str(MEMORY),
                "--cache-dir", self.cache, "--cache-dir-size", str(self.dir_size),
                "--keep-idle-timeout", "1s", "--max-failures", "0", "--tries", "1"]

    def measure(self, server: Server) -> None:
        verdict = self.verdict
        if not wait_until(self.admin.exists):
            raise Broken("the proxy has no admin socket")
        self.judge_responses(self.load(server, WARM_UP))
        before = settled(server)
        self.samples.clear()
        report = self.load(server, self.seconds)
        self.judge_responses(report)
        self.say_responses(report)
        self.say_counters()
        self.judge_descriptors(server, before)
        self.judge_memory(server)
        self.judge_folder()
        verdict.check(not server.panics(), f"the proxy: {server.said()[-500:]}")

    def load(self, server: Server, seconds: float) -> Report:
        """The reports of all clients for so many seconds."""
        until = time.monotonic() + seconds
        results = PROCESSES.Queue()
        arguments = [(server.port, str(self.admin), number, until, results) for number in range(CLIENTS)]
        clients = [PROCESSES.Process(target=soak_client.run, args=each, daemon=True) for each in arguments]
        for client in clients:
            client.start()
        self.watch(server, until)
        merged = Report()
        for _ in clients:
            try:
                report = results.get(timeout=60)
            except queue.Empty:
                raise Broken("a process of clients has not ended") from None
            merged.counts += report.counts
            merged.misses += report.misses
            merged.latest = max(merged.latest, report.latest)
        for client in clients:
            client.join()
        return merged

    def watch(self, server: Server, until: float) -> None:
        looked = time.monotonic()
        while time.monotonic() < until:
            if not server.is_running():
                raise Broken(f"the proxy ended: {server.said()[-500:]}")
            self.samples.append(Sample(server.memory(), server.descriptors()))
            if time.monotonic() - looked > 5:
                self.largest_dir, looked = max(self.largest_dir, self.folder_size()), time.monotonic()
            time.sleep(0.5)

    def folder_size(self) -> int:
        least, looks = size_of(self.cache), 1
        while least > self.dir_size and looks < DIR_LOOKS:
            least, looks = min(least, size_of(self.cache)), looks + 1
        return least

    def judge_responses(self, report: Report) -> None:
        counts, verdict = report.counts, self.verdict
        for miss in report.misses:
            verdict.check(False, miss)
        verdict.check(counts["wrong"] == len(report.misses), f"{counts['wrong']} wrong responses in all")

    def say_responses(self, report: Report) -> None:
        counts, verdict = report.counts, self.verdict
        # Without one of these, the test has not seen what it is about.
        for seen in (*RESULTS, "206", "304", "cut", "left", "large", "purges"):
            verdict.check(counts[seen] > 0, f"no request is counted as: {seen}")
        verdict.figure(f"{counts['requests']} requests, {counts['whole']} whole responses of "
                       f"{counts['bytes'] / 1e9:.2f} GB: {counts['wrong']} wrong, {counts['cut']} cut off, "
                       f"{counts['left']} clients left")
        answers = max(sum(counts[result] for result in RESULTS), 1)
        verdict.figure(", ".join(f"{100 * counts[result] / answers:.1f} % {result}" for result in RESULTS))
        verdict.figure(f"{counts['206']} parts, {counts['304']} of 304, {counts['large']} large, "
                       f"{counts['purges']} purges; the latest version {report.latest:+.2f} s after its lifetime")

    def say_counters(self) -> None:
        """Those of the server, beside what the clients have counted."""
        command = [program("serow"), "status", "--admin", f"unix:{self.admin}", "--json"]
        status = subprocess.run(command, capture_output=True, text=True, timeout=10, check=True).stdout
        self.verdict.say(f"the server counts: {json.loads(status)['cache']}")

    def judge_descriptors(self, server: Server, before: int) -> None:
        has_settled = server.settles_at(before + SPARE_DESCRIPTORS, SETTLE)
        most, end = max(sample.descriptors for sample in self.samples), server.descriptors()
        self.verdict.check(has_settled, f"{end} descriptors in the end; {before} when it was warm")
        self.verdict.figure(f"descriptors: {before} when warm, {most} at most, {end} in the end")

    def judge_memory(self, server: Server) -> None:
        verdict, sizes = self.verdict, [sample.resident / 1e6 for sample in self.samples]
        most, bar = max(sizes), MAX_RESIDENT / 1e6
        verdict.check(most <= bar, f"{most:.0f} MB resident; the bar is {bar:.0f} MB")
        fifth = max(len(sizes) // 5, 1)
        middle, end = statistics.median(sizes[2 * fifth:3 * fifth]), statistics.median(sizes[-fifth:])
        verdict.check(self.seconds < STEADY_AFTER or end <= middle * (1 + GROWTH),
                      f"{middle:.0f} MB resident in the middle, {end:.0f} MB at the end")
        verdict.figure(f"resident: {most:.0f} MB at most, {middle:.0f} MB in the middle, {end:.0f} MB at the end, "
                       f"{server.memory() / 1e6:.0f} MB without clients")

    def judge_folder(self) -> None:
        verdict, size, limit = self.verdict, self.folder_size(), self.dir_size * (1 + DIR_SLACK)
        most = max(size, self.largest_dir)
        verdict.check(most <= limit, f"the folder takes {most / 1e6:.0f} MB; the bar is {limit / 1e6:.0f} MB")
        # Responses that are validated in the background arrive although the clients have left.
        wait_until(lambda: not os.listdir(self.cache / "new"), SETTLE)
        unfinished = os.listdir(self.cache / "new")
        verdict.check(not unfinished, f"{len(unfinished)} unfinished files in the end: {unfinished[:5]}")
        verdict.figure(f"folder: {most / 1e6:.0f} MB at most, {size / 1e6:.0f} MB in the end")


def settled(server: Server) -> int:
    """The descriptors of a server that has nothing to do."""
    least, deadline = server.descriptors(), time.monotonic() + SETTLE / 2
    while time.monotonic() < deadline:
        time.sleep(0.1)
        least = min(least, server.descriptors())
    return least


def size_of(folder: pathlib.Path) -> int:
    """Bytes that the files take on the disk; a file that is renamed meanwhile counts once."""
    sizes = {}
    for shard in os.scandir(folder):
        if shard.is_dir():
            for file in os.scandir(shard):
                try:
                    status = file.stat()
                except FileNotFoundError:
                    continue
                sizes[status.st_ino] = status.st_blocks * 512
    return sum(sizes.values())
