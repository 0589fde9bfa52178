"""Workers that are replaced, and applications that are deployed, under load: nobody notices."""

from __future__ import annotations

import os
import pathlib
import signal
from collections.abc import Callable

from ..proxy.load import Load
from ..polling import attempts, wait_until
from ..verdict import Verdict
from .faults import CONNECTIONS, row_of
from .servers import APPLICATION, Serow, answer, workers

# The message of Serow where the new code cannot be loaded.
REFUSAL = "the old one stays"
REPLACEMENTS = {True: 60, False: 1000}
DEPLOYS = {True: 8, False: 100}
TARGETS = ("/bytes/100", "/bytes/3000")


def replaced(verdict: Verdict, folder: pathlib.Path, short: bool) -> None:
    """Each worker is replaced after 20 to 40 requests."""
    one_after_the_other(verdict, folder, short, "replaced", "--max-requests", "40", "--min-requests", "20")


def reforked(verdict: Verdict, folder: pathlib.Path, short: bool) -> None:
    """All workers are forked again as soon as one of them has had 40 requests."""
    one_after_the_other(verdict, folder, short, "forked anew", "--preload", "--refork-after", "40")


def one_after_the_other(verdict: Verdict, folder: pathlib.Path, short: bool, how: str, *options: str) -> None:
    with Serow(folder, *options) as server:
        seen = set(workers(server))
        with Load(server.address, CONNECTIONS, pause=0.02, targets=TARGETS) as load:
            for _ in attempts(60 if short else 900):
                seen |= set(workers(server))
                if len(seen) >= REPLACEMENTS[short]:
                    break
    row = row_of(load, server, 0)
    verdict.check(len(seen) >= REPLACEMENTS[short], f"only {len(seen)} workers have been there")
    verdict.check(row.gets_failed + row.posts_failed == 0, f"workers were {how}: {row.kinds}")
    verdict.check(row.twice == 0, f"{row.twice} POSTs were carried out twice")
    verdict.figure(f"{len(seen)} workers {how} one after the other, {row.gets + row.posts} requests, none failed, longest {row.longest:.2f} s")


def rack_deployed(verdict: Verdict, folder: pathlib.Path, short: bool) -> None:
    """A Rack application is reloaded again and again."""
    code = APPLICATION.read_text().replace("ENV.fetch('VERSION', '')", "VERSION")
    deployed(verdict, folder / "config.ru", short, lambda version: f"VERSION = '{version}'\n{code}", "raise 'broken'\n")


def psgi_deployed(verdict: Verdict, folder: pathlib.Path, short: bool) -> None:
    """The same with a PSGI application."""
    code = APPLICATION.with_name("app.psgi").read_text()
    deployed(verdict, folder / "app.psgi", short, lambda version: code.replace("$ENV{VERSION} // ''", f"'{version}'"), "die 'broken';\n")


def deployed(verdict: Verdict, file: pathlib.Path, short: bool, code: Callable[[int], str], broken_code: str) -> None:
    """One time of five the new version is broken, and the old one stays."""
    version = 0
    file.write_text(code(0))
    with Serow(file.parent, application=file) as server, Load(server.address, CONNECTIONS, targets=TARGETS) as load:
        for deploy in range(1, DEPLOYS[short] + 1):
            broken = deploy % 5 == 0
            file.write_text(broken_code if broken else code(deploy))
            failures = server.said().count(REFUSAL)
            os.kill(server.pid, signal.SIGHUP)
            expected = version if broken else deploy
            wait_until(lambda: server.said().count(REFUSAL) > failures if broken else is_served(server) == str(deploy))
            found = is_served(server)
            verdict.check(found == str(expected), f"deploy {deploy}: version {found} is served, not {expected}; {server.said()[-2000:]}")
            version = expected
    row = row_of(load, server, 0)
    verdict.check(row.gets_failed + row.posts_failed == 0, f"deploys: {row.kinds}")
    verdict.check(row.twice == 0, f"{row.twice} POSTs were carried out twice")
    verdict.figure(f"{DEPLOYS[short]} deploys of {file.name}, {row.gets + row.posts} requests, none failed, longest {row.longest:.2f} s")


def is_served(server: Serow) -> str:
    return answer(server, "GET", "/version")[1]


CASES = (replaced, reforked, rack_deployed, psgi_deployed)
