"""Application servers with one worker each, alone at a unix socket and with what stands in front of them."""

from __future__ import annotations

import contextlib
import pathlib
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from . import browser, build, front, machine
from .tree import Stack, family, pin, started

APPLICATIONS = machine.BENCH / "applications"
# Programs that Debian has no package of, or only one that cannot be compared.
PYTHON_PACKAGES = ("granian", "uvicorn[standard]")


@dataclass(frozen=True)
class Load:
    """How the worker alone is asked, where that needs to be said."""

    title: str = ""
    connections: int = browser.CONNECTIONS
    # Whether each request comes on a connection of its own.
    is_anew: bool = False


@dataclass(frozen=True)
class Kind:
    """An application server. `command` makes its command from the socket's path and a folder for its settings."""

    name: str
    interface: str
    command: Callable[[pathlib.Path, pathlib.Path], list[str]]
    # The Debian package, or the name of Python's.
    package: str = ""
    # Whether nginx keeps connections to it: those of one process that keep theirs let others wait for it until time is up.
    keeps: bool = True
    # A row for each, for both sides; behind nginx it is one row, as for all.
    loads: tuple[Load, ...] = (Load(),)


def unicorn(path: pathlib.Path, folder: pathlib.Path) -> list[str]:
    settings = folder / "unicorn.rb"
    settings.write_text(f"worker_processes 1\nlisten '{path}', backlog: 1024\nstderr_path '{folder}/unicorn.log'\npreload_app true\n")
    return ["unicorn", "-E", "none", "-c", str(settings), str(APPLICATIONS / "config.ru")]


def puma(path: pathlib.Path, folder: pathlib.Path) -> list[str]:
    return ["puma", "-e", "none", "-w", "0", "-t", "1:1", "-b", f"unix://{path}", "--silent", str(APPLICATIONS / "config.ru")]


def starman(path: pathlib.Path, folder: pathlib.Path) -> list[str]:
    return ["starman", "--workers", "1", "--listen", str(path), "--max-requests", "1000000000", "-E", "deployment",
            str(APPLICATIONS / "app.psgi")]


def gunicorn(path: pathlib.Path, folder: pathlib.Path) -> list[str]:
    return ["/usr/bin/gunicorn", "--workers", "1", "--bind", f"unix:{path}", "--chdir", str(APPLICATIONS), "--log-level", "error",
            "hello_wsgi:app"]


def of_environment(program: str) -> str:
    return str(python_environment() / "bin" / program)


def granian(interface: str) -> Callable[[pathlib.Path, pathlib.Path], list[str]]:
    def command(path: pathlib.Path, folder: pathlib.Path) -> list[str]:
        threads = ["--blocking-threads", "1"] if interface == "wsgi" else []
        return [of_environment("granian"), "--interface", interface, "--workers", "1", *threads, "--uds", str(path), "--no-access-log",
                "--log-level", "error", "--working-dir", str(APPLICATIONS), f"hello_{interface}:app"]
    return command


def uvicorn(path: pathlib.Path, folder: pathlib.Path) -> list[str]:
    return [of_environment("uvicorn"), "--uds", str(path), "--no-access-log", "--log-level", "error", "--app-dir", str(APPLICATIONS),
            "--loop", "uvloop", "--http", "httptools", "hello_asgi:app"]


def warp(path: pathlib.Path, folder: pathlib.Path) -> list[str]:
    return [str(build.warp()), f"unix:{path}"]


KINDS = (
    Kind("Unicorn", "rack", unicorn, "unicorn", keeps=False),
    Kind("Puma", "rack", puma, "puma", keeps=False),
    # Its worker keeps to a connection for as long as that is open, so of sixteen fifteen would wait.
    Kind("Starman", "psgi", starman, "starman", keeps=False,
         loads=(Load("new connection per request", is_anew=True), Load("one connection", connections=1))),
    Kind("gunicorn", "wsgi", gunicorn, "gunicorn", keeps=False),
    Kind("Granian (WSGI)", "wsgi", granian("wsgi")),
    Kind("uvicorn", "asgi", uvicorn),
    Kind("Granian (ASGI)", "asgi", granian("asgi")),
    # A program of its own, which has no worker of ours.
    Kind("Warp", "program", warp, loads=()),
)
# The interface, and what `serow app` is given.
SEROW = {"rack": ["config.ru"], "psgi": ["app.psgi"], "wsgi": ["hello_wsgi:app"], "asgi": ["hello_asgi:app", "--interface", "asgi"],
         "program": ["--bind", "unix"]}


def python_environment() -> pathlib.Path:
    """An environment with Python's servers, made once."""
    folder = machine.ROOT / "target/bench-python"
    if not (folder / "bin/granian").exists():
        print(f"installing {' '.join(PYTHON_PACKAGES)}", flush=True)
        subprocess.run(["/usr/bin/python3", "-m", "venv", folder], check=True)
        subprocess.run([folder / "bin/pip", "install", "-q", *PYTHON_PACKAGES], check=True)
    return folder


@contextlib.contextmanager
def serow(program: pathlib.Path, interface: str, folder: pathlib.Path, cores: tuple) -> Iterator[Stack]:
    """Serow is front and application server at once; its worker gets a core, its front the other."""
    path = folder / "serow.sock"
    python = ["--interpreter", "/usr/bin/python3"] if interface in ("wsgi", "asgi") else []
    command = [program, "app", *SEROW[interface], *python, "--listen", f"unix:{path}", "--processes", "1", "--workers", "1"]
    if interface == "program":
        command += ["--", *warp(pathlib.Path("{socket}"), folder)]
    with started(command, path, folder, APPLICATIONS) as process:
        stack = Stack("Serow", path, [process], [process])
        pin([pid for pid in stack.all() if pid not in stack.workers()], cores[0])
        pin(stack.workers(), cores[1])
        yield stack


@contextlib.contextmanager
def peer(kind: Kind, folder: pathlib.Path, cores: tuple, behind_nginx: bool) -> Iterator[Stack]:
    """A peer, alone or behind nginx."""
    with contextlib.ExitStack() as stack:
        path = folder / "peer.sock"
        process = stack.enter_context(started(kind.command(path, folder), path, folder, APPLICATIONS))
        roots, seen = [process], path
        if behind_nginx:
            seen, nginx = stack.enter_context(front.nginx(path, folder, kind.keeps))
            pin(family(nginx.pid), cores[0])
            roots.append(nginx)
        found = Stack(kind.name, seen, roots, [process])
        pin(family(process.pid), cores[1])
        yield found


def missing() -> list[str]:
    return [kind.package for kind in KINDS if kind.package and not machine.package_version(kind.package)]


if __name__ == "__main__":
    sys.exit("run bench/apps")
