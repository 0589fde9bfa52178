"""Requests to a php-fpm that Serow runs, while it is reloaded and its processes are killed; and single faults."""

from __future__ import annotations

import contextlib
import os
import pathlib
import tempfile
import time

from ..polling import wait_until
from ..server import Server, free_port, program
from ..verdict import Verdict, arguments
from . import single
from .client import Clients, Mixture
from .faults import Faults, children_of, masters_of
from .judge import judge
from .site import Site

CHILDREN = 6
SHORT = {"requests": 2_000, "reloads": 3, "kills": 3, "masters": 1}
FULL = {"requests": 100_000, "reloads": 50, "kills": 50, "masters": 10}
# Wrong requests of which the first are shown.
SHOWN = 12


def main() -> None:
    parser = arguments("php-faults", "Sends requests to scripts that Serow runs with php-fpm, reloads it and kills its processes meanwhile, and "
                       "compares the responses with a ledger that the scripts write.")
    for name, kind in (("requests", "requests"), ("reloads", "reloads"), ("kills", "kill -9 of a child"), ("masters", "kill -9 of a master")):
        parser.add_argument(f"--{name}", type=int, help=f"{kind} (default: {FULL[name]:,}, and {SHORT[name]:,} with --short)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", choices=("load", "single"), help="the load, or the single faults")
    options = parser.parse_args()
    defaults = SHORT if options.short else FULL
    counts = {name: default if getattr(options, name) is None else getattr(options, name) for name, default in defaults.items()}
    verdict = Verdict("php-faults")
    if options.only != "single":
        with running(verdict) as (site, server):
            load(site, server, counts, options.seed, verdict)
    if options.only != "load":
        with running(verdict) as (site, server):
            single.crash(site, server, verdict)
            single.stop(site, server, verdict)
            single.stop_idle(site, server, verdict)
        with running(verdict, "--app-timeout", "1s") as (site, server):
            single.stop_for_good(site, server, verdict)
    verdict.finish()


@contextlib.contextmanager
def running(verdict: Verdict, *options: str):
    """Serow with the scripts; nothing of it is left behind."""
    with tempfile.TemporaryDirectory(prefix="php-faults-") as folder:
        place = pathlib.Path(folder).resolve()
        temporary = place / "tmp"
        temporary.mkdir()
        site, port = Site(place), free_port()
        command = [program("serow"), "app", site.root, "--listen", f"127.0.0.1:{port}", "--processes", CHILDREN, "--workers", "1", *options]
        # Its sockets are below TMPDIR.
        with Server(command, port, wrap=["env", f"TMPDIR={temporary}"]) as server:
            check_settled(temporary, server, verdict)
            yield site, server
            check_settled(temporary, server, verdict)
        wait_until(lambda: not site.processes(), 10)
        verdict.check(not site.processes(), f"processes that are left: {site.processes()}")
        verdict.check(not sockets(temporary), f"folders that are left: {sockets(temporary)}")
        verdict.check(server.process.returncode == 0 and not server.panics(), f"Serow: {server.process.returncode} {server.said()[-800:]}")
        site.ledger.close()


def sockets(temporary: pathlib.Path) -> list[str]:
    """Folders of sockets; PHP's files of uploads that were killed are in this one, too."""
    return [name for name in os.listdir(temporary) if name.startswith("serow-")]


def check_settled(temporary: pathlib.Path, server: Server, verdict: Verdict) -> None:
    """At the beginning, and after all faults, there is one php-fpm with its children and its sockets."""
    def state() -> tuple[int, int, int]:
        masters = masters_of(server.pid)
        return len(masters), sum(len(children_of(master)) for master in masters), len(sockets(temporary))

    expected = (1, CHILDREN, 1)
    wait_until(lambda: state() == expected)
    verdict.check(state() == expected, f"masters, children and folders: {state()}, expected {expected}; {server.said()[-800:]}")


def load(site: Site, server: Server, counts: dict[str, int], seed: int, verdict: Verdict) -> None:
    requests = counts["requests"]
    faults = Faults(server, seed, requests, {"reload": counts["reloads"], "child": counts["kills"], "master": counts["masters"]})
    mixture, clients, began = Mixture(seed), Clients(server.port, faults.clock, faults.answered), time.monotonic()
    outcomes = clients.send(map(mixture.request, range(requests)))
    seconds = time.monotonic() - began
    verdict.check(not faults.waiting, f"faults that were not done: {faults.waiting[:3]}")

    def is_complete() -> bool:
        return not judge(outcomes, site.rows(), faults.killed()).wrong

    # Scripts may go on after the last response.
    wait_until(is_complete, 5, pause=0.2)
    judgement = judge(outcomes, site.rows(), faults.killed())
    said = server.said().splitlines()
    for line in judgement.wrong[:SHOWN]:
        verdict.check(False, line)
        number = line.split()[0]
        for at, one in enumerate(said):
            if f".php/{number}:" in one:
                verdict.say("\n  ".join(["Serow, around it:", *said[max(0, at - 5):at + 3]]))
    verdict.check(not judgement.wrong, f"{len(judgement.wrong)} of {requests:,} requests are wrong, seed {seed}: {dict(judgement.statuses)}")
    generations = {outcome.process for outcome in outcomes if outcome.is_right}
    verdict.check(len(generations) >= CHILDREN, f"only {len(generations)} processes have answered")
    verdict.figure(f"{requests:,} requests, {counts['reloads']} reloads, {counts['kills']} children and {counts['masters']} masters killed, seed {seed}: "
                   f"{len(judgement.wrong)} lost or doubled, {judgement.killed} answered with 502 in killed children, work after "
                   f"{judgement.lost_work} responses lost with them; {len(generations)} processes; {requests / seconds:,.0f} requests/s")
