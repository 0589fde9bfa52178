"""Single faults: a child that crashes, one that is stopped with a request, one that is stopped while it is idle."""

from __future__ import annotations

import asyncio
import itertools
import os
import signal
from collections.abc import Callable

from ..polling import wait_until
from ..server import Server
from ..verdict import Verdict
from .client import Clients, Outcome, Request
from .faults import children_of, masters_of
from .site import Site

OTHERS = 60
# More than children.
CRASHES = 15
NUMBERS = itertools.count(1)


def crash(site: Site, server: Server, verdict: Verdict) -> None:
    """A script that crashes costs its own request, each time; others go on. It runs once for POST, and never more than twice."""
    for method, most in (("POST", 1), ("GET", 2)):
        crashing = [request("crash", method) for _ in range(CRASHES)]
        mixed = [each for crashed in crashing for each in (crashed, *(request("index") for _ in range(10)))]
        outcomes = send(server, mixed, 1)
        failed = [outcome for outcome in outcomes if not outcome.is_right]
        is_expected = [outcome.request for outcome in failed] == crashing and all(outcome.status == 502 for outcome in failed)
        verdict.check(is_expected, f"{method}, scripts that crash: {failed}")
        rows = site.rows()
        runs = [len(rows[each.number]) for each in crashing]
        verdict.check(all(0 < count <= most for count in runs), f"{method}: scripts that crash ran so often: {runs}")
        verdict.figure(f"{method}: {len(crashing)} scripts crashed in {sum(runs)} children, {len(failed)} of {len(outcomes)} requests failed")


def stop(site: Site, server: Server, verdict: Verdict) -> None:
    """A child is stopped with its request: others go on, and its request is answered when it goes on."""
    stopped, others, process = with_stopped(site, server, lambda process: os.kill(process, signal.SIGCONT))
    verdict.check(stopped.is_right and stopped.process == process, f"the request of a stopped child: {stopped}")
    check_others(others, process, verdict)
    verdict.check(len(site.rows()[stopped.request.number]) == 1, "the request of a stopped child ran twice")
    verdict.figure(f"a child stopped with a request: {len(others)} other requests answered meanwhile, then its own")


def stop_for_good(site: Site, server: Server, verdict: Verdict) -> None:
    """A child that is stopped and stays so is killed by app-timeout, and replaced."""
    stopped, others, process = with_stopped(site, server, lambda _: None)
    verdict.check(stopped.status == 504, f"the request of a child that stays stopped: {stopped}")
    check_others(others, process, verdict)
    replaced = wait_until(lambda: process not in children(server))
    verdict.check(replaced, f"{process} is stopped and still there")
    verdict.check(len(site.rows()[stopped.request.number]) == 1, "the request of a child that stays stopped ran twice")
    outcomes = send(server, [request("post") for _ in range(OTHERS)], 12)
    verdict.check(all(outcome.is_right for outcome in outcomes), f"after its end: {[outcome for outcome in outcomes if not outcome.is_right][:3]}")
    verdict.figure("a child stopped for good: 504 by app-timeout, and another child in its place")


def stop_idle(site: Site, server: Server, verdict: Verdict) -> None:
    """A child is stopped while it is idle: what comes to it goes to others."""
    process = min(children(server))
    os.kill(process, signal.SIGSTOP)
    sent = [request("post") for _ in range(OTHERS)]
    outcomes = send(server, sent, 12)
    os.kill(process, signal.SIGCONT)
    check_others(outcomes, process, verdict)

    def answers() -> bool:
        found = send(server, [request("post") for _ in range(OTHERS)], 12)
        sent.extend(outcome.request for outcome in found)
        return any(outcome.is_right and outcome.process == process for outcome in found)

    verdict.check(wait_until(answers, 5), f"{process} gets no requests after it was stopped")
    rows = site.rows()
    verdict.check(all(len(rows[each.number]) == 1 for each in sent), f"requests ran twice: {[rows[each.number] for each in sent if len(rows[each.number]) != 1]}")
    verdict.figure(f"a child stopped while idle: {len(outcomes)} requests answered by others")


def with_stopped(site: Site, server: Server, then: Callable[[int], None]) -> tuple[Outcome, list[Outcome], int]:
    """Stops the child of a long request, sends others, and calls `then`; the outcome of the long one, those of the others, and the
    child."""
    async def run() -> tuple[Outcome, list[Outcome], int]:
        site.go(is_on=False)
        long = request("long")
        waiting = asyncio.create_task(clients(server).run([long], 1))
        while (process := site.process_of(long.number)) is None and not waiting.done():
            await asyncio.sleep(0.01)
        assert process is not None, waiting.result()
        os.kill(process, signal.SIGSTOP)
        site.go()
        others = await clients(server).run([request("post") for _ in range(OTHERS)], 12)
        then(process)
        return (await waiting)[0], others, process

    return asyncio.run(run())


def check_others(others: list[Outcome], process: int, verdict: Verdict) -> None:
    wrong = [outcome for outcome in others if not outcome.is_right or outcome.process == process]
    verdict.check(not wrong, f"beside a stopped child: {wrong[:3]}")


def request(script: str, method: str = "") -> Request:
    return Request(next(NUMBERS), script, method=method or ("GET" if script == "index" else "POST"))


def clients(server: Server) -> Clients:
    return Clients(server.port, clock=lambda: 0)


def send(server: Server, requests: list[Request], connections: int) -> list[Outcome]:
    return clients(server).send(requests, connections)


def children(server: Server) -> set[int]:
    return {child for master in masters_of(server.pid) for child in children_of(master)}
