"""The server is killed and started again during a run: the generator goes on, and every request has an outcome."""

from __future__ import annotations

import pathlib
import time

from ..server import Server
from ..verdict import Verdict
from .generator import Outcome, start
from .peers import Nginx

CONNECTIONS = 16
RATE = 1000
SECONDS = 4
# When the server is killed, and when it is there again.
OUTAGES = ((0.7, 1.1), (1.7, 2.0))
# Behind its time: answers under way, and what is late.
LATE = 1.5


def outages(server: Server, began: float) -> None:
    for killed, back in OUTAGES:
        time.sleep(max(0.0, began + killed - time.monotonic()))
        server.process.kill()
        server.process.wait()
        time.sleep(max(0.0, began + back - time.monotonic()))
        # Waits until it listens.
        server.__enter__()


def both(verdict: Verdict, name: str, server: Server, options: list, url: str) -> tuple[Outcome, Outcome]:
    """A planned run and one in a closed loop, through two outages; what holds for both."""
    common = ["--json", "-c", CONNECTIONS, "-d", f"{SECONDS}s", *options]
    planned = start(*common, "-R", RATE, "--fail-on-error", f"{url}planned")
    closed = start(*common, f"{url}closed")
    outages(server, planned.began)
    outcomes = planned.finish(), closed.finish()
    for outcome in outcomes:
        verdict.check(SECONDS - 0.1 <= outcome.seconds, f"{name}: ended after {outcome.seconds:.1f} s")
        verdict.compare_time(outcome.seconds < SECONDS + LATE, f"{name}: ended after {outcome.seconds:.1f} s")
        errors = outcome.errors
        verdict.check(outcome.requests > 0 and errors.get("connect", 0) > 0, f"{name}: {outcome.requests}, {errors}")
        verdict.check(not {"timeout", "protocol", "status"} & set(errors), f"{name}: {errors}")
        # It went on behind the last outage, to the end.
        behind = sum(row["requests"] for row in outcome.results["course"] if row["start_s"] > OUTAGES[-1][1] + 0.3)
        verdict.check(behind > 0, f"{name}: no more answers after the outages")
    one, other = outcomes
    summary = one.results["summary"]
    sums = one.requests + one.unanswered + summary["unsent"]
    verdict.check(sums == RATE * SECONDS, f"{name}: {one.requests} answered, {one.errors}, {summary['unsent']} not sent")
    verdict.check(one.code == 1 and "requests failed:" in one.line, f"{name}: --fail-on-error: code {one.code}, {one.line}")
    verdict.check(other.code == 0 and not other.said, f"{name}: code {other.code}, {other.said}")
    verdict.figure(f"{name}: of {RATE * SECONDS} planned {one.requests} answered, failed {one.errors}; "
                   f"in a closed loop {other.requests}, failed {other.errors}")
    return outcomes


def nginx(verdict: Verdict, folder: pathlib.Path, short: bool) -> None:
    """Each request that nginx has logged was answered or lost, and each that was answered is logged."""
    with Nginx(folder) as server:
        for version in ("HTTP/1.1",) if short else ("HTTP/1.1", "HTTP/2"):
            http2 = version == "HTTP/2"
            options = ["--http2", "-m", "8"] if http2 else []
            name, path = f"restarts: nginx, {version}", f"/{version[-1]}"
            outcomes = both(verdict, name, server, options, server.url(http2) + path)
            for outcome, kind in zip(outcomes, ("planned", "closed")):
                logged = len(server.logged(path + kind))
                lost = outcome.unanswered - outcome.errors["connect"]
                # A line is written after its answer: at each end one may be missing for each that was under way.
                under_way = CONNECTIONS * (8 if http2 else 1) * len(OUTAGES)
                verdict.check(outcome.requests - under_way <= logged <= outcome.requests + lost,
                              f"{name}, {kind}: {logged} logged, {outcome.requests} answered, {lost} lost")


def serow(verdict: Verdict, folder: pathlib.Path, short: bool) -> None:
    """The same with `serow files`, whose log is written every now and then."""
    (folder / "site").mkdir()
    for name in ("planned", "closed"):
        (folder / "site" / name).write_text("Hello!\n")
    for options in (["--http2", "-m", "8"],) if short else ([], ["--http2", "-m", "8"]):
        log = folder / "log"
        with Server.files(folder / "site", "--access-log", log) as server:
            name = f"restarts: serow files, {'HTTP/2' if options else 'HTTP/1.1'}"
            outcomes = both(verdict, name, server, options, f"http://127.0.0.1:{server.port}/")
        logged = log.read_text().splitlines()
        for outcome, kind in zip(outcomes, ("planned", "closed")):
            count = sum(f"GET /{kind} " in line for line in logged)
            lost = outcome.unanswered - outcome.errors["connect"]
            verdict.check(0 < count <= outcome.requests + lost, f"{name}, {kind}: {count} logged, {outcome.requests} and {lost}")
        log.unlink()


CASES = (nginx, serow)
