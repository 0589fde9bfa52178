"""Resources that a server used between two moments: processor time always, instructions and cycles where perf counts
them."""

from __future__ import annotations

import functools
import os
import pathlib
import subprocess
from dataclasses import dataclass

EVENTS = ("instructions:u", "instructions:k", "cycles")


@dataclass(frozen=True)
class Usage:
    # Nanoseconds on a processor.
    cpu: float
    # The part of it in the program itself, by the kernel's clock ticks: right for a run of seconds.
    user_share: float
    # By the names of EVENTS; empty where perf counts nothing.
    events: dict[str, float]


def on_processor(pids: list[int]) -> int:
    """Nanoseconds that all threads have spent on a processor, from the scheduler's own clock."""
    total = 0
    for pid in pids:
        for task in tasks(pid):
            try:
                total += int(pathlib.Path(f"/proc/{pid}/task/{task}/schedstat").read_text().split()[0])
            except (OSError, IndexError):
                continue
    return total


def tasks(pid: int) -> list[str]:
    try:
        return os.listdir(f"/proc/{pid}/task")
    except OSError:
        return []


def ticks(pids: list[int]) -> tuple[int, int]:
    """User and system time in clock ticks."""
    user = system = 0
    for pid in pids:
        try:
            fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        user, system = user + int(fields[11]), system + int(fields[12])
    return user, system


def memory(pids: list[int]) -> tuple[int, int]:
    """Resident and proportional bytes."""
    resident = proportional = 0
    for pid in pids:
        for line in pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Rss:"):
                resident += int(line.split()[1]) * 1024
            elif line.startswith("Pss:"):
                proportional += int(line.split()[1]) * 1024
    return resident, proportional


@functools.cache
def perf_counts() -> bool:
    """Whether this machine's processor counts instructions for us; in most virtual machines it does not."""
    try:
        told = subprocess.run(["perf", "stat", "-x", ",", "-e", ",".join(EVENTS), "true"],
                              capture_output=True, text=True, timeout=20)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return told.returncode == 0 and len(parse_perf(told.stderr, EVENTS)) == len(EVENTS)


def parse_perf(text: str, events: tuple[str, ...]) -> dict[str, float]:
    """The counters of `perf stat -x ,`; what was not counted is left out."""
    found = {}
    for line in text.splitlines():
        fields = line.split(",")
        if len(fields) > 2 and fields[2] in events:
            try:
                found[fields[2]] = float(fields[0])
            except ValueError:
                continue
    return found


class Perf:
    """`perf stat` attached to running processes, counting between begin and end to the request."""

    def __init__(self, pids: list[int], events: tuple[str, ...] = EVENTS):
        self.events = events
        to_perf, self.control = os.pipe()
        self.answers, from_perf = os.pipe()
        try:
            self.process = subprocess.Popen(
                ["perf", "stat", "-x", ",", "-D", "-1", "--control", f"fd:{to_perf},{from_perf}",
                 "-e", ",".join(events), "-p", ",".join(map(str, pids))],
                pass_fds=(to_perf, from_perf), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        finally:
            os.close(to_perf)
            os.close(from_perf)

    def tell(self, word: str) -> None:
        os.write(self.control, f"{word}\n".encode())
        # perf answers "ack" once it has done it; an end of file says that it is gone.
        os.read(self.answers, 16)

    def end(self) -> dict[str, float]:
        self.tell("disable")
        self.process.send_signal(2)
        try:
            told = self.process.communicate(timeout=10)[1]
        finally:
            self.close()
        return parse_perf(told, self.events)

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        for end in (self.control, self.answers):
            try:
                os.close(end)
            except OSError:
                pass


class Meter:
    """Begin and end enclose the load; a meter that was begun is always ended or closed."""

    def __init__(self, pids: list[int]):
        self.pids = pids
        self.perf: Perf | None = None

    def begin(self) -> None:
        if perf_counts():
            self.perf = Perf(self.pids)
            self.perf.tell("enable")
        self.ticks, self.cpu = ticks(self.pids), on_processor(self.pids)

    def end(self) -> Usage:
        cpu = on_processor(self.pids) - self.cpu
        user, system = (after - before for after, before in zip(ticks(self.pids), self.ticks))
        events = self.perf.end() if self.perf else {}
        return Usage(cpu, user / (user + system) if user + system else 0.0, events)

    def close(self) -> None:
        if self.perf:
            self.perf.close()


class ProcessorTime(Meter):
    """Without perf, which takes a part of a second to begin and to end."""

    def begin(self) -> None:
        self.cpu = on_processor(self.pids)

    def end(self) -> Usage:
        return Usage(on_processor(self.pids) - self.cpu, 0.0, {})
