"""`serow run`: generations that replace each other under load write all their lines, to the same file or to commands of
their own."""

from __future__ import annotations

import os
import pathlib
import subprocess
import threading
import time

from ..server import free_port, program
from ..verdict import Verdict
from .logged import Logged, broken, lines_of, together, until

SETTINGS = """\
listen = ["127.0.0.1:{port}"]
admin = "unix:door"
access-log = "{log}"
[[site]]
files = {{ root = "site" }}
"""


SITES = """\
listen = ["127.0.0.1:{port}"]
admin = "unix:door"
access-log = "root.log"
[[site]]
hosts = ["127.0.0.1"]
[[site.route]]
path = "/*"
access-log = [{{ file = "{log}" }}, "| cat >>{folder}/piped.log"]
files = {{ root = "site" }}
"""


class Generations(Logged):
    """`serow run` with a log as the settings say."""

    @classmethod
    def logging(cls, folder: pathlib.Path, log: str, text: str = SETTINGS) -> "Generations":
        port, settings = free_port(), folder / "serow.toml"
        (folder / "site").mkdir()
        (folder / "site" / "index.html").write_text("<p>Hello!</p>\n")
        settings.write_text(text.format(port=port, log=log, folder=folder))
        server = cls([program("serow"), "run", "-c", settings], port)
        server.door, server.asked = f"unix:{folder}/door", 0
        return server

    def reload(self) -> None:
        """Reloads, or says how the server has ended."""
        reload = subprocess.run([program("serow"), "reload", "--new-process", "--admin", self.door], capture_output=True, text=True)
        assert reload.returncode == 0, f"{reload.stderr} {self.process.poll()} {self.said()[-1000:]}"


def reloaded(verdict: Verdict, folder: pathlib.Path, short: bool) -> None:
    """One file for all: reloaded, and moved away, under load."""
    log = folder / "access.log"
    with Generations.logging(folder, "access.log") as server:
        def disturb() -> None:
            server.reload()
            os.rename(log, folder / f"old.{time.monotonic()}")
            server.reopen()

        reloads = disturbed(server, disturb, short)
        server.stop()
        lines = [line for path in (log, *folder.glob("old.*")) for line in lines_of(path)]
    verdict.check(len(lines) == server.asked and not broken(lines),
                  f"reloaded: {len(lines)} lines of {server.asked} requests, broken {broken(lines)[:2]}")
    verdict.figure(f"reloaded: {reloads} generations, as many times moved away: {len(lines)} lines of {server.asked} requests")


def commands(verdict: Verdict, folder: pathlib.Path, short: bool) -> None:
    """Each generation has a command of its own, which has all of its lines, ends with it, and holds none of its sockets."""
    log, pids = folder / "access.log", folder / "pids"
    with Generations.logging(folder, f"| echo $$ >>{pids}; exec cat >>{log}") as server:
        server.ask(1)
        lines_of(log, 1)
        pid = int(pids.read_text())
        ours = {os.readlink(f"/proc/self/fd/{number}") for number in os.listdir("/proc/self/fd")
                if os.path.exists(f"/proc/self/fd/{number}")}
        theirs = {os.readlink(path) for path in pathlib.Path(f"/proc/{pid}/fd").iterdir()} - ours
        verdict.check(not any("socket:" in place for place in theirs), f"commands: it holds {theirs}")
        reloads = disturbed(server, server.reload, short)
        server.stop()
        lines, found = lines_of(log), lines_of(pids)
    left = until(lambda: [pid for pid in found if os.path.exists(f"/proc/{pid}/fd/0")], lambda left: not left)
    verdict.check(len(lines) == server.asked and not broken(lines),
                  f"commands: {len(lines)} lines of {server.asked} requests, broken {broken(lines)[:2]}")
    verdict.check(not left, f"commands: {left} of {found} are left")
    verdict.figure(f"a command for each of {reloads + 1} generations: {len(lines)} lines of {server.asked} requests")


def routes(verdict: Verdict, folder: pathlib.Path, short: bool) -> None:
    """Logs of a route, a file and a command: moved away under load while reloads rename the file, so that each
    generation ends a log and begins another one."""
    names = [f"{number}.log" for number in range(1000)]
    with Generations.logging(folder, names[0], SITES) as server:
        settings = folder / "serow.toml"
        current = [0]

        def disturb() -> None:
            os.rename(folder / names[current[0]], folder / f"old.{time.monotonic()}")
            server.reopen()
            settings.write_text(settings.read_text().replace(names[current[0]], names[current[0] + 1]))
            server.reload()
            current[0] += 1

        reloads = disturbed(server, disturb, short)
        server.stop()
        files = [path for pattern in ("[0-9]*.log", "old.*") for path in folder.glob(pattern)]
        lines, piped = [line for path in files for line in lines_of(path)], lines_of(folder / "piped.log")
    for name, found in (("file", lines), ("command", piped)):
        verdict.check(len(found) == server.asked and not broken(found),
                      f"routes, {name}: {len(found)} lines of {server.asked} requests, broken {broken(found)[:2]}")
    verdict.check(not lines_of(folder / "root.log"), "routes: the log of the root has lines")
    verdict.figure(f"a file and a command of a route: {reloads} reloads, each with another file: {len(lines)} and {len(piped)} "
                   f"lines of {server.asked} requests")


def disturbed(server: Generations, disturb, short: bool) -> int:
    """Disturbs a load all the while; how often."""
    load = threading.Thread(target=server.load, args=("-R", "5k", "-d", "1s" if short else "10s", "-c", "16"))
    load.start()
    count = 0
    while load.is_alive():
        time.sleep(0.2)
        disturb()
        count += 1
    load.join()
    return count


CASES = (together(reloaded, commands), routes)
