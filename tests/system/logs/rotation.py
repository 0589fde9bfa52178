"""logrotate itself, with the settings that docs/logs.md shows, and with copytruncate."""

from __future__ import annotations

import pathlib
import re
import shutil
import subprocess
import threading
import time

from ..server import REPOSITORY
from ..verdict import Verdict
from .logged import Logged, broken, lines_of

COPYTRUNCATE = "{log} {{\n    rotate 100\n    copytruncate\n    missingok\n}}\n"


def documented(verdict: Verdict, folder: pathlib.Path, short: bool) -> None:
    """The settings of the manual, under load: each line is in one file, and whole."""
    text = (REPOSITORY / "docs/logs.md").read_text()
    found = re.search(r"```text\n(/var/log/serow/\*\.log \{.*?\n\})\n```", text, re.S)
    assert found, "docs/logs.md shows no settings of logrotate"
    logs, pid = folder / "logs", folder / "serow.pid"
    logs.mkdir()
    settings = found.group(1).replace("/var/log/serow", str(logs)).replace("/run/serow.pid", str(pid))
    # As often as the test asks for it, and in this folder, whoever owns it.
    settings = settings.replace("rotate 14", "rotate 1000").replace("daily", "size 1").replace("delaycompress", "nocompress").replace("    compress\n", "")
    with Logged.serving(folder, str(logs / "access.log")) as server:
        pid.write_text(f"{server.pid}\n")
        rounds = rotate_under_load(server, folder, settings, short)
        server.settled()
        server.stop()
        lines = [line for path in logs.iterdir() for line in lines_of(path)]
    verdict.check(len(lines) == server.asked and not broken(lines),
                  f"logrotate: {len(lines)} lines of {server.asked} requests, broken {broken(lines)[:2]}")
    verdict.figure(f"logrotate: {rounds} rotations, {len(lines)} lines of {server.asked} requests")


def copytruncate(verdict: Verdict, folder: pathlib.Path, short: bool) -> None:
    """Copied and truncated: what is written goes to the new end, without a hole. (Lines between copying and truncating are
    logrotate's to lose, so that nothing is written meanwhile.)"""
    logs = folder / "logs"
    logs.mkdir()
    log = logs / "access.log"
    with Logged.serving(folder, str(log)) as server:
        for _ in range(3):
            server.ask(500)
            server.settled()
            rotate(folder, COPYTRUNCATE.format(log=log))
        server.ask(500)
        server.settled()
        lines = [line for path in logs.iterdir() for line in lines_of(path)]
        files = len(list(logs.iterdir()))
    verdict.check(files == 4 and len(lines) == server.asked and not broken(lines) and "\0" not in "".join(lines),
                  f"copytruncate: {len(lines)} lines of {server.asked} in {files} files, broken {broken(lines)[:2]}")


def rotate_under_load(server: Logged, folder: pathlib.Path, settings: str, short: bool) -> int:
    seconds, rounds = 1 if short else 10, 0
    load = threading.Thread(target=server.load, args=("-R", "10k", "-d", f"{seconds}s", "-c", "16"))
    load.start()
    while load.is_alive():
        time.sleep(0.2)
        rotate(folder, settings)
        rounds += 1
    load.join()
    return rounds


def rotate(folder: pathlib.Path, settings: str) -> None:
    program = shutil.which("logrotate", path="/usr/sbin:/usr/bin")
    assert program, "logrotate is missing; run: tests/install"
    file = folder / "logrotate.conf"
    file.write_text(settings)
    file.chmod(0o644)
    done = subprocess.run([program, "--force", "--state", str(folder / "state"), str(file)], capture_output=True, text=True)
    assert done.returncode == 0, f"logrotate: {done.stderr}"


CASES = (documented, copytruncate)
