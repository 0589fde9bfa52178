"""Measurements of servers that share a limit."""

from __future__ import annotations

import dataclasses
import pathlib
import signal
import statistics
import time

from ..redis import Redis
from ..verdict import Verdict
from .instances import Instances, Load, Samples
from .redis import Cluster, Sentinels, eventually

# How many times what the limit says may be admitted, whatever happens: servers that did not share it would admit their number
# of times as much, which is four and more.
MOST_ADMITTED = 2


@dataclasses.dataclass
class Sizes:
    """How much of everything."""

    instances: int
    # Requests per second of all clients, and those that the limit admits.
    demand: int
    rate: int
    # Of a measurement, of a fault, and of the time after it.
    seconds: int
    fault: int
    # Pairs of runs whose latencies are compared.
    rounds: int
    tolerance: float


def accuracy(verdict: Verdict, folder: pathlib.Path, sizes: Sizes) -> None:
    """All servers together admit what the limit says."""
    with Redis(folder) as redis, Instances(folder / "accuracy", sizes.instances, [redis.url], sizes.rate) as instances:
        eventually("all servers are together", instances.are_together)
        with Load(instances, sizes.demand, sizes.seconds + 3) as load, Samples(instances) as samples:
            # Load generators start one after the other.
            time.sleep(1.5)
            began = time.monotonic()
            time.sleep(sizes.seconds)
            ended = time.monotonic()
            came = sum(result["summary"]["requests_per_second"] for result in load.results())
        found = samples.per_second(began, ended)
        if came < sizes.demand * 0.9:
            verdict.say(f"the load generators sent only {came:.0f} requests/s: the machine is busy")
        off = found / sizes.rate - 1
        verdict.figure(f"{sizes.instances} servers, {sizes.demand} requests/s, limit {sizes.rate}/s: "
                       f"{found:.0f}/s admitted ({off:+.1%})")
        verdict.check(0 < found <= sizes.rate * MOST_ADMITTED, f"{found:.0f}/s were admitted: the limit is not shared")
        verdict.compare_time(abs(off) <= sizes.tolerance, f"{off:+.1%} is more than {sizes.tolerance:.0%} beside the limit")


def latency(verdict: Verdict, folder: pathlib.Path, sizes: Sizes) -> None:
    """A shared limit costs requests no more time than one of each server's own."""
    found: dict[bool, list[float]] = {True: [], False: []}
    with Redis(folder) as redis:
        for number in range(sizes.rounds):
            for shared in (True, False):
                rate = sizes.rate if shared else sizes.rate // sizes.instances
                name = folder / f"latency-{number}-{shared}"
                with Instances(name, sizes.instances, [redis.url], rate, shared=shared) as instances, \
                        Load(instances, sizes.demand, sizes.seconds) as load:
                    found[shared].append(statistics.median(result["latency"]["p99_us"] for result in load.results()))
    shared, own = statistics.median(found[True]), statistics.median(found[False])
    verdict.figure(f"99th percentile: {shared:.0f} µs with a shared limit, {own:.0f} µs with a limit of each server's own")
    if sizes.rounds > 1:
        verdict.compare_time(shared <= own + 50, f"the shared limit takes {shared - own:.0f} µs more, which is more than 50")


def faults(verdict: Verdict, folder: pathlib.Path, sizes: Sizes, names: list[str]) -> None:
    """While Redis is away, servers go on with their shares; and two seconds after it has come back, as before."""
    for name in names:
        place = folder / name.replace(" ", "-")
        place.mkdir()
        if name == "failing over":
            with Sentinels(place) as redis, Instances(place / "servers", sizes.instances, [redis.url], sizes.rate) as instances:
                fault(verdict, name, instances, sizes, redis.primary.kill, lambda: None)
        elif name == "cluster":
            with Cluster(place) as redis, Instances(place / "servers", sizes.instances, redis.urls, sizes.rate) as instances:
                fault(verdict, "failing over in a cluster", instances, sizes, lambda: redis.holder().kill(), lambda: None)
        else:
            with Redis(place) as redis, Instances(place / "servers", sizes.instances, [redis.url], sizes.rate) as instances:
                begin, end = {
                    "frozen": (lambda: redis.process.send_signal(signal.SIGSTOP),
                               lambda: redis.process.send_signal(signal.SIGCONT)),
                    "killed": (redis.kill, redis.start),
                    "flushed": (lambda: redis.command("FLUSHALL"), lambda: redis.command("FLUSHALL")),
                }[name]
                fault(verdict, name, instances, sizes, begin, end)


