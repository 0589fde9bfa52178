"""The five suites of litmus, with and without the sandbox of `serow run`, and below the path of a route."""

from __future__ import annotations

import pathlib
import re
import subprocess

from system.server import Server, free_port, program
from system.verdict import Verdict

# litmus 0.13; later ones may have more.
CASES = 104


def run(verdict: Verdict, place: pathlib.Path) -> None:
    site, work = place / "site", place / "litmus"
    site.mkdir()
    work.mkdir()
    with Server.files(site, "--write", "dav") as server:
        judge(verdict, "serow files", server, "", work)
    port = free_port()
    settings = place / "serow.toml"
    settings.write_text(f'listen = "127.0.0.1:{port}"\n[[site]]\n[[site.route]]\npath = "/docs/*"\n'
                        'files = { root = "site", write = "dav", strip-prefix = true }\n')
    with Server([program("serow"), "run", "-c", settings], port) as server:
        judge(verdict, "serow run, below /docs", server, "docs/", work)


def judge(verdict: Verdict, name: str, server: Server, path: str, work: pathlib.Path) -> None:
    command = ["litmus", f"http://127.0.0.1:{server.port}/{path}"]
    # It writes files with its requests where it is started.
    ran = subprocess.run(command, cwd=work, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=120)
    passed = sum(map(int, re.findall(r"(\d+) passed, 0 failed", ran.stdout)))
    warnings = ran.stdout.count("WARNING")
    if not verdict.check(ran.returncode == 0 and passed >= CASES and not warnings,
                         f"{name}: {passed} of {CASES} cases of litmus pass, {warnings} warnings"):
        verdict.say(ran.stdout)
    verdict.check(server.is_running() and not server.panics(), f"{name}: the server: {server.said()[-500:]}")
    verdict.figure(f"litmus passes, {name}")
