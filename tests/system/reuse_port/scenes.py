"""Processes join and leave while requests come, each with a connection of its own: none of the requests fails."""

from __future__ import annotations

import pathlib
import socket
import statistics
import time
from collections.abc import Callable

from ..server import free_port
from ..verdict import Verdict
from .load import CONNECTIONS, Load
from .members import Member, Nginx, Serow, SerowRun

# A load is run again and again while somebody comes or goes; one takes half a second, or two.
CHUNKS = {True: 5_000, False: 20_000}
REPLACEMENTS, REQUESTS = 50, 500_000
# How far the share of a process may be from that of its sockets; of so many connections chance leaves 3 %.
SPREAD = 0.3
SPREAD_REQUESTS = 3000


class Company:
    """The processes that share a port, in the order in which they came."""

    def __init__(self, folder: pathlib.Path, short: bool, host: str = "127.0.0.1", kind: type[Member] = Serow,
                 *options: str) -> None:
        (folder / "site").mkdir(exist_ok=True)
        (folder / "site" / "a.txt").write_text("Hello!\n")
        self.folder, self.kind, self.options, self.chunk = folder, kind, options, CHUNKS[short]
        self.address = f"{host}:{free_port()}"
        self.members: list[Member] = []
        self.count = 0
        self.times: list[float] = []

    @property
    def port(self) -> int:
        return int(self.address.rpartition(":")[2])

    def join(self, workers: int = 2) -> None:
        self.count += 1
        self.members.append(self.kind(self.folder, self.count, self.address, workers, *self.options))

    def leave(self, *numbers: int) -> None:
        """Those of these numbers leave, all at once."""
        leaving = [self.members[number] for number in numbers]
        for member in leaving:
            member.tell_to_leave()
        self.times += [member.wait() for member in leaving]
        self.members = [member for member in self.members if member not in leaving]

    def load(self, chunk: int = 0, enough: int = 0, host: str = "127.0.0.1") -> Load:
        scheme, options = ("https", ("--insecure",)) if "--tls" in self.options else ("http", ())
        return Load(f"{scheme}://{host}:{self.port}/a.txt", chunk or self.chunk, enough, *options)

    def __enter__(self) -> "Company":
        return self

    def __exit__(self, *_) -> None:
        for member in self.members:
            member.kill()


def judge(verdict: Verdict, name: str, company: Company, load: Load) -> None:
    times = f"leaving took {statistics.median(company.times) * 1000:.0f} ms, {max(company.times) * 1000:.0f} at most"
    verdict.check(not load.said and load.failed == 0, f"{name}: {load.said or load}")
    verdict.check("panic" not in company.members[0].said(), f"{name}: {company.members[0].said()}")
    verdict.say(f"{name}: {load}; {times}")
    check_spread(verdict, name, company)


def check_spread(verdict: Verdict, name: str, company: Company) -> None:
    """Connections go to all that are still there, as many to each of their sockets."""
    before = [member.accepted() for member in company.members]
    with company.load(SPREAD_REQUESTS) as load:
        pass
    counts = [member.accepted() - number for member, number in zip(company.members, before)]
    sockets = sum(member.workers for member in company.members)
    for count, member in zip(counts, company.members):
        fair = load.requests * member.workers / sockets
        verdict.check(abs(count - fair) < SPREAD * fair, f"{name}: connections are not spread: {counts}, {fair:.0f} are fair")