def fault(verdict: Verdict, name: str, instances: Instances, sizes: Sizes, begin, end) -> None:
    eventually("all servers are together", instances.are_together)
    with Load(instances, sizes.demand, sizes.fault + 10) as load, Samples(instances) as samples:
        time.sleep(2)
        began = time.monotonic()
        begin()
        time.sleep(sizes.fault)
        end()
        ended = time.monotonic()
        # All have come back when they know of one another: that is what takes longest.
        back = eventually("all servers are together again", instances.are_together)
        results = load.results()
        stopped = time.monotonic()
    during, after = samples.per_second(began, ended), samples.per_second(ended + 2, stopped - 0.5)
    waits = {percent: max(result["latency"][f"p{percent}_us"] for result in results) / 1000 for percent in (90, 99)}
    failed = sum(result["errors"][kind] for result in results for kind in ("connect", "read", "write", "timeout", "protocol"))
    verdict.figure(f"Redis {name} for {ended - began:.0f} s: {during / sizes.rate:.0%} of the limit admitted, "
                   f"{after / sizes.rate:.0%} from 2 s after it; in contact after {back:.1f} s; "
                   f"99th percentile {waits[99]:.1f} ms")
    most = 1 + 1 / sizes.instances
    verdict.check(0 < during <= sizes.rate * MOST_ADMITTED, f"{name}: {during:.0f}/s were admitted, of {sizes.rate}/s")
    verdict.check(after <= sizes.rate * MOST_ADMITTED, f"{name}: afterwards {after:.0f}/s were admitted, of {sizes.rate}/s")
    verdict.compare_time(during <= sizes.rate * most, f"{name}: more than {most:.0%} of the limit were admitted")
    verdict.compare_time(during >= sizes.rate * 0.8, f"{name}: fewer than 80 % of the limit were admitted")
    verdict.compare_time(abs(after / sizes.rate - 1) <= max(sizes.tolerance, 0.05), f"{name}: not correct again after 2 s")
    verdict.check(failed == 0, f"{name}: {failed} requests failed")
    # Redis' timeout: whatever waited for it would take that long.
    verdict.compare_time(waits[90] < 500, f"{name}: one of ten requests took {waits[90]:.0f} ms")


def bans(verdict: Verdict, folder: pathlib.Path) -> None:
    """A ban reaches the others, also those whose Redis was away when it was made."""
    with Redis(folder) as redis, Instances(folder / "bans", 2, [redis.url], 100) as instances:
        eventually("all servers are together", instances.are_together)
        one, other = instances.all
        one.command("ban", "add", "192.0.2.1", "--for", "1h", "--reason", "a test")
        took = eventually("the ban has arrived", lambda: "192.0.2.1" in other.command("ban", "list"))
        redis.process.send_signal(signal.SIGSTOP)
        one.command("ban", "add", "192.0.2.2", "--for", "1h", "--reason", "a test")
        one.command("ban", "remove", "192.0.2.1")
        time.sleep(1.5)
        redis.process.send_signal(signal.SIGCONT)
        eventually("the second ban has arrived", lambda: "192.0.2.2" in other.command("ban", "list"))
        eventually("the first ban is lifted", lambda: "192.0.2.1" not in other.command("ban", "list"))
        published = other.status()["fleet"]["events_published"]
        verdict.check(published == 0, f"a server has published {published} bans of another one again")
        verdict.figure(f"a ban arrives within {took * 1000:.0f} ms, and after an outage")
