"""A server with an access log, a door for its status, and a count of what was asked of it."""

from __future__ import annotations

import concurrent.futures
import json
import pathlib
import re
import signal
import subprocess
import time
from collections.abc import Callable
from typing import TypeVar

from .. import wire
from ..load.generator import Outcome, bench_json
from ..polling import attempts
from ..server import Server, program
from ..verdict import Verdict

PATIENCE = 30.0
T = TypeVar("T")
# How a line of the combined format looks from its beginning to its end.
COMBINED = re.compile(r'127\.0\.0\.1 - \S+ \[\d\d/\w{3}/\d{4}:\d\d:\d\d:\d\d \+0000\] "GET /\S* HTTP/\d\.\d" 200 \d+ "[^"]*" "[^"]*"')


class Logged(Server):
    """Serves a page, and logs to the destination."""

    @classmethod
    def serving(cls, folder: pathlib.Path, destination: str, *options: str, **rest) -> "Logged":
        site = folder / "site"
        site.mkdir(exist_ok=True)
        (site / "index.html").write_text("<p>Hello!</p>\n")
        door = f"unix:{folder}/door"
        server = cls.files(site, "--access-log", destination, "--admin", door, *options, **rest)
        server.door = door
        server.asked = 0
        return server

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/"

    def ask(self, count: int = 1, target: str = "/", headers: dict[str, str] | None = None) -> None:
        """Asks so often, on one connection."""
        with wire.Connection(self.address) as connection:
            for _ in range(count):
                assert connection.ask(target, headers).status == 200
                self.asked += 1

    def load(self, *options: str) -> Outcome:
        """Runs the load generator; every request must have an answer."""
        outcome = bench_json(*options, self.url)
        assert not outcome.errors and outcome.requests, f"{outcome.errors} {outcome.said[-200:]}"
        self.asked += outcome.requests
        return outcome

    def counts(self) -> tuple[int, int]:
        """Lines that were written, and that were lost."""
        asked = subprocess.run([program("serow"), "status", "--json", "--admin", self.door], capture_output=True, check=True)
        log = json.loads(asked.stdout)["access_log"]
        return log["lines"], log["lost"]

    def settled(self, seconds: float = PATIENCE) -> tuple[int, int]:
        """The same, once every request is among them."""
        return until(self.counts, lambda counts: sum(counts) >= self.asked, seconds)

    def stop(self) -> float:
        """Tells it to stop, and says how long that took."""
        began = time.monotonic()
        self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(PATIENCE)
        assert code == 0, f"it ended with {code}: {self.said()[-300:]}"
        return time.monotonic() - began

    def reopen(self) -> None:
        self.process.send_signal(signal.SIGUSR1)


def together(*cases: Callable[[Verdict, pathlib.Path, bool], None]) -> Callable[[Verdict, pathlib.Path, bool], None]:
    """One case of several that wait most of the time, at the same time."""
    def run(verdict: Verdict, folder: pathlib.Path, short: bool) -> None:
        def run_one(case: Callable[[Verdict, pathlib.Path, bool], None]) -> None:
            (folder / case.__name__).mkdir()
            case(verdict, folder / case.__name__, short)

        with concurrent.futures.ThreadPoolExecutor(len(cases)) as pool:
            list(pool.map(run_one, cases))

    run.__module__, run.__name__ = cases[0].__module__, "+".join(case.__name__ for case in cases)
    return run


def until(look: Callable[[], T], is_so: Callable[[T], bool], seconds: float = PATIENCE) -> T:
    """Looks until something is so, or time is up; what was seen last."""
    seen = look()
    for _ in attempts(seconds, pause=0.01):
        if is_so(seen):
            break
        seen = look()
    return seen


def lines_of(path: pathlib.Path, count: int = 0) -> list[str]:
    """The lines of a file, once there are so many. A line without an end counts, and is seen to be broken."""
    def read() -> list[str]:
        return path.read_text(errors="replace").split("\n") if path.exists() else [""]

    found = until(read, lambda lines: len(lines) > count)
    return found[:-1] if found[-1] == "" else found


def broken(lines: list[str]) -> list[str]:
    """Those that are no whole line of the combined format."""
    return [line for line in lines if not COMBINED.fullmatch(line)]