def replaced(verdict: Verdict, folder: pathlib.Path, short: bool) -> None:
    """The bar: the old process is replaced by a new one again and again."""
    count, enough = (10, 0) if short else (REPLACEMENTS, REQUESTS)
    with Company(folder, short) as company:
        company.join()
        with company.load(enough // 5, enough) as load:
            for _ in range(count):
                company.join()
                company.leave(0)
                time.sleep(0.0 if short else 0.3)
        judge(verdict, "replaced", company, load)
        verdict.figure(f"{count} replacements under {CONNECTIONS} connections: {load}")


def run_replaced(verdict: Verdict, folder: pathlib.Path, short: bool) -> None:
    """Servers of settings files are replaced, and reloaded in between."""
    with Company(folder, short, kind=SerowRun) as company:
        company.join()
        with company.load() as load:
            for number in range(40 if short else 6 * REPLACEMENTS):
                company.join()
                if number % 10 == 0:
                    company.members[1].reload()
                company.leave(0)
        judge(verdict, "run_replaced", company, load)


def rolled_back(verdict: Verdict, folder: pathlib.Path, short: bool) -> None:
    """The new process leaves, and the old one stays."""
    with Company(folder, short) as company:
        company.join()
        with company.load() as load:
            for _ in range(4 if short else 30):
                company.join()
                company.leave(-1)
        judge(verdict, "rolled back", company, load)


def resized(verdict: Verdict, folder: pathlib.Path, short: bool) -> None:
    """Processes with more threads, or fewer, than the one before."""
    with Company(folder, short) as company:
        company.join(1)
        with company.load() as load:
            for workers in (4, 1, 3) if short else (4, 1, 70, 2, 8, 1) * 4:
                company.join(workers)
                company.leave(0)
        judge(verdict, "resized", company, load)


def three(verdict: Verdict, folder: pathlib.Path, short: bool) -> None:
    """Three and more processes: the first, the middle, the last leave, and two at the same moment."""
    with Company(folder, short) as company:
        company.join()
        with company.load() as load:
            for leaving in ((0, 1), (1,), (0, 2)) if short else ((0, 1), (1,), (2,), (0, 2), (1, 2), (0,)) * 5:
                while len(company.members) < 3:
                    company.join(1 + company.count % 3)
                company.leave(*leaving)
            while len(company.members) < 3:
                company.join()
        judge(verdict, "three", company, load)


def everywhere(verdict: Verdict, folder: pathlib.Path, short: bool) -> None:
    """At all addresses of the machine, of both families."""
    with Company(folder, short, "") as company:
        company.join()
        second = "[::1]" if has_ipv6() else "127.0.0.1"
        with company.load(company.chunk // 2) as load, company.load(company.chunk // 2, host=second) as ipv6:
            for number in range(4 if short else 30):
                company.join()
                company.leave(-(number % 3 == 2))
        verdict.check(not ipv6.said and ipv6.failed == 0, f"everywhere, IPv6: {ipv6.said or ipv6}")
        judge(verdict, "everywhere", company, load)


def has_ipv6() -> bool:
    """Many containers do not."""
    try:
        with socket.create_server(("::1", 0), family=socket.AF_INET6):
            return True
    except OSError:
        return False


def encrypted(verdict: Verdict, folder: pathlib.Path, short: bool) -> None:
    """With a handshake of TLS in each connection, which takes longer than any other request."""
    with Company(folder, short, "127.0.0.1", Serow, "--tls", "self-signed") as company:
        company.join()
        with company.load(company.chunk // 10) as load:
            for _ in range(3 if short else 20):
                company.join()
                company.leave(0)
        judge(verdict, "encrypted", company, load)


def crashed(verdict: Verdict, folder: pathlib.Path, short: bool) -> None:
    """One is killed while it leaves: what it lost is lost, but the next one that comes finds no trace of it."""
    with Company(folder, short) as company:
        company.join()
        for pause in (0.0, 0.002, 0.02, 0.05):
            company.join()
            company.members[0].tell_to_leave()
            time.sleep(pause)
            company.members.pop(0).kill()
            company.join()
            check_spread(verdict, f"killed after {pause * 1000:.0f} ms", company)
            company.leave(0)


def without(verdict: Verdict, folder: pathlib.Path, short: bool) -> None:
    """For comparison, the losses of a server that just closes its sockets: nginx with `listen … reuseport`."""
    count, enough = (10, 0) if short else (REPLACEMENTS, REQUESTS)
    with Company(folder, short, "127.0.0.1", Nginx) as company:
        company.join()
        with company.load(enough // 5, enough) as load:
            for _ in range(count):
                company.join()
                company.leave(0)
                time.sleep(0.0 if short else 0.3)
        verdict.check(not load.said, f"nginx: {load.said}")
        verdict.figure(f"nginx, the same: {load}")


SCENES: list[Callable[[Verdict, pathlib.Path, bool], None]] = [
    replaced, run_replaced, rolled_back, resized, three, everywhere, encrypted, crashed]
PEERS = [without]
