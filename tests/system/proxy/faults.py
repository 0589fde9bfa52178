"""Faults of one of three servers under load, and their effect on clients."""

from __future__ import annotations

import concurrent.futures
import dataclasses
import pathlib
import random
import signal
import time
from collections.abc import Callable

from ..server import Server
from ..verdict import Verdict
from . import proxies
from .account import Row, Window, account
from .load import CONNECTIONS, Load
from .proxies import Serow
from .store import Rows
from .upstream import Upstream, running

# Before the fault: retries are a share of the requests of the last seconds, so there must have been some. And behind it.
CALM, AFTERWARDS = 1.0, 0.3
# A server that failed again and again is left alone for ten times two seconds at most.
BACK = 25.0
# The time for a response that the proxies are given, and what else a request may take: Serow keeps times to a quarter of a second.
TIMEOUT, REST = 1.0, 0.75
RESTARTS = {True: 10, False: 100}
# Servers and clients of one fault take half a core. The full test, whose figures are recorded, runs each fault alone.
AT_A_TIME = {True: 3, False: 1}


def told(mode: str) -> Callable[[Upstream, bool], list[Window]]:
    def happen(victim: Upstream, short: bool) -> list[Window]:
        began = time.monotonic()
        victim.tell(mode)
        window = began, time.monotonic()
        # The full test is long enough for a server that was left alone to be tried again, and to fail again.
        time.sleep(1.0 if short else 5.0)
        victim.tell("normal")
        return [window] if mode == "refuse" else []
    return happen


def stopped(victim: Upstream, short: bool) -> list[Window]:
    victim.signal(signal.SIGSTOP)
    time.sleep(TIMEOUT + 0.5 if short else 5.0)
    victim.signal(signal.SIGCONT)
    return []


def killed(victim: Upstream, short: bool) -> list[Window]:
    window = fall(victim.kill)
    time.sleep(0.7 if short else 5.0)
    victim.start()
    return [window]


def killed_again_and_again(victim: Upstream, short: bool) -> list[Window]:
    return replaced(victim, victim.kill, RESTARTS[short])


def restarted(victim: Upstream, short: bool) -> list[Window]:
    return replaced(victim, victim.leave, RESTARTS[short])


def replaced(victim: Upstream, end: Callable[[], None], count: int) -> list[Window]:
    windows = []
    for _ in range(count):
        windows.append(fall(end))
        time.sleep(random.uniform(0, 0.05))
        victim.start()
        time.sleep(0.05)
    return windows


def fall(end: Callable[[], None]) -> Window:
    began = time.monotonic()
    end()
    return began, time.monotonic()


@dataclasses.dataclass(frozen=True)
class Fault:
    name: str
    happen: Callable[[Upstream, bool], list[Window]]
    # Whether it happens to the server at a unix socket; otherwise to one at a port.
    unix: bool = False
    # Whether it cuts bodies that have begun to arrive, which even the best proxy cannot make good.
    cuts: bool = False


FAULTS = (
    Fault("killed (SIGKILL), restarted later", killed),
    Fault("killed, on a unix socket", killed, unix=True),
    Fault("killed and restarted, 100 times", killed_again_and_again),
    Fault("stopped gracefully and restarted, 100 times", restarted),
    Fault("stopped (SIGSTOP), then continued", stopped),
    Fault("refusing connections", told("refuse")),
    Fault("refusing connections, on a unix socket", told("refuse"), unix=True),
    Fault("resetting in the middle of the header", told("reset-head")),
    Fault("resetting in the middle of the body", told("reset-body"), cuts=True),
    Fault("responding after 10 s", told("delay 10")),
    Fault("responding with something other than HTTP", told("garbage")),
    Fault("closing idle connections", told("close")),
)


