"""Asks a server for something small all the while, from a process of its own, and says how long the answers took."""

from __future__ import annotations

import contextlib
import dataclasses
import multiprocessing
import os
import time
from collections.abc import Callable

from . import wire
from .verdict import Verdict

BAR = 0.050
_PAUSE = 0.004
# Each so manieth request comes through a new connection: accepting must not be late either.
_NEW_CONNECTION = 5
_TIMEOUT = 30.0


@dataclasses.dataclass
class Latencies:
    """The measurements of a probe, in seconds."""

    count: int = 0
    failures: list[str] = dataclasses.field(default_factory=list)
    longest: float = 0.0
    median: float = 0.0
    late: int = 0

    def __str__(self) -> str:
        return (f"{self.count} probes, median {self.median * 1000:.1f} ms, p100 {self.longest * 1000:.1f} ms")

    def judge(self, verdict: Verdict, name: str) -> None:
        """Checks that no probe failed, and that none was late, which is a comparison of times."""
        verdict.check(not self.failures, f"{name}: {len(self.failures)} probes failed: {self.failures[:3]}")
        verdict.compare_time(self.longest < BAR, f"{name}: a probe took {self.longest * 1000:.0f} ms, {self.late} of {self.count} "
                                                 f"were late")


@dataclasses.dataclass
class Probe:
    """Runs while the `with` block does; then `latencies` has its measurements."""

    address: tuple[str, int]
    target: str
    latencies: Latencies = dataclasses.field(default_factory=Latencies)
    # The type of its connections: HTTP/1.1, or any type with the same `ask`.
    connect: Callable[..., wire.Connection] = wire.Connection

    def __enter__(self) -> "Probe":
        context = multiprocessing.get_context("fork")
        self._stop, self._found = context.Event(), context.Queue()
        self._process = context.Process(target=self._run, daemon=True)
        self._process.start()
        return self

    def __exit__(self, *_) -> None:
        self._stop.set()
        self.latencies = self._found.get(timeout=_TIMEOUT * 2)
        self._process.join(5)

    def _run(self) -> None:
        # The probe is to measure the server, not the queue for a processor, as far as it may.
        with contextlib.suppress(OSError):
            os.nice(-10)
        latencies, times, connection = Latencies(), [], None
        while not self._stop.is_set():
            began = time.monotonic()
            try:
                if connection is None or latencies.count % _NEW_CONNECTION == 0:
                    if connection:
                        connection.close()
                    connection = self.connect(self.address, _TIMEOUT)
                response = connection.ask(self.target)
                took = time.monotonic() - began
                if response.status != 200:
                    latencies.failures.append(f"status {response.status}")
                if response.closes:
                    connection.close()
                    connection = None
            except (OSError, wire.Cut, wire.Malformed) as error:
                took = time.monotonic() - began
                latencies.failures.append(f"{type(error).__name__} after {took:.3f} s: {error}")
                connection = None
            times.append(took)
            latencies.count += 1
            latencies.longest = max(latencies.longest, took)
            latencies.late += took >= BAR
            time.sleep(_PAUSE)
        latencies.median = sorted(times)[len(times) // 2] if times else 0.0
        self._found.put(latencies)
