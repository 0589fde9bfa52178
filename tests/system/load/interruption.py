"""Ctrl-C, and an output that cannot be written to."""

from __future__ import annotations

import concurrent.futures
import os
import pathlib
import subprocess
import time

from ..server import Server
from ..verdict import Verdict
from .generator import Outcome, bench, start
from .peers import Raw, answering, silent

# From the signal to the end.
BAR = 1.0
INTERRUPTED = 130
# A second signal that comes sooner counts as the first one; one that comes later may find a run that is over.
AGAIN = 0.25
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


def interrupted(options: list, after: float = 0.5, again: float | None = None) -> tuple[Outcome, float]:
    """How it ended, and how long after the (last) signal."""
    running = start(*options)
    time.sleep(after)
    running.interrupt()
    if again is not None:
        time.sleep(again)
        running.interrupt()
    signalled = time.monotonic() - running.began
    outcome = running.finish(30)
    return outcome, outcome.seconds - signalled


def signals(verdict: Verdict, folder: pathlib.Path, short: bool) -> None:
    """The first one brings the report of what was done, in time, whatever the server does; the second the end."""
    (folder / "index.html").write_text("Hello!\n")
    (folder / "slow.lua").write_text("function delay() return 60000 end\n")
    with Server.files(folder, "--access-log", "off") as server, Raw(silent) as hanging:
        url = f"http://127.0.0.1:{server.port}/"
        patient = ["-T", "60s", hanging.url]
        cases = {
            "a closed loop": [url], "a number": ["-n", "1000M", url], "a rate": ["-R", "500", url],
            "the warm-up": ["--warmup", "60s", url], "HTTP/2": ["--http2", "-m", "32", url],
            "a server that hangs": patient, "one that hangs, HTTP/2": ["--http2", "-m", "8", *patient],
            "one that hangs, with a rate": ["-R", "100", *patient], "the wait behind the end": ["-d", "200ms", *patient],
            "a script's delay": ["-s", folder / "slow.lua", url], "connections that are slow": ["--no-keepalive", *patient],
        }
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            ended = list(pool.map(lambda options: interrupted(["-c", "8", "-d", "60s", *options]), cases.values()))
        for name, (outcome, seconds) in zip(cases, ended):
            verdict.check(outcome.code == 0 and not outcome.said, f"signals: {name}: code {outcome.code}, {outcome.said}")
            verdict.check("Interrupted before its end" in outcome.output and "Requests/sec:" in outcome.output,
                          f"signals: {name}: {outcome.output[-200:]!r}")
            verdict.compare_time(seconds < BAR, f"signals: {name}: {seconds:.2f} s")
        outcome, _ = interrupted(["-d", "60s", "--json", url])
        course = sum(row["requests"] for row in outcome.results["course"])
        verdict.check(outcome.results["run"]["interrupted"] and course == outcome.requests > 0,
                      f"signals: json: {outcome.results['run']}, {course} of {outcome.requests} requests")
        outcome, seconds = interrupted(["-d", "60s", *patient], again=AGAIN)
        # Where the second one is late, the run is over.
        verdict.check(outcome.code in (0, INTERRUPTED), f"signals: twice: {outcome.code}")
        verdict.compare_time(outcome.code == INTERRUPTED and seconds < 0.2, f"signals: twice: {outcome.code}, {seconds:.2f} s")
    verdict.figure(f"after Ctrl-C the report within {max(seconds for _, seconds in ended):.2f} s")


# As if the signal had ended it, which ends others in a pipeline: 128 and SIGPIPE.
CLOSED_PIPE = 141


def outputs(verdict: Verdict, folder: pathlib.Path, short: bool) -> None:
    """A pipe without a reader, a full disk, a closed output: one line at most, and no panic."""
    page = folder / "page.html"
    read, closed = os.pipe()
    os.close(read)
    with Raw(answering(OK)) as server, open("/dev/full", "w") as full:
        quick = ["-n", "20", "-c", "2", server.url]
        for name, options, rest, code, line in (
            ("nobody reads", quick, {"stdout": closed}, CLOSED_PIPE, ""),
            ("nobody reads JSON", ["--json", *quick], {"stdout": closed}, CLOSED_PIPE, ""),
            ("a full disk", quick, {"stdout": full.fileno()}, 1, "cannot write to standard output: No space left"),
            ("no output", quick, {"before": lambda: os.close(1)}, None, ""),
            ("a full disk for the page", ["--html", "/dev/full", *quick], {}, 1, "--html: cannot write /dev/full: No space"),
            ("no folder for it", ["--html", folder / "none/page.html", "-d", "60s", server.url], {}, 1, "--html: cannot write"),
            ("a page though nobody reads", ["--json", "--html", page, *quick], {"stdout": closed}, CLOSED_PIPE, ""),
        ):
            outcome = bench(*options, patience=10, **rest)
            lines = outcome.said.splitlines()
            ended = outcome.code in (0, 1) if code is None else outcome.code == code
            verdict.check(ended and len(lines) <= 1 and line in outcome.said, f"outputs: {name}: code {outcome.code}, {lines}")
        os.close(closed)
        head = subprocess.run(["head", "-1"], stdin=start(*quick).process.stdout, capture_output=True, text=True)
        verdict.check(head.stdout.startswith("Running test @ http://"), f"outputs: head: {head.stdout!r}")
    verdict.check(page.exists() and "</html>" in page.read_text(), "outputs: there is no whole page")
    verdict.say("outputs: one line each")


CASES = (signals, outputs)
