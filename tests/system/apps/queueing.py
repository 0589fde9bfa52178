"""Short requests beside long ones: nobody with a short one waits behind a long one while a worker is free."""

from __future__ import annotations

import pathlib
import statistics
import threading
import time

from ..proxy.load import Load
from ..server import Server
from ..verdict import LOOKS, Verdict
from .servers import PEERS, Serow

SECONDS = {True: 2.5, False: 20.0}
# The short form runs a program with debug assertions, which take a part of this; a request behind a long one waits up to 50 ms.
ALLOWANCE = {True: 2.0, False: 0.0}
# Two connections ask for what takes 50 ms, six for what takes 1 ms: of four workers two are free, as a rule.
LONG, SHORT = 2, 6


def quantile(server: Server, seconds: float) -> tuple[float, float, int]:
    """The median and the 99th percentile of short requests in milliseconds, and how many there were."""
    long = Load(server.address, LONG, pause=0.005, posts=0.0, targets=("/sleep/50",))
    short = Load(server.address, SHORT, pause=0.01, posts=0.0, targets=("/sleep/1",))
    ended = threading.Event()
    with long, short:
        ended.wait(seconds)
    found = sorted(asked.seconds * 1000 for asked in short.asked if not asked.failure)
    if short.failures() or long.failures():
        raise AssertionError(f"{short.kinds()}; {long.kinds()}")
    return statistics.median(found), found[int(len(found) * 0.99)], len(found)


def short_beside_long(verdict: Verdict, folder: pathlib.Path, short: bool) -> None:
    """The 99th percentile of short requests, beside Unicorn's and Puma's in the same run."""
    looks = iter(range(LOOKS[short]))

    def look() -> None:
        compare(verdict, folder / str(next(looks)), short)

    verdict.look_again(look, LOOKS[short])


def compare(verdict: Verdict, folder: pathlib.Path, short: bool) -> None:
    found = {}
    for kind in (Serow, *PEERS):
        place = folder / kind.name
        place.mkdir(parents=True)
        with kind(place) as server:
            time.sleep(0.5)
            found[kind.name] = quantile(server, SECONDS[short])
    told = ", ".join(f"{name} {p99:.1f} ms (median {median:.1f}, {count:,} requests)" for name, (median, p99, count) in found.items())
    verdict.figure(f"99 of 100 short requests beside long ones: {told}")
    ours = found.pop(Serow.name)[1]
    for name, (_, theirs, _) in found.items():
        verdict.check_in_time(ours <= theirs + ALLOWANCE[short], f"short requests beside long ones: {ours:.1f} ms, {name} {theirs:.1f} ms")

