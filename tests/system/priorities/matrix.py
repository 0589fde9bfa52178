"""The cost of pacing on every kind of link: one large download, with pacing and without, in turn."""

from __future__ import annotations

import argparse
import bisect
import os
import pathlib
import statistics
import subprocess
import tempfile
from dataclasses import dataclass, field

from ..server import Broken, program
from ..verdict import Verdict
from . import document, laboratory, servers
from .laboratory import Link
from .servers import Server

RATES = ("128kbit", "1mbit", "10mbit", "100mbit", "1gbit")
ROUND_TRIPS = (10, 50, 300)
SHORT_RATES, SHORT_ROUND_TRIPS = ("10mbit", "100mbit"), (10, 50)
# A download is as large as the link can carry in so many seconds, and in so many round trips more: a connection doubles its
# speed once in a round trip, and 37 MB under way are twelve doublings of the ten packets it starts with.
SECONDS, SHORT_SECONDS, STARTING_ROUND_TRIPS = 8.0, 2.0, 12
ROUNDS, SHORT_ROUNDS = 3, 1
# The first server's throughput may be this much less than the second's.
LEAST_RATIO = 0.97
# A window of HTTP/2 is never renewed by this client (RFC 9113 §6.9.1).
LARGEST = (1 << 31) - (1 << 20)


@dataclass
class Cell:
    """One link and one server: bits per second of each round."""

    whole: list[float] = field(default_factory=list)
    steady: list[float] = field(default_factory=list)
    delays: list[float] = field(default_factory=list)


def run(options: argparse.Namespace, verdict: Verdict) -> None:
    names = options.only or ["serow", "serow-off"]
    chosen = [server for server in servers.SERVERS if server.name in names]
    for server in chosen:
        if not servers.is_there(server):
            verdict.check(False, f"{server.label} is not there, or has no {servers.lacks(server) if server.is_ours else ''}")
            return
    rates, round_trips = (SHORT_RATES, SHORT_ROUND_TRIPS) if options.short else (RATES, ROUND_TRIPS)
    rates = tuple(rate for rate in rates if not options.only_rate or rate in options.only_rate)
    seconds, rounds = (SHORT_SECONDS, SHORT_ROUNDS) if options.short else (SECONDS, ROUNDS)
    cells: dict[tuple[str, int, str], Cell] = {}
    for rate in rates:
        for rtt in round_trips:
            link = Link(rate, rtt, ("--congestion", options.congestion, "--queue", options.queue))
            measure(link, chosen, seconds, rounds, cells, verdict)
            judge(rate, rtt, chosen, cells, verdict)
    text = table(chosen, cells)
    print(f"\n{text}\n")
    if options.write:
        document.put(matrix=completed(text, document.section("matrix")))


def measure(link: Link, chosen: list[Server], seconds: float, rounds: int, cells: dict, verdict: Verdict) -> None:
    size = min(int(link.bits / 8 * (seconds + STARTING_ROUND_TRIPS * link.rtt_ms / 1000)), LARGEST)
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        site = pathlib.Path(folder, "site")
        site.mkdir()
        with open(site / "large.bin", "wb") as file:
            file.truncate(size)
        for turn in range(rounds):
            # Each goes first in every other round.
            for server in chosen[::-1] if turn % 2 else chosen:
                cell = cells.setdefault((link.rate, int(link.rtt_ms), server.name), Cell())
                try:
                    download(link, server, site, size, cell)
                except Broken as broken:
                    verdict.check(False, f"{link.name}: {broken}")


