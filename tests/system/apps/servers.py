"""The application servers, each in front of the same application with four workers."""

from __future__ import annotations

import http.client
import os
import pathlib
import signal
import subprocess

from ..server import Server, free_port, program

APPLICATION = pathlib.Path(__file__).with_name("config.ru")
WORKERS = 4
# Seconds that a worker may take for a request: the least that Unicorn takes.
TIMEOUT = 3


class Serow(Server):
    name = "Serow"

    def __init__(self, folder: pathlib.Path, *options: str, application: pathlib.Path = APPLICATION, processes: int = WORKERS,
                 unprivileged: bool = False) -> None:
        port = free_port()
        self.done = done_in(folder)
        if unprivileged:
            options = (*options, "--preload", "--env", "UNPRIVILEGED=1")
        super().__init__([program("serow"), "app", application, "--listen", f"127.0.0.1:{port}", "--processes", str(processes),
                          "--workers", "2", "--app-timeout", f"{TIMEOUT}s", "--env", f"DONE={self.done}", *options], port)

    def __enter__(self) -> "Serow":
        super().__enter__()
        # The sockets are there before the application is.
        ask(self, "GET", "/version", timeout=30)
        return self

    @staticmethod
    def version() -> str:
        return subprocess.run([program("serow"), "--version"], capture_output=True, text=True).stdout.split()[-1]


class Peer(Server):
    """A server that is told everything by its command."""

    def __init__(self, folder: pathlib.Path, command: list[str], port: int, unprivileged: bool) -> None:
        self.done = done_in(folder)
        variables = [f"DONE={self.done}", *(["UNPRIVILEGED=1"] if unprivileged else [])]
        super().__init__(["env", *variables, *command], port)


class Unicorn(Peer):
    name = "Unicorn"

    def __init__(self, folder: pathlib.Path, *, unprivileged: bool = False) -> None:
        port, settings = free_port(), folder / "unicorn.rb"
        settings.write_text(f"worker_processes {WORKERS}\ntimeout {TIMEOUT}\nlisten '127.0.0.1:{port}', backlog: 1024\n"
                            f"stderr_path '{folder}/unicorn.log'\npreload_app {str(unprivileged).lower()}\n")
        super().__init__(folder, ["unicorn", "-E", "none", "-c", str(settings), str(APPLICATION)], port, unprivileged)


class Puma(Peer):
    name = "Puma"

    def __init__(self, folder: pathlib.Path, *, unprivileged: bool = False) -> None:
        port, settings, log = free_port(), folder / "puma.rb", folder / "puma.log"
        # It opens it once more when the application has been loaded, whoever it is then.
        log.touch()
        log.chmod(0o666)
        settings.write_text(f"workers {WORKERS}\nthreads 1, 1\nbind 'tcp://127.0.0.1:{port}'\nworker_timeout 6\nenvironment 'none'\n"
                            f"stdout_redirect '{log}', '{log}'\n"
                            f"preload_app! {str(unprivileged).lower()}\n")
        super().__init__(folder, ["puma", "-C", str(settings), str(APPLICATION)], port, unprivileged)


PEERS = (Unicorn, Puma)


def done_in(folder: pathlib.Path) -> pathlib.Path:
    """The list of the POSTs that were carried out, whoever the workers are."""
    done = folder / "done"
    done.touch()
    done.chmod(0o666)
    return done


def ask(server: Server, method: str, target: str, timeout: float = 10) -> str:
    """The status, or how it failed."""
    return answer(server, method, target, timeout)[0]


def answer(server: Server, method: str, target: str, timeout: float = 10) -> tuple[str, str]:
    """The status, or how it failed; and the body."""
    connection = http.client.HTTPConnection(*server.address, timeout=timeout)
    try:
        connection.request(method, target, b"x" if method == "POST" else None)
        response = connection.getresponse()
        return str(response.status), response.read().decode(errors="replace")
    except (OSError, http.client.HTTPException) as error:
        return f"cut: {type(error).__name__}", ""
    finally:
        connection.close()


def workers(server: Server) -> list[int]:
    """The processes that answer."""
    return titled(server, "worker") if isinstance(server, Serow) else leaves(server)


def template_process(server: Server) -> int:
    """The process that workers are forked from."""
    return next(iter(titled(server, "template")), 0) if isinstance(server, Serow) else server.pid


def titled(server: Server, title: str) -> list[int]:
    """Serow's processes that call themselves so, whoever their parent is."""
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                is_named = (entry / "cmdline").read_bytes().startswith(f"serow app: {title}".encode())
                if is_named and str(server.done).encode() in (entry / "environ").read_bytes():
                    found.append(int(entry.name))
            except OSError:
                continue
    return sorted(found)


def leaves(server: Server) -> list[int]:
    """The processes below a server that have no children."""
    parents: dict[int, int] = {}
    for entry in pathlib.Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if fields[0] != "Z":
                parents[int(entry.name)] = int(fields[1])
    below = {server.pid}
    while more := {pid for pid, parent in parents.items() if parent in below} - below:
        below |= more
    return sorted(pid for pid in below - {server.pid} if pid not in parents.values())


def kill(pid: int, sign: signal.Signals = signal.SIGKILL) -> None:
    try:
        if pid > 1:
            os.kill(pid, sign)
    except ProcessLookupError:
        pass
