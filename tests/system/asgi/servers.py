"""The servers of a run: one for each set of options, for all cases that want these."""

from __future__ import annotations

import itertools
import pathlib
import tempfile
from collections.abc import Iterator

from ..server import Server, free_port, program

APPLICATION = pathlib.Path(__file__).parent / "application.py"


class Servers:
    """They run while the `with` block does, and tell their application in which folder it meets the case."""

    def __enter__(self) -> "Servers":
        self.folder = tempfile.TemporaryDirectory()
        self.servers: dict[tuple[str, ...], Server] = {}
        self.numbers = itertools.count(1)
        return self

    def __exit__(self, *_) -> None:
        for server in self.servers.values():
            server.__exit__()
        self.folder.cleanup()

    def __iter__(self) -> Iterator[Server]:
        return iter(self.servers.values())

    def with_options(self, *options: str) -> Server:
        if options not in self.servers:
            port = free_port()
            command = [program("serow"), "app", f"{APPLICATION}:app", "--interface", "asgi", "--listen", f"127.0.0.1:{port}",
                       "--interpreter", "/usr/bin/python3", "--env", f"MEETING={self.folder.name}", "--processes", "1",
                       "--access-log", "off", *options]
            self.servers[options] = Server(command, port).__enter__()
        return self.servers[options]

    def meet(self) -> pathlib.Path:
        """A new folder, in which applications that begin from now on meet their case."""
        place = pathlib.Path(self.folder.name)
        folder = place / str(next(self.numbers))
        folder.mkdir()
        (place / "next").symlink_to(folder)
        (place / "next").rename(place / "current")
        return folder
