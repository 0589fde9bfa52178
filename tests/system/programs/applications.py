"""`serow app -- COMMAND` with programs of several languages."""

from __future__ import annotations

import os
import pathlib
import subprocess

from ..apps.servers import APPLICATION, answer
from ..server import Broken, Server, free_port, program

HERE = pathlib.Path(__file__).parent
COPIES = 2
# Seconds that a program may take to start on a machine with other things to do.
PATIENCE = 30


class Program(Server):
    """A program behind Serow."""

    def __init__(self, folder: pathlib.Path, command: list[str], *options: str, path: str = "/bytes/1") -> None:
        port, self.path, self.done = free_port(), path, folder / "done"
        self.done.touch()
        super().__init__([program("serow"), "app", "--listen", f"127.0.0.1:{port}", "--workers", "2", "--processes", str(COPIES),
                          "--env", f"DONE={self.done}", "--grace", "10s", *options, "--", *command], port)

    def __enter__(self) -> "Program":
        super().__enter__()
        # The sockets are there before the program is.
        if (found := answer(self, "GET", self.path, timeout=PATIENCE)[0]) != "200":
            said = self.said()
            self.__exit__()
            raise Broken(f"{self.command}: {found}: {said}")
        return self

    def pids(self) -> list[int]:
        """The processes that answer."""
        return sorted({int(answer(self, "GET", "/pid")[1] or 0) for _ in range(4 * COPIES)})

    def below(self) -> list[int]:
        """All processes that Serow has started, as long as it lives."""
        return children(self.pid)


def children(pid: int) -> list[int]:
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        try:
            fields = (entry / "stat").read_text().rpartition(")")[2].split() if entry.name.isdigit() else []
        except OSError:
            continue
        if fields and int(fields[1]) == pid and fields[0] != "Z":
            found.append(int(entry.name))
    return sorted(found)


def is_alive(pid: int) -> bool:
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def express(folder: pathlib.Path, *options: str) -> Program:
    # Debian's modules, also for a Node that is not Debian's.
    modules = "NODE_PATH=/usr/share/nodejs:/usr/lib/nodejs"
    script = folder / "server.js"
    if not script.exists():
        script.write_text((HERE / "server.js").read_text())
    return Program(folder, ["node", str(script)], "--env", modules, *options)


def go(folder: pathlib.Path, *options: str) -> Program:
    built = subprocess.run(["go", "build", "-o", folder / "server", HERE / "server.go"], capture_output=True, text=True,
                           env=os.environ | {"GO111MODULE": "off"})
    if built.returncode != 0:
        raise Broken(built.stderr)
    return Program(folder, [str(folder / "server")], *options)


def puma(folder: pathlib.Path, *options: str, bind: list[str]) -> Program:
    return Program(folder, ["puma", "--environment", "none", *bind, str(APPLICATION)], *options)


def puma_inherits(folder: pathlib.Path) -> Program:
    return puma(folder, "--bind", "inherit", bind=["--bind-to-activated-sockets", "only"])


def puma_unix(folder: pathlib.Path) -> Program:
    return puma(folder, "--bind", "unix", bind=["--bind", "unix://{socket}"])


def go_unix(folder: pathlib.Path) -> Program:
    return go(folder, "--bind", "unix")


def go_inherits(folder: pathlib.Path) -> Program:
    return go(folder, "--bind", "inherit")


def python(folder: pathlib.Path) -> Program:
    return Program(folder, ["python3", "-m", "http.server", "--bind", "127.0.0.1", "{port}"], "--chdir", str(folder), path="/")
