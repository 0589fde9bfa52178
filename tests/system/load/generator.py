"""`serow bench` and wrk as processes: run to their end or interrupted, and what they said."""

from __future__ import annotations

import dataclasses
import json
import os
import shutil
import signal
import subprocess
import time

from ..server import program

# The longest of a test; one that hangs is ended, and told by its exit code.
PATIENCE = 120.0
HANGS = -9


class Missing(Exception):
    """wrk is not installed."""


@dataclasses.dataclass
class Outcome:
    """The output of a run, and how it ended."""

    command: str
    code: int
    output: str
    said: str
    seconds: float

    @property
    def results(self) -> dict:
        """Of a run with --json."""
        try:
            return json.loads(self.output)
        except ValueError as error:
            raise AssertionError(f"{self.command} ended with {self.code} and printed no JSON ({error}): "
                                 f"{self.output[-200:]!r} {self.said[-300:]!r}") from None

    @property
    def requests(self) -> int:
        return self.results["summary"]["requests"]

    @property
    def errors(self) -> dict[str, int]:
        """By kind, those that there were."""
        return {kind: count for kind, count in self.results["errors"].items() if count}

    @property
    def unanswered(self) -> int:
        return sum(count for kind, count in self.errors.items() if kind != "status")

    @property
    def line(self) -> str:
        """The message on standard error; the last line, if there are several."""
        return self.said.strip().rpartition("\n")[2]


class Running:
    """A generator under way."""

    def __init__(self, command: list, *, stdout: int | None = None, before=None) -> None:
        self.command = [str(word) for word in command]
        self.began = time.monotonic()
        self.process = subprocess.Popen(self.command, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                                        stdout=subprocess.PIPE if stdout is None else stdout, preexec_fn=before)

    def interrupt(self) -> None:
        self.process.send_signal(signal.SIGINT)

    def finish(self, patience: float = PATIENCE) -> Outcome:
        try:
            output, said = self.process.communicate(timeout=patience)
        except subprocess.TimeoutExpired:
            self.process.kill()
            output, said = self.process.communicate()
        seconds = time.monotonic() - self.began
        return Outcome(" ".join(self.command[1:]), self.process.returncode, output or "", said, seconds)


def start(*options, **rest) -> Running:
    return Running([program("serow"), "bench", *options], **rest)


def bench(*options, patience: float = PATIENCE, **rest) -> Outcome:
    return start(*options, **rest).finish(patience)


def bench_json(*options, patience: float = PATIENCE) -> Outcome:
    return bench("--json", *options, patience=patience)


def start_wrk(*options) -> Running:
    path = shutil.which("wrk", path=os.environ.get("PATH", ""))
    if path is None:
        raise Missing("wrk is missing; run: tests/install")
    return Running([path, *options])


def wrk(*options) -> Outcome:
    return start_wrk(*options).finish()
