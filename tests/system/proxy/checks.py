"""Active checks: a file that is away takes its server out of service and back, and no client notices."""

from __future__ import annotations

import collections
import contextlib
import json
import pathlib
import time

from ..polling import wait_until
from ..priorities.status import UnixConnection
from ..server import Broken
from ..verdict import Verdict
from .load import Load
from .proxies import Serow
from .upstream import Upstream, running

INTERVAL, RISE, FALL = 1.0, 2, 3
OPTIONS = ("--check", "http", "--check-path", "/live.html", "--check-interval", "1s", "--check-rise", str(RISE), "--check-fall", str(FALL))
# Seconds by which a check may be late, and by which this test may notice it late.
SLACK = 0.5
# Requests that were on their way to a server when it went out of service.
UNDER_WAY = 0.1


def states(proxy: Serow) -> dict[str, str]:
    """Of each server, by its name, as `GET /upstreams?format=json` says it in Tengine's format."""
    with contextlib.closing(UnixConnection(str(proxy.admin))) as connection:
        connection.request("GET", "/upstreams?format=json")
        response = connection.getresponse()
        text = response.read().decode()
    if response.status != 200:
        raise Broken(f"GET /upstreams?format=json: status {response.status}: {text[:200]}")
    servers = json.loads(text)["servers"]
    found = {server["name"]: server["status"] for server in servers["server"]}
    counts = collections.Counter(found.values())
    if (servers["total"], servers["up"], servers["down"]) != (len(found), counts["up"], counts["down"]):
        raise Broken(f"the counts are not those of the list: {text[:300]}")
    return found


def becomes(proxy: Serow, server: Upstream, state: str) -> float:
    """The moment at which it has this state."""
    if not wait_until(lambda: states(proxy).get(server.address) == state, pause=0.01):
        raise Broken(f"{server.address} never became {state}: {states(proxy)}")
    return time.monotonic()


def live_html(verdict: Verdict, folder: pathlib.Path, short: bool) -> None:
    """live.html is renamed, and renamed back."""
    servers = Upstream(folder, "a"), Upstream(folder, "b")
    for server in servers:
        (server.site / "live.html").write_text("alive\n")
    file, away = servers[0].site / "live.html", servers[0].site / "away.html"
    with running(*servers), Serow(folder, servers, OPTIONS) as proxy:
        for server in servers:
            becomes(proxy, server, "up")
        with Load(proxy.address, 16) as load:
            time.sleep(0.5)
            for _ in range(1 if short else 5):
                renamed = time.monotonic()
                file.rename(away)
                down = becomes(proxy, servers[0], "down")
                verdict.check(states(proxy)[servers[1].address] == "up", "the other server is down too")
                time.sleep(0.5)
                back = time.monotonic()
                away.rename(file)
                up = becomes(proxy, servers[0], "up")
                time.sleep(0.5)
                judge(verdict, servers[0], renamed, down, back, up)
        verdict.check(not load.failures(), f"requests failed: {load.kinds()}")
        verdict.check(len(load.asked) > 200, f"only {len(load.asked)} requests")
        verdict.say(f"{len(load.asked)} requests of clients, {load.kinds()}")


def judge(verdict: Verdict, server: Upstream, renamed: float, down: float, back: float, up: float) -> None:
    seen = server.seen()
    bad = sum(each.event == "404" and renamed < each.moment <= down for each in seen)
    good = sum(each.event == "200" and back < each.moment <= up for each in seen)
    verdict.figure(f"live.html away: down after {bad} bad checks, {down - renamed:.1f} s; back: up after {good} good ones, "
                   f"{up - back:.1f} s")
    text = f"down after {bad} bad checks, up after {good} good ones, not {FALL} and {RISE}"
    verdict.check(bad >= FALL and good >= RISE, text)
    # A test that looks late sees more checks than these.
    verdict.compare_time((bad, good) == (FALL, RISE), text)
    for name, took, count in (("down", down - renamed, FALL), ("up", up - back, RISE)):
        verdict.check((count - 1) * INTERVAL - SLACK < took, f"{name} after {took:.2f} s")
        verdict.compare_time(took < count * INTERVAL + SLACK, f"{name} after {took:.2f} s")
    asked = [each for each in seen if each.event == "did" and each.id != "-"]
    meanwhile = sum(down + UNDER_WAY < each.moment < back for each in asked)
    verdict.compare_time(meanwhile == 0, f"{meanwhile} requests went to a server that was down")
    verdict.check(any(each.moment > up for each in asked), "no request went to the server when it was up again")


CASES = (live_html,)
