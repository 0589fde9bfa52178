"""One of eight servers is ten times as slow: a balance that looks at latencies keeps most requests away from it."""

from __future__ import annotations

import json
import pathlib

from ..restarts.running import bench, outcome
from ..verdict import Verdict
from .proxies import Serow
from .upstream import Upstream, running

# Long enough that other work on the machine does not make the fast ones slow.
FAST, SLOW = 0.020, 0.200
SERVERS = 8
# The bar: p99 by latency, as a part of that in turns.
BAR = 0.5
# Far below what the servers can do, so that what is measured are their delays.
RATE, CONNECTIONS = 400, 64
SECONDS = {True: 2, False: 20}
WARM_UP = "500ms"


def one_is_slow(verdict: Verdict, folder: pathlib.Path, short: bool) -> None:
    servers = tuple(Upstream(folder, f"s{number}", delay=FAST if number else SLOW) for number in range(SERVERS))
    found = {}
    with running(*servers):
        for balance in ("round-robin", "latency"):
            with Serow(folder, servers, ("--balance", balance)) as proxy:
                run = outcome(bench("-c", str(CONNECTIONS), "-t1", "-R", str(RATE), "-d", f"{SECONDS[short]}s", "--warmup", WARM_UP,
                                    url=f"http://127.0.0.1:{proxy.port}/bytes/100"))
            errors = {kind: count for kind, count in run["errors"].items() if count}
            verdict.check(not errors and set(run["statuses"]) == {"200"}, f"{balance}: {errors}, {json.dumps(run['statuses'])}")
            found[balance] = {name: run["latency"][f"{name}_us"] / 1000 for name in ("p50", "p99")}
    turns, latency = found["round-robin"], found["latency"]
    verdict.say(f"p50 and p99 in turns {turns['p50']:.1f} and {turns['p99']:.1f} ms, by latency {latency['p50']:.1f} and "
                f"{latency['p99']:.1f} ms")
    verdict.check(turns["p99"] > SLOW * 1000, "in turns the slow server got less than its share: nothing is compared")
    ratio = latency["p99"] / turns["p99"]
    verdict.figure(f"one of {SERVERS} servers ten times as slow: p99 by latency is {ratio:.2f} of that in turns")
    verdict.compare_time(ratio <= BAR, f"p99 by latency is {latency['p99']:.1f} ms, {ratio:.2f} of {turns['p99']:.1f} ms in turns")


CASES = (one_is_slow,)
