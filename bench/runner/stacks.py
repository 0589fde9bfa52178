"""Application servers with one worker each, alone at a unix socket and with what stands in front of them."""

from __future__ import annotations

import contextlib
import os
import pathlib
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from . import machine
from .process import Broken

APPLICATIONS = machine.BENCH / "applications"
START_SECONDS = 20.0
# What Debian has no package of, or only one that cannot be compared.
PYTHON_PACKAGES = ("granian", "uvicorn[standard]")
NGINX = """\
daemon off;
error_log {folder}/nginx.log error;
user root root;
pid {folder}/nginx.pid;
worker_processes 1;
events {{ worker_connections 1024; }}
http {{
    access_log off;
    keepalive_requests 1000000;
    client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy; fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi; scgi_temp_path {folder}/scgi;
    upstream app {{ server unix:{behind}; {keepalive} }}
    server {{
        listen unix:{front} backlog=1024;
        location / {{
            proxy_pass http://app;
            proxy_http_version 1.1;
            proxy_set_header Connection "";
            proxy_set_header Host $host;
            proxy_set_header X-Forwarded-For $remote_addr;
            proxy_set_header X-Forwarded-Proto $scheme;
        }}
    }}
}}
"""


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


KINDS = (
    Kind("Unicorn", "rack", unicorn, "unicorn", keeps=False),
    Kind("Puma", "rack", puma, "puma", keeps=False),
    Kind("Starman", "psgi", starman, "starman", keeps=False),
    Kind("gunicorn", "wsgi", gunicorn, "gunicorn", keeps=False),
    Kind("Granian (WSGI)", "wsgi", granian("wsgi")),
    Kind("uvicorn", "asgi", uvicorn),
    Kind("Granian (ASGI)", "asgi", granian("asgi")),
)
# The interface, and what `serow app` is given.
SEROW = {"rack": ["config.ru"], "psgi": ["app.psgi"], "wsgi": ["hello_wsgi:app"], "asgi": ["hello_asgi:app", "--interface", "asgi"]}


def python_environment() -> pathlib.Path:
    """An environment with Python's servers, made once."""
    folder = machine.ROOT / "target/bench-python"
    if not (folder / "bin/granian").exists():
        print(f"installing {' '.join(PYTHON_PACKAGES)}", flush=True)
        subprocess.run(["/usr/bin/python3", "-m", "venv", folder], check=True)
        subprocess.run([folder / "bin/pip", "install", "-q", *PYTHON_PACKAGES], check=True)
    return folder


class Stack:
    """Processes that answer at a unix socket."""

    def __init__(self, name: str, path: pathlib.Path, roots: list[subprocess.Popen], answering: list[subprocess.Popen]) -> None:
        self.name, self.path = name, path
        self.roots = roots
        # Whose youngest descendants are the workers.
        self.answering = answering

    def all(self) -> list[int]:
        return sorted({pid for process in self.roots for pid in family(process.pid)})

    def workers(self) -> list[int]:
        return sorted({pid for process in self.answering for pid in leaves(process.pid)})


@contextlib.contextmanager
def serow(program: pathlib.Path, interface: str, folder: pathlib.Path, cores: tuple) -> Iterator[Stack]:
    """Serow is front and application server at once; its worker gets a core, its front the other."""
    path = folder / "serow.sock"
    python = ["--interpreter", "/usr/bin/python3"] if interface in ("wsgi", "asgi") else []
    command = [program, "app", *SEROW[interface], *python, "--listen", f"unix:{path}", "--processes", "1", "--workers", "1"]
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
            seen = folder / "front.sock"
            settings = folder / "nginx.conf"
            settings.write_text(NGINX.format(folder=folder, behind=path, front=seen, keepalive="keepalive 16;" if kind.keeps else ""))
            front = stack.enter_context(started(["/usr/sbin/nginx", "-p", folder, "-c", settings], seen, folder, folder))
            pin(family(front.pid), cores[0])
            roots.append(front)
        found = Stack(kind.name, seen, roots, [process])
        pin(family(process.pid), cores[1])
        yield found


@contextlib.contextmanager
def started(command: list, path: pathlib.Path, folder: pathlib.Path, where: pathlib.Path) -> Iterator[subprocess.Popen]:
    """A program that listens at a socket, and ends with this block, with all that it started."""
    path.unlink(missing_ok=True)
    log = (folder / f"{path.name}.log").open("w+")
    try:
        process = subprocess.Popen([str(word) for word in command], cwd=where, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                   start_new_session=True)
    except OSError as error:
        raise Broken(f"{command[0]}: {error}") from error
    try:
        deadline = time.monotonic() + START_SECONDS
        while not answers(path):
            if process.poll() is not None or time.monotonic() > deadline:
                log.seek(0)
                raise Broken(f"{command[0]} does not listen: {log.read()[-300:]}")
            time.sleep(0.05)
        yield process
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        log.close()


def answers(path: pathlib.Path) -> bool:
    """Whether somebody answers a request there."""
    with socket.socket(socket.AF_UNIX) as probe:
        probe.settimeout(START_SECONDS)
        try:
            probe.connect(str(path))
            probe.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            return probe.recv(15).startswith(b"HTTP/1.1 200")
        except OSError:
            return False


def pin(pids: list[int], core: int | None) -> None:
    for pid in pids:
        if core is not None:
            for task in os.listdir(f"/proc/{pid}/task"):
                os.sched_setaffinity(int(task), {core})


def parents() -> dict[int, int]:
    found = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            with contextlib.suppress(OSError):
                found[int(entry)] = int(pathlib.Path(f"/proc/{entry}/stat").read_text().rpartition(")")[2].split()[1])
    return found


def family(pid: int) -> list[int]:
    """A process and all below it."""
    known, found = parents(), {pid}
    while more := {child for child, parent in known.items() if parent in found} - found:
        found |= more
    return sorted(found)


def leaves(pid: int) -> list[int]:
    known = set(parents().values())
    return [child for child in family(pid) if child not in known]


def missing() -> list[str]:
    return [kind.package for kind in KINDS if kind.package and not machine.package_version(kind.package)]


if __name__ == "__main__":
    sys.exit("run bench/apps")
