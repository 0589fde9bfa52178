"""Reloads under load: no request fails, none is answered twice, none has to wait long."""

from __future__ import annotations

import dataclasses
import json
import pathlib
import time
import typing

from ..verdict import Verdict
from .running import Running, bench, outcome

# The bar: how much longer 99 of 100 requests may take while the server is reloaded.
BAR = 3.0
RATE = 5000


@dataclasses.dataclass
class Way:
    """How requests come."""

    name: str
    options: tuple[str, ...]
    unix: bool = False


WAYS = [
    Way("HTTP/1.1, TCP, kept alive", ("-c32",)),
    Way("HTTP/1.1, TCP, a connection each", ("-c32", "--no-keepalive")),
    Way("HTTP/1.1, unix, kept alive", ("-c32",), unix=True),
    Way("HTTP/1.1, unix, a connection each", ("-c32", "--no-keepalive"), unix=True),
    Way("HTTP/2, TCP", ("-c8", "--http2", "-m8")),
    Way("HTTP/2, unix", ("-c8", "--http2", "-m8"), unix=True),
]


def reloads(verdict: Verdict, folder: pathlib.Path, short: bool) -> None:
    """200 reloads during 1,000,000 requests, in all ways, every other one with a new process; in short, as many for each request."""
    count, requests = (1, 10_000) if short else (17, 170_000)
    total, done, slowest = 0, 0, 0.0
    for number, way in enumerate(WAYS):
        place = folder / str(number)
        place.mkdir()
        with Running(place) as server:
            calm = measure(server, way, requests // (1 if short else 4), [])
            before = server.status()["requests"]["total"]
            found = measure(server, way, requests, [server.replace, server.reload] * count)
            total, done = total + found["summary"]["requests"], done + 2 * count
            judge(verdict, way, found, server.status(), before, requests, 2 * count)
            ratio = found["latency"]["p99_us"] / calm["latency"]["p99_us"]
            slowest = max(slowest, ratio)
            verdict.say(f"{way.name}: p99 {calm['latency']['p99_us'] / 1000:.2f} ms without reloads, "
                        f"{found['latency']['p99_us'] / 1000:.2f} ms with {2 * count}; longest "
                        f"{calm['latency']['max_us'] / 1000:.1f} and {found['latency']['max_us'] / 1000:.1f} ms")
            verdict.compare_time(ratio <= BAR, f"{way.name}: p99 is {ratio:.1f} times as long during reloads")
            verdict.check("panic" not in server.said(), f"{way.name}: {server.said()[-300:]}")
    verdict.figure(f"{done} reloads during {total} requests: p99 at most {slowest:.1f} times as long")


def measure(server: Running, way: Way, requests: int, events: list[typing.Callable[[], None]]) -> dict:
    """A run, with the events spread over it."""
    place = ("--unix", str(server.socket)) if way.unix else ()
    run = bench(*way.options, *place, "-t1", "-n", str(requests), "-R", str(RATE), url=f"http://127.0.0.1:{server.port}/")
    pause = requests / RATE / (len(events) + 1)
    began = time.monotonic()
    for number, event in enumerate(events):
        time.sleep(max(0.0, began + pause * (number + 1) - time.monotonic()))
        event()
    return outcome(run)


def judge(verdict: Verdict, way: Way, found: dict, status: dict, before: int, requests: int, count: int) -> None:
    errors = {kind: number for kind, number in found["errors"].items() if number}
    verdict.check(not errors, f"{way.name}: {errors} of {requests} requests with {count} reloads")
    verdict.check(found["statuses"] == {"200": requests}, f"{way.name}: {json.dumps(found['statuses'])} for {requests}")
    counted = status["requests"]["total"] - before
    verdict.check(counted == requests, f"{way.name}: the server counted {counted} requests, the generator {requests}")


CASES = [reloads]
