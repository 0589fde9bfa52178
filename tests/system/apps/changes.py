"""Workers that are replaced, and applications that are deployed, under load: nobody notices."""

from __future__ import annotations

import os
import pathlib
import signal
import time

from ..proxy.load import Load
from ..verdict import Verdict
from .faults import CONNECTIONS, row_of
from .servers import APPLICATION, Serow, answer, workers

REPLACEMENTS = {True: 60, False: 1000}
DEPLOYS = {True: 8, False: 100}
TARGETS = ("/bytes/100", "/bytes/3000")


def replaced(verdict: Verdict, folder: pathlib.Path, short: bool) -> None:
    """Each worker is replaced after 20 to 40 requests."""
    with Serow(folder, "--max-requests", "40", "--min-requests", "20") as server:
        seen = set(workers(server))
        with Load(server.address, CONNECTIONS, pause=0.02, targets=TARGETS) as load:
            deadline = time.monotonic() + (60 if short else 900)
            while len(seen) < REPLACEMENTS[short] and time.monotonic() < deadline:
                seen |= set(workers(server))
                time.sleep(0.02)
    row = row_of(load, server, 0)
    verdict.check(len(seen) >= REPLACEMENTS[short], f"only {len(seen)} workers have been there")
    verdict.check(row.gets_failed + row.posts_failed == 0, f"workers were replaced: {row.kinds}")
    verdict.check(row.twice == 0, f"{row.twice} POSTs were carried out twice")
    verdict.figure(f"{len(seen)} workers one after the other, {row.gets + row.posts} requests, none failed, longest {row.longest:.2f} s")


def deployed(verdict: Verdict, folder: pathlib.Path, short: bool) -> None:
    """The application is loaded anew again and again; one time of five its new version is broken, and the old one stays."""
    file, version = folder / "config.ru", 0
    code = APPLICATION.read_text().replace("ENV.fetch('VERSION', '')", "VERSION")

    def write(new: int) -> None:
        file.write_text(f"VERSION = '{new}'\n{code}")

    write(0)
    with Serow(folder, application=file) as server, Load(server.address, CONNECTIONS, targets=TARGETS) as load:
        for deploy in range(1, DEPLOYS[short] + 1):
            broken = deploy % 5 == 0
            file.write_text("raise 'broken'\n") if broken else write(deploy)
            failures = server.said().count("the old one stays")
            os.kill(server.pid, signal.SIGHUP)
            expected = version if broken else deploy
            deadline = time.monotonic() + 20
            while time.monotonic() < deadline:
                if broken and server.said().count("the old one stays") > failures:
                    break
                if not broken and answer(server, "GET", "/version")[1] == str(deploy):
                    break
                time.sleep(0.05)
            is_served = answer(server, "GET", "/version")[1]
            verdict.check(is_served == str(expected), f"deploy {deploy}: version {is_served} is served, not {expected}")
            version = expected
    row = row_of(load, server, 0)
    verdict.check(row.gets_failed + row.posts_failed == 0, f"deploys: {row.kinds}")
    verdict.check(row.twice == 0, f"{row.twice} POSTs were carried out twice")
    verdict.figure(f"{DEPLOYS[short]} deploys, {row.gets + row.posts} requests, none failed, longest {row.longest:.2f} s")


CASES = (replaced, deployed)
