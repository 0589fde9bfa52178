"""wrk's own scripts under wrk and under `serow bench`: the same requests arrive, and the same comes of them."""

from __future__ import annotations

import concurrent.futures
import dataclasses
import pathlib
import re

from ..server import REPOSITORY
from ..verdict import Verdict
from .generator import Outcome, bench, wrk
from .recorder import Recorder, Request

# Debian's package has them in its documentation. Where that is left out, those of the project do the same; but its
# `addr.lua` asks for more than a script can know.
PACKAGE = pathlib.Path("/usr/share/doc/wrk/examples/scripts")
OWN = REPOSITORY / "crates/load/tests/script"
ONLY_IN_PACKAGE = ("addr",)
# Of the rate that delays bring: wrk's clock counts whole milliseconds.
TOLERANCE = 0.3


@dataclasses.dataclass
class Pair:
    """The runs of wrk and `serow bench` with a script."""

    name: str
    wrk: Outcome
    bench: Outcome
    wrk_noted: list[list[Request]]
    bench_noted: list[list[Request]]
    # Events that were late or too frequent.
    late: list[str] = dataclasses.field(default_factory=list)

    @property
    def misses(self) -> list[str]:
        """Violations of the conditions that hold for every script."""
        wrong = []
        if self.bench.code != 0 or self.bench.said:
            wrong.append(f"serow bench ended with {self.bench.code}: {self.bench.said.strip()}")
        if not self.wrk_noted or not self.bench_noted:
            return [*wrong, f"wrk made {len(self.wrk_noted)} connections, serow bench {len(self.bench_noted)}"]
        count = answered(self.bench)
        if (came := sum(map(len, self.bench_noted))) != count:
            wrong.append(f"{came} requests came, and {count} were counted")
        return wrong


def answered(outcome: Outcome) -> int:
    return int(re.search(r"(\d+) requests in ", outcome.output).group(1))


def path(name: str) -> pathlib.Path:
    return (PACKAGE if PACKAGE.exists() else OWN) / f"{name}.lua"


def both(name: str, threads: int = 1, connections: int = 1, seconds: int = 1) -> Pair:
    """One after the other against the same server, so that even the port is the same in what they send."""
    options = ["-t", threads, "-c", connections, "-d", seconds, "-s", path(name)]
    with Recorder() as recorder:
        first = wrk(*options, recorder.url)
        wrk_noted = recorder.take()
        second = bench(*options, recorder.url)
        return Pair(name, first, second, wrk_noted, recorder.take())


def same_sequence(pair: Pair, first: int = 0) -> list[str]:
    """The first connection's requests, in their order; wrk's begin with that of this number."""
    ours, theirs = pair.bench_noted[0][first:], pair.wrk_noted[0]
    length = min(len(ours), len(theirs))
    if length < 20:
        return [f"only {len(ours)} and {len(theirs)} requests"]
    return next(([f"request {number} is {one}, with wrk {other}"]
                 for number, (one, other) in enumerate(zip(ours, theirs)) if one != other), [])


def post() -> tuple[Pair, list[str]]:
    pair = both("post")
    request = pair.bench_noted[0][0]
    is_form = request.method == "POST" and request.body and ("Content-Length", str(len(request.body))) in request.fields
    return pair, same_sequence(pair) + ([] if is_form else [f"sent {request}"])


def pipeline() -> tuple[Pair, list[str]]:
    pair = both("pipeline")
    targets = [request.target for request in pair.bench_noted[0]]
    return pair, same_sequence(pair) + ([] if len(set(targets)) == 3 and len(targets) % 3 == 0 else [f"{targets[:6]}"])


def counter() -> tuple[Pair, list[str]]:
    pair = both("counter")
    # wrk asks the script for one request before the run, to count how many its text holds.
    return pair, same_sequence(pair, first=1)


def auth() -> tuple[Pair, list[str]]:
    pair = both("auth")
    tokens = [dict(request.fields).get("X-Token") for request in pair.bench_noted[0]]
    return pair, same_sequence(pair) + ([] if tokens[0] is None and set(tokens[1:]) == {"secret"} else [f"{tokens[:3]}"])


