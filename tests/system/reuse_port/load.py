"""Load that goes on until it is told to end."""

from __future__ import annotations

import collections
import json
import subprocess
import threading

from ..server import program

CONNECTIONS = 64
# A first packet that is dropped is sent again after a second.
LATE_US = 900_000


class Load:
    """A connection for each request, 64 at a time, while the `with` block lasts, and until there were enough."""

    def __init__(self, url: str, chunk: int, enough: int = 0, *options: str) -> None:
        self.command = [str(program("serow")), "bench", "--no-keepalive", f"-c{CONNECTIONS}", "-t1", "-n", str(chunk),
                        "--json", "--fail-on-error", *options, url]
        self.enough, self.requests, self.late, self.longest = enough, 0, 0, 0.0
        self.errors: collections.Counter[str] = collections.Counter()
        self.said = ""
        self.is_over = threading.Event()
        self.thread = threading.Thread(target=self.run)

    def run(self) -> None:
        while not self.is_over.is_set() or self.requests < self.enough:
            ran = subprocess.run(self.command, stdin=subprocess.DEVNULL, capture_output=True, text=True)
            try:
                found = json.loads(ran.stdout)
            except ValueError:
                self.said = f"serow bench ended with {ran.returncode}: {ran.stderr.strip()}"
                return
            self.requests += found["summary"]["requests"]
            self.errors.update({kind: count for kind, count in found["errors"].items() if count})
            self.longest = max(self.longest, found["latency"]["max_us"] / 1000)
            self.late += sum(row["count"] for row in found["histogram"] if row["from_us"] > LATE_US)

    def __enter__(self) -> "Load":
        self.thread.start()
        return self

    def __exit__(self, *_) -> None:
        self.is_over.set()
        self.thread.join()

    @property
    def failed(self) -> int:
        return sum(self.errors.values())

    def __str__(self) -> str:
        errors = ", ".join(f"{count} {kind}" for kind, count in self.errors.items()) or "0"
        return f"{errors} of {self.requests + self.failed} requests failed, {self.late} came a second late, " \
               f"the longest took {self.longest:.0f} ms"
