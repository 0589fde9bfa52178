"""The servers of a run."""

from __future__ import annotations

import itertools
import pathlib
import tempfile
from collections.abc import Iterator

from ..polling import wait_until
from ..server import Server, free_port, program

SECONDS = 10.0
HERE = pathlib.Path(__file__).parent


class Servers:
    """They run while the `with` block does."""

    def __enter__(self) -> "Servers":
        self.folder = tempfile.TemporaryDirectory()
        self.servers: list[Server] = []
        self.told: dict[tuple[str, ...], Server] = {}
        self.numbers = itertools.count(1)
        return self

    def __exit__(self, *_) -> None:
        for server in self.servers:
            server.__exit__()
        self.folder.cleanup()

    def __iter__(self) -> Iterator[Server]:
        return iter(self.servers)

    def telling(self, *options: str) -> Server:
        """One with these options, whose application tells what it gets; it meets its case in a folder."""
        if options not in self.told:
            self.told[options] = self.start("application.py", free_port(), f"MEETING={self.folder.name}", *options)
        return self.told[options]

    def meet(self) -> pathlib.Path:
        """A new folder, in which applications that begin from now on meet their case."""
        place = pathlib.Path(self.folder.name)
        folder = place / str(next(self.numbers))
        folder.mkdir()
        (place / "next").symlink_to(folder)
        (place / "next").rename(place / "current")
        return folder

    def relaying(self, port: int, path: pathlib.Path, *options: str) -> Server:
        """One whose application is behind a unix socket."""
        return self.start("relay.py", port, f"APPLICATION={path}", *options)

    def start(self, application: str, port: int, variable: str, *options: str) -> Server:
        command = [program("serow"), "app", f"{HERE / application}:app", "--interface", "asgi", "--listen", f"127.0.0.1:{port}",
                   "--interpreter", "/usr/bin/python3", "--env", variable, "--processes", "1", "--access-log", "off", *options]
        server = Server(command, port)
        self.servers.append(server.__enter__())
        # It listens before it has loaded the application.
        wait_until(lambda: "Serving" in server.said())
        return server
