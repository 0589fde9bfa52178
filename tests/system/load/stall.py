"""A server that stands still for a second in the middle of a run: who would have come meanwhile waited, and is counted so."""

from __future__ import annotations

import pathlib
import re
import signal
import time

from ..server import Server
from ..verdict import Verdict
from .generator import Outcome, Running, bench_json, start, start_wrk

RATE = 10_000
STALL = 1.0
CONNECTIONS = 64
# The share that a machine with two cores adds.
TOLERANCE = 0.08
PERCENTILES = {"p90_us": 0.10, "p95_us": 0.05, "p99_us": 0.01}


def expected(share: float, seconds: float, stall: float) -> tuple[float, float]:
    """Between what this share of the requests of a run must have waited at least.

    Those that are due `a` seconds into the stall wait for the rest of it, `stall - a`; so `stall - x` of the run's time
    brings requests that wait longer than `x`. Afterwards those that wait are sent as fast as the server takes them, and
    what is due meanwhile waits behind them. A server that can take twice the rate needs as long again for that, in which
    the waiting ones are twice as many; one that can take any rate needs no time.
    """
    return max(0.0, stall - share * seconds), max(0.0, stall - share * seconds / 2)


def stalled(server: Server, running: Running) -> tuple[Outcome, float]:
    """Stops the server a third into the run; how long it stood."""
    time.sleep(1.0)
    server.process.send_signal(signal.SIGSTOP)
    began = time.monotonic()
    time.sleep(STALL)
    server.process.send_signal(signal.SIGCONT)
    stall = time.monotonic() - began
    return running.finish(), stall


def planned(verdict: Verdict, server: Server, seconds: int, options: list[str]) -> None:
    name = "stall: " + " ".join(["-R", str(RATE), *options])
    url = f"http://127.0.0.1:{server.port}/"
    running = start("--json", "-R", RATE, "-d", f"{seconds}s", "-c", CONNECTIONS, *options, url)
    outcome, stall = stalled(server, running)
    results, latency = outcome.results, outcome.results["latency"]
    found = {name: latency[name] / 1e6 for name in (*PERCENTILES, "max_us")}
    verdict.figure(f"{name}: a stall of {stall:.2f} s in {seconds} s: {outcome.requests} of {RATE * seconds} answered, "
                   f"p50 {latency['p50_us'] / 1e3:.2f} ms, p90 {found['p90_us']:.3f} s, p99 {found['p99_us']:.3f} s, "
                   f"max {found['max_us']:.3f} s")
    unsent = results["summary"]["unsent"]
    verdict.check(outcome.requests + unsent == RATE * seconds and not outcome.errors,
                  f"{name}: {outcome.requests} answered, {unsent} not sent, {outcome.errors}")
    verdict.compare_time(unsent == 0, f"{name}: {unsent} not sent")
    for percentile, share in PERCENTILES.items():
        least, most = expected(share, seconds, stall)
        verdict.compare_time(least - TOLERANCE <= found[percentile] <= most + TOLERANCE,
                             f"{name}: {percentile} is {found[percentile]:.3f} s, not {least:.3f} to {most:.3f}")
    # Requests that were due when the server was stopped waited for all of it.
    verdict.check(stall - TOLERANCE <= found["max_us"], f"{name}: max {found['max_us']:.3f} s")
    verdict.compare_time(found["max_us"] <= stall + 2 * TOLERANCE, f"{name}: max {found['max_us']:.3f} s")


def stall(verdict: Verdict, folder: pathlib.Path, short: bool) -> None:
    """At a planned rate the stall is in the percentiles as it is in the users' lives, and nobody is lost."""
    (folder / "index.html").write_text("Hello!\n")
    seconds = 3 if short else 10
    with Server.files(folder, "--access-log", "off") as server:
        url = f"http://127.0.0.1:{server.port}/"
        planned(verdict, server, seconds, [])
        if not short:
            planned(verdict, server, seconds, ["--http2", "-m", "8"])
        # The same in a closed loop, where nobody asks while the server stands still: few have waited at all.
        other = start_wrk("-d", seconds, "-c", CONNECTIONS, "--latency", url)
        outcome, _ = stalled(server, start("--json", "-d", f"{seconds}s", "-c", CONNECTIONS, url))
        high, longest = (outcome.results["latency"][name] / 1e6 for name in ("p99_us", "max_us"))
        verdict.figure(f"stall: without -R: p99 {high * 1000:.1f} ms, max {longest:.2f} s of {outcome.requests}")
        verdict.compare_time(high < STALL / 4 < STALL - TOLERANCE < longest, f"stall: without -R: p99 {high:.3f} s, max {longest:.3f} s")
        lines = dict(re.findall(r"^ +(50|90|99)% +(\S+)$", other.finish().output, re.M))
        # Printed, not judged: some versions of wrk make up what they think was not asked for.
        verdict.figure(f"stall: wrk: p50 {lines.get('50')}, p90 {lines.get('90')}, p99 {lines.get('99')}")


def overload(verdict: Verdict, folder: pathlib.Path, short: bool) -> None:
    """More is planned than can be sent: what was not is counted, and the rate is not beautified."""
    (folder / "index.html").write_text("Hello!\n")
    with Server.files(folder, "--access-log", "off") as server:
        outcome = bench_json("-R", "2M", "-d", "1s", "-c", "8", f"http://127.0.0.1:{server.port}/")
    summary = outcome.results["summary"]
    sent = outcome.requests + outcome.unanswered
    verdict.check(sent + summary["unsent"] == 2_000_000 and summary["unsent"] > 0,
                  f"overload: {sent} sent and {summary['unsent']} not, of 2,000,000")
    verdict.check(abs(summary["requests_per_second"] - outcome.requests / summary["elapsed_s"]) < 1, f"overload: {summary}")
    verdict.compare_time(outcome.seconds < 3, f"overload: {outcome.seconds:.1f} s")
    verdict.say(f"overload: of 2,000,000 planned {sent} sent, {summary['unsent']} not")


CASES = (stall, overload)