def download(link: Link, server: Server, site: pathlib.Path, size: int, cell: Cell) -> None:
    limit = 4 * size * 8 / link.bits + 20
    with laboratory.place(False, site) as place:
        admin = str(place.admin) if has_admin(server) else ""
        client = laboratory.python("bulk", "/large.bin", str(size), str(limit), admin)
        asked = laboratory.with_admin(server, place) if admin else server
        outcome = laboratory.run(link, asked, place, client, limit + 30, trace=False)
    told = outcome.told
    if told["failures"] or told["received"] != size:
        raise Broken(f"{server.label}: {told['received']} bytes of {size}; {told['failures']}")
    steps = told["steps"]
    cell.whole.append(size * 8 / steps[-1][0])
    cell.steady.append(steady(steps))
    if told["queue_delay_ms"] is not None:
        cell.delays.append(told["queue_delay_ms"])


def steady(steps: list[tuple[float, int]]) -> float:
    """Bits per second in the second half of the bytes' time."""
    middle = steps[bisect.bisect_left(steps, steps[-1][0] / 2, key=lambda step: step[0])]
    last = steps[-1]
    return (last[1] - middle[1]) * 8 / max(last[0] - middle[0], 1e-6)


def has_admin(server: Server) -> bool:
    if not server.is_ours:
        return False
    return "--admin" in subprocess.run([program("serow"), "files", "--help"], capture_output=True, text=True).stdout


def judge(rate: str, rtt: int, chosen: list[Server], cells: dict, verdict: Verdict) -> None:
    pair = [cells.get((rate, rtt, server.name)) for server in chosen[:2]]
    texts = [f"{server.label} {human(statistics.median(cell.steady))}" for server, cell in zip(chosen, pair)
             if cell and cell.steady]
    verdict.say(f"{rate}, {rtt} ms: {', '.join(texts)}")
    if [server.name for server in chosen[:2]] == ["serow", "serow-off"] and all(cell and cell.steady for cell in pair):
        ratio = statistics.median(pair[0].steady) / statistics.median(pair[1].steady)
        verdict.compare_time(ratio >= LEAST_RATIO, f"{rate}, {rtt} ms: pacing leaves {ratio:.0%} of the throughput")


def table(chosen: list[Server], cells: dict) -> str:
    heads = ["rate", "round trip"]
    for server in chosen:
        heads += [f"{server.label}: whole download", "steady state"]
    if len(chosen) > 1:
        heads.append(f"steady state, {chosen[0].label} : {chosen[1].label}")
    heads.append("p99 wait in the kernel")
    lines = ["| " + " | ".join(heads) + " |", "| --- |" + " ---: |" * (len(heads) - 1)]
    for rate, rtt in dict.fromkeys((rate, rtt) for rate, rtt, _ in cells):
        found = [cells.get((rate, rtt, server.name), Cell()) for server in chosen]
        row = [rate, f"{rtt} ms"]
        for cell in found:
            row += [human(statistics.median(cell.whole)) if cell.whole else "–",
                    human(statistics.median(cell.steady)) if cell.steady else "–"]
        if len(chosen) > 1:
            both = found[0].steady and found[1].steady
            ratio = statistics.median(found[0].steady) / statistics.median(found[1].steady) if both else None
            row.append(f"{ratio:.2f}" if ratio else "–")
        row.append(f"{statistics.median(found[0].delays):.0f} ms" if found[0].delays else "–")
        lines.append("| " + " | ".join(row) + " |")
    return "\n".join(lines)


def completed(table: str, before: str) -> str:
    """The table, with the rows of the last time for the links that were not measured now."""
    def rows(text: str) -> dict[tuple[str, ...], str]:
        return {tuple(cell.strip() for cell in line.split("|")[1:3]): line for line in text.splitlines() if "|" in line}

    new, old = rows(table), rows(before)
    if list(new)[:1] != list(old)[:1]:
        return table
    links = [(rate, f"{rtt} ms") for rate in RATES for rtt in ROUND_TRIPS]
    heads = [line for key, line in new.items() if key not in links]
    return "\n".join(heads + [new.get(link) or old[link] for link in links if link in new or link in old])


def human(bits: float) -> str:
    return f"{bits / 1e6:,.1f} Mbit/s" if bits >= 1e6 else f"{bits / 1e3:,.0f} kbit/s"
