"""Short requests beside long ones: nobody with a short one waits behind a long one while a worker is free."""

from __future__ import annotations

import pathlib
import statistics
import threading
import time

from ..proxy.load import Load
from ..server import Server
from ..verdict import Verdict
from .servers import PEERS, Serow

SECONDS = {True: 2.5, False: 20.0}
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
    """No request fails; and the 99th percentile of short requests, beside Unicorn's and Puma's in the same run.

    The gate has no use for the peers, since they are there to be compared with."""
    found = {}
    for kind in (Serow,) if short else (Serow, *PEERS):
        place = folder / kind.name
        place.mkdir(parents=True)
        with kind(place) as server:
            time.sleep(0.5)
            found[kind.name] = quantile(server, SECONDS[short])
    told = ", ".join(f"{name} {p99:.1f} ms (median {median:.1f}, {count:,} requests)" for name, (median, p99, count) in found.items())
    verdict.figure(f"99 of 100 short requests beside long ones: {told}")
    ours = found.pop(Serow.name)[1]
    for name, (_, theirs, _) in found.items():
        verdict.compare_time(ours <= theirs, f"short requests beside long ones: {ours:.1f} ms, {name} {theirs:.1f} ms")
