"""The benchmark over HTTP/3 on a link that loses packets: several runs, each of which loses other ones."""

from __future__ import annotations

import argparse
import concurrent.futures
import pathlib
import tempfile

from ..server import Broken
from ..verdict import Verdict
from . import servers, tile
from .laboratory import Link
from .tile import Run

RUNS, LEAST_IN_TIME = 10, 9
# Per cent, each way.
LOSS = 2
SIZE = 300_000
# The script is requested when the link has carried so much: after 5 s at 128 kbit/s.
BEFORE = 80_000
# A lost packet costs a round trip more.
ROUND_TRIPS = 2
HEADS = ("run", "first byte", "best possible", "picture bytes before", "script done", "picture done", "finished first", "link busy")


def run_all(options: argparse.Namespace, verdict: Verdict, at_a_time: int) -> list[Run]:
    """The runs in the order of their seeds, which say what is lost."""
    size = options.size or SIZE
    links = [Link(options.rate, options.rtt, ("--queue", options.queue, "--loss", str(LOSS), "--seed", str(seed)))
             for seed in range(1, RUNS + 1)]
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(at_a_time) as pool:
        pathlib.Path(folder).chmod(0o755)
        site = pathlib.Path(folder, "site")
        tile.make_site(site, size)
        waiting = [pool.submit(tile.sit, servers.SERVERS[0], True, link, size, BEFORE * 8 / link.bits, site, http3=True) for link in links]
        runs = []
        for seed, future in enumerate(waiting, 1):
            try:
                runs.append(future.result())
            except (Broken, StopIteration, KeyError) as error:
                verdict.check(False, f"HTTP/3, {LOSS} % loss, run {seed}: {error!r}")
                continue
            verdict.say(f"HTTP/3, {LOSS} % loss, run {seed}: first byte after {runs[-1].figures.first_byte:.2f} s")
    return runs


def judge(runs: list[Run], link: Link, allowed: float, verdict: Verdict) -> None:
    bar = ROUND_TRIPS * link.rtt_ms / 1000 + allowed
    in_time = sum(run.figures.first_byte <= bar for run in runs)
    verdict.figure(f"HTTP/3, {LOSS} % loss: the script's first byte within {bar:.3f} s in {in_time} of {RUNS} runs")
    verdict.compare_time(in_time >= LEAST_IN_TIME, f"HTTP/3, {LOSS} % loss: the script's first byte came within {bar:.3f} s in only "
                                                   f"{in_time} of {RUNS} runs")
    first = sum(run.figures.script_first for run in runs)
    verdict.check(first == RUNS, f"HTTP/3, {LOSS} % loss: the script was finished first in only {first} of {RUNS} runs")


def markdown(runs: list[Run]) -> str:
    lines = ["| " + " | ".join(HEADS) + " |", "|" + " ---: |" * (len(HEADS) - 2) + " --- | ---: |"]
    for number, run in enumerate(runs, 1):
        figures = run.figures
        lines.append(f"| {number} | {figures.first_byte:.2f} s | {figures.floor:.2f} s | {figures.before / 1000:,.0f} KB | "
                     f"{figures.script_finished:.1f} s | {figures.picture_finished:.1f} s | "
                     f"{'script' if figures.script_first else 'picture'} | {figures.busy:.0%} |")
    return "\n".join(lines)
