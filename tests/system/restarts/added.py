"""Settings files that are added by the admin socket, while the processes that keep and serve them are killed."""

from __future__ import annotations

import contextlib
import http.client
import os
import pathlib
import random
import signal
import socket
import threading
import time

from ..verdict import Verdict
from ..wire import Connection, request
from .running import Running

FILES = 5


class Door(http.client.HTTPConnection):
    """A connection to the admin socket."""

    def __init__(self, path: pathlib.Path) -> None:
        super().__init__("localhost", timeout=30)
        self.path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(str(self.path))


def change(door: pathlib.Path, name: str, version: int | None) -> int:
    """Puts a file with a version, or removes it; the status of the answer."""
    text = f'[[site]]\nhosts = "{name}"\n[[site.route]]\npath = "/"\nrespond = {{ body = "{version}" }}\n'
    with contextlib.closing(Door(door)) as connection:
        if version is None:
            connection.request("DELETE", f"/config/{name}")
        else:
            connection.request("PUT", f"/config/{name}", body=text)
        return connection.getresponse().status


class Changer(threading.Thread):
    """Changes added files, one after the other, until the server is gone; knows which changes were acknowledged."""

    def __init__(self, door: pathlib.Path, first: int, known: dict[str, int]) -> None:
        super().__init__(daemon=True)
        self.door, self.version = door, first
        self.acknowledged: dict[str, int | None] = dict(known)
        self.tried: dict[str, int | None] = {}

    def run(self) -> None:
        with contextlib.suppress(OSError, http.client.HTTPException):
            while True:
                self.version += 1
                name = f"site{self.version % FILES}"
                is_there = self.acknowledged.get(name) is not None
                version = None if self.version % 7 == 0 and is_there else self.version
                self.tried = {name: version}
                if change(self.door, name, version) in (200, 201):
                    self.acknowledged[name] = version
                    self.tried = {}

    def allowed(self, name: str) -> list[int | None]:
        """The versions that a file may have afterwards."""
        return [self.acknowledged.get(name), *(version for tried, version in self.tried.items() if tried == name)]


def killed_amid_changes(verdict: Verdict, folder: pathlib.Path, short: bool) -> None:
    """kill -9 of the master, or of the generation before it, at random moments: acknowledged changes are there, none half made."""
    kills, chance = 14 if short else 200, random.Random(7)
    server, known, version = Running(folder), {}, 0
    server.environment["STATE_DIRECTORY"] = str(folder / "state")
    server.start()
    try:
        for number in range(kills):
            changer = Changer(server.door, version, known)
            changer.start()
            time.sleep(chance.random() * 0.3)
            if number % 2:
                with contextlib.suppress(ProcessLookupError, TypeError):
                    os.kill(server.serving(), signal.SIGKILL)
                time.sleep(chance.random() * 0.1)
            server.process.kill()
            server.process.wait()
            changer.join(60)
            server.start()
            known, version = served(server), changer.version
            for name in (f"site{number}" for number in range(FILES)):
                verdict.check(known.get(name) in changer.allowed(name),
                              f"kill {number}: {name} has {known.get(name)}, not one of {changer.allowed(name)}")
    finally:
        server.__exit__()
    verdict.check(version > 3 * kills, f"only {version} changes")
    verdict.check("panic" not in server.said(), server.said()[-300:])
    verdict.figure(f"{kills} kills amid {version} changes: each acknowledged one was there, none half made")


def served(server: Running) -> dict[str, int]:
    """The versions that are served, by the names of their files."""
    found = {}
    for name in (f"site{number}" for number in range(FILES)):
        with Connection(("127.0.0.1", server.port)) as client:
            client.send(request("/", host=name))
            body = client.receive().body
            if body.isdigit():
                found[name] = int(body)
    return found


def applications_go_on(verdict: Verdict, folder: pathlib.Path, short: bool) -> None:
    """Changes of routes leave an application alone, and a reload starts it again."""
    (folder / "app.py").write_text(APPLICATION)
    with Running(folder) as server:
        server.file.write_text(server.settings.split("[[site]]")[0] + APPLICATION_SITE)
        verdict.check("new process" in (first := server.command("reload").stdout), first)

        def worker() -> bytes:
            with Connection(("127.0.0.1", server.port)) as client:
                return client.ask("/").body

        before, changes = worker(), 10 if short else 100
        for version in range(changes):
            verdict.check(change(server.door, "added.example", version) in (200, 201), "a change was refused")
        verdict.check(worker() == before != b"", f"the worker {before!r} became {worker()!r}")
        status = server.status()["reloads"]
        verdict.check(status["adopted"] == changes, f"{status}")
        said = server.command("reload").stdout
        verdict.check("applications" in said and worker() != before, said)
    verdict.figure(f"an application goes on with {changes} changes, and starts again with a reload")


APPLICATION = """import os
def application(environ, start_response):
    start_response("200 OK", [("Content-Type", "text/plain")])
    return [str(os.getpid()).encode()]
"""
APPLICATION_SITE = """
[[site]]
hosts = ["127.0.0.1", "localhost"]
app = { application = "app:application", processes = 1 }
"""


CASES = [applications_go_on, killed_amid_changes]
