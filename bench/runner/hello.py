"""A hello world by `serow app` and by a peer in turns, with one worker each: processor time for each request."""

from __future__ import annotations

import pathlib
import statistics
import subprocess
import tempfile
from dataclasses import dataclass

from . import browser, build, machine, matrix, meter, stacks, tables, tree
from .process import Broken

REQUESTS, WARM_UP = 20_000, 2_000
COOKIE = "session=0123456789abcdef0123456789abcdef"
# By the peer's name: the worker alone, and the whole stack.
BARS = {"Unicorn": (0.3, 0.4), "Puma": (None, 0.35), "Starman": (0.22, 0.3), "gunicorn": (0.12, 0.15), "Granian (WSGI)": (0.9, 0.6),
        "uvicorn": (0.8, None), "Granian (ASGI)": (1.0, 0.6), "Warp": (None, None)}


@dataclass(frozen=True)
class Bench:
    program: pathlib.Path
    scratch: pathlib.Path
    is_stack: bool
    rounds: int
    requests: int
    cores: tuple

    def measure(self, stack: tree.Stack, load: stacks.Load) -> float:
        """Nanoseconds of processor time a request."""
        self.load(stack, load, WARM_UP)
        pids = stack.all() if self.is_stack else stack.workers()
        before = meter.on_processor(pids)
        self.load(stack, load, self.requests)
        if (stack.all() if self.is_stack else stack.workers()) != pids:
            raise Broken("other processes than before answer")
        return (meter.on_processor(pids) - before) / self.requests

    def load(self, stack: tree.Stack, load: stacks.Load, requests: int) -> None:
        command = [*machine.pinned(self.cores[0]), self.program, "bench", "-t1", f"-c{load.connections}", "-n", str(requests),
                   "--fail-on-error", "-P", stack.path, *(["--no-keepalive"] if load.is_anew else []), *browser.header(COOKIE),
                   "http://localhost/"]
        done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
        if done.returncode != 0:
            raise Broken((done.stderr or done.stdout).strip()[-300:])

    def of_serow(self, interface: str, load: stacks.Load) -> float:
        with tempfile.TemporaryDirectory(dir=self.scratch) as folder:
            with stacks.serow(self.program, interface, pathlib.Path(folder), self.cores) as stack:
                return self.measure(stack, load)

    def of_peer(self, kind: stacks.Kind, load: stacks.Load) -> float:
        with tempfile.TemporaryDirectory(dir=self.scratch) as folder:
            with stacks.peer(kind, pathlib.Path(folder), self.cores, self.is_stack) as stack:
                return self.measure(stack, load)


def row(bench: Bench, kind: stacks.Kind, load: stacks.Load) -> list[str]:
    """A peer and Serow in turns, under the same load."""
    ours, theirs = [], []
    for number in range(bench.rounds):
        turns = [lambda: ours.append(bench.of_serow(kind.interface, load)), lambda: theirs.append(bench.of_peer(kind, load))]
        for turn in turns[::-1 if number % 2 else 1]:
            turn()
    ratios = [mine / other for mine, other in zip(ours, theirs)]
    ratio = statistics.median(ratios)
    bar = BARS[kind.name][bench.is_stack]
    verdict = "" if bar is None else "met" if ratio <= bar else "**missed**"
    name = f"{kind.name}, {load.title}" if load.title else kind.name
    return [f"nginx + {name}" if bench.is_stack else name, f"{statistics.median(theirs) / 1000:.1f}",
            f"{statistics.median(ours) / 1000:.1f}", f"{ratio:.2f} ({min(ratios):.2f}–{max(ratios):.2f})",
            "–" if bar is None else f"≤ {bar:.2f}", verdict]


def table(bench: Bench, only: str) -> str:
    """Of the peers whose name contains `only`; those that fail are said."""
    rows = []
    for kind in stacks.KINDS:
        if only.lower() not in kind.name.lower():
            continue
        for load in [stacks.Load()] if bench.is_stack else kind.loads:
            try:
                rows.append(row(bench, kind, load))
                matrix.say(" | ".join(rows[-1]))
            except (Broken, build.Failed, OSError, subprocess.SubprocessError) as error:
                matrix.say(f"{kind.name}: {error}")
    return tables.table(["peer", "peer, µs", "Serow, µs", "Serow : peer", "target", ""], rows)