def sit(kind: type[Server], fault: Fault, folder: pathlib.Path, short: bool) -> tuple[Row, str]:
    """One fault behind one proxy, and how the failures were called."""
    folder.mkdir()
    upstreams = Upstream(folder, "a"), Upstream(folder, "b"), Upstream(folder, "c", unix=True)
    victim = upstreams[2] if fault.unix else upstreams[0]
    with running(*upstreams), kind(folder, upstreams) as proxy:
        with Load(proxy.address) as load:
            time.sleep(CALM)
            windows = fault.happen(victim, short)
            over = time.monotonic()
            # In the full test it comes back, and its share with it.
            time.sleep(AFTERWARDS)
            while not short and not asked_since(victim, over) and time.monotonic() < over + BACK:
                time.sleep(0.5)
        said = f"; {proxy.panics()[0]}" if proxy.panics() else ""
        # A server that stood still may still be reading the requests that it was sent.
        time.sleep(0.1)
    row = account(load.asked, [seen for upstream in upstreams for seen in upstream.seen()], windows, fault.cuts)
    row.back = asked_since(victim, over)
    return row, load.kinds() + said


def asked_since(server: Upstream, moment: float) -> int:
    return sum(seen.moment > moment and seen.event == "did" for seen in server.seen())


def happen_to_one(verdict: Verdict, folder: pathlib.Path, short: bool) -> None:
    """Faults of one of three servers behind Serow: no client whose request may be repeated notices them."""
    requests = 0
    with concurrent.futures.ThreadPoolExecutor(AT_A_TIME[short]) as pool:
        waiting = [pool.submit(sit, Serow, fault, folder / str(number), short) for number, fault in enumerate(FAULTS)]
    for number, fault in enumerate(FAULTS):
        row, kinds = waiting[number].result()
        requests += row.gets + row.posts
        check(verdict, fault, row, kinds, short)
    verdict.figure(f"{len(FAULTS)} faults of one of three servers, {requests} requests through {CONNECTIONS} connections")


def check(verdict: Verdict, fault: Fault, row: Row, kinds: str, short: bool) -> None:
    name = fault.name
    verdict.say(f"{name}: {row.gets} GET, {row.gets_failed} failed; {row.posts} POST, {row.posts_failed} failed; {row.cut} cut; "
                f"longest {row.longest:.2f} s ({kinds})")
    verdict.check(row.gets > 100 and row.posts > 20, f"{name}: there was no load")
    verdict.check(row.gets_failed == 0, f"{name}: {row.gets_failed} of {row.gets} GETs failed: {kinds}")
    verdict.check(row.needless == 0, f"{name}: {row.needless} POSTs failed that no server had seen: {kinds}")
    verdict.check(row.twice == 0, f"{name}: {row.twice} POSTs were carried out twice")
    verdict.check(row.wrong == 0, f"{name}: {row.wrong} responses were not what the server had sent")
    verdict.check("panic" not in kinds, f"{name}: {kinds}")
    verdict.check(short or row.back > 0, f"{name}: the server got no request when it was well again")
    verdict.compare_time(row.longest < TIMEOUT + REST, f"{name}: a request took {row.longest:.2f} s")


def compare(verdict: Verdict, folder: pathlib.Path, short: bool, only: str) -> Rows:
    """Those whose name contains this behind each proxy, for the table; only counted."""
    found: Rows = {}
    for kind in (Serow, *proxies.PEERS):
        found[kind.name] = {}
        for number, fault in enumerate(FAULTS):
            if only not in fault.name:
                continue
            row, kinds = sit(kind, fault, folder / f"{kind.name}-{number}", short)
            found[kind.name][fault.name] = row
            verdict.say(f"{kind.name}: {fault.name}: {row.gets} GET, {row.gets_failed} failed; {row.posts} POST, {row.posts_failed} "
                        f"failed, {row.needless} needlessly, {row.twice} done twice; {row.cut} cut; longest {row.longest:.2f} s ({kinds})")
    return found


CASES = (happen_to_one,)