def addr() -> tuple[Pair, list[str]]:
    pair = both("addr", threads=2, connections=2)
    lines = [sorted(re.findall(r"^thread addr: .*$", one.output, re.M)) for one in (pair.wrk, pair.bench)]
    return pair, same_sequence(pair) + ([] if lines[0] == lines[1] else [f"printed {lines[1]}, wrk {lines[0]}"])


def report() -> tuple[Pair, list[str]]:
    pair = both("report")
    wrong = same_sequence(pair)
    shapes = []
    for outcome in (pair.wrk, pair.bench):
        # The script's own output follows the report.
        behind = outcome.output.partition("Transfer/sec:")[2].splitlines()[1:]
        shapes.append([re.sub(r"\d+(\.\d+)?$", "N", re.sub(r"\b\d+(?= (requests|bytes|us))", "N", line)) for line in behind])
        times = [int(line.rpartition(",")[2]) for line in behind if re.fullmatch(r"[\d.]+%,\d+", line)]
        if len(times) < 3 or times != sorted(times) or not PAUSE_US <= times[0]:
            wrong.append(f"printed {behind}")
        elif times[0] >= 100 * PAUSE_US:
            pair.late.append(f"printed {behind}")
    return pair, wrong + ([] if shapes[0] == shapes[1] else [f"printed {shapes[1]}, wrk {shapes[0]}"])


def setup() -> tuple[Pair, list[str]]:
    pair = both("setup", threads=2, connections=4)
    ready = [sorted(re.findall(r"^thread \d+ \w+(?: \w+)?$", one.output, re.M)) for one in (pair.wrk, pair.bench)]
    made = [re.findall(r"^thread (\d+) made (\d+) requests and (?:got|saw) (\d+) responses$", one.output, re.M)
            for one in (pair.wrk, pair.bench)]
    wrong = [] if len(ready[1]) == 2 and ready[0] == ready[1] else [f"printed {ready[1]}, wrk {ready[0]}"]
    if [thread for thread, *_ in made[1]] != ["1", "2"] or len(made[0]) != 2:
        return pair, [*wrong, f"printed {made[1]}, wrk {made[0]}"]
    counts = [sum(int(row[column]) for row in made[1]) for column in (1, 2)]
    if counts != [answered(pair.bench)] * 2:
        wrong.append(f"the threads made and saw {counts}, of {answered(pair.bench)} requests")
    return pair, wrong


def stop() -> tuple[Pair, list[str]]:
    pair = both("stop", threads=2, connections=2, seconds=3)
    counts = [sorted(map(len, noted)) for noted in (pair.wrk_noted, pair.bench_noted)]
    wrong = [] if counts[0] == counts[1] and len(counts[1]) == 2 else [f"{counts[1]} requests, wrk {counts[0]}"]
    # wrk's main thread sleeps on when its threads have ended.
    pair.late += [] if pair.bench.seconds < 2.5 else [f"took {pair.bench.seconds:.1f} s"]
    return pair, wrong


def delay() -> tuple[Pair, list[str]]:
    pair = both("delay", connections=4, seconds=2)
    theirs, ours = (sum(map(len, noted)) for noted in (pair.wrk_noted, pair.bench_noted))
    pair.late += [] if abs(ours / theirs - 1) < TOLERANCE else [f"{ours} requests, wrk {theirs}"]
    return pair, []


def scripts(verdict: Verdict, folder: pathlib.Path, short: bool) -> None:
    """All of them at the same time, for the server takes its time with each request."""
    programs = [program for program in (post, pipeline, counter, auth, addr, report, setup, stop, delay)
                if PACKAGE.exists() or program.__name__ not in ONLY_IN_PACKAGE]
    with concurrent.futures.ThreadPoolExecutor(len(programs)) as pool:
        for pair, wrong in pool.map(lambda program: program(), programs):
            for miss in [*pair.misses, *wrong]:
                verdict.check(False, f"scripts: {pair.name}: {miss}")
            verdict.compare_time(not pair.late, f"scripts: {pair.name}: {'; '.join(pair.late)}")
            counts = [sum(map(len, noted)) for noted in (pair.wrk_noted, pair.bench_noted)]
            verdict.say(f"scripts: {pair.name}: {counts[0]} requests by wrk, {counts[1]} by serow bench")
    verdict.figure(f"{len(programs)} of wrk's scripts, from {path('post').parent}")


PAUSE_US = 2000
CASES = (scripts,)
