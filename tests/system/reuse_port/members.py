"""Processes that listen at the same port, and are told to leave it."""

from __future__ import annotations

import json
import os
import pathlib
import signal
import socket
import subprocess
import time

from ..http2.tools import find
from ..polling import wait_until
from ..server import Broken, program

START_SECONDS = 30.0
# Leaving takes a tenth of a second; a handshake that is lost on its way, some seconds.
LEAVE_SECONDS = 30.0


class Member:
    """A process that is ready when this is made."""

    stop = signal.SIGTERM

    def __init__(self, command: list, workers: int, log: pathlib.Path, environment: dict[str, str] | None = None) -> None:
        self.workers, self.log = workers, log
        with open(log, "ab") as errors:
            self.process = subprocess.Popen(list(map(str, command)), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                            stderr=errors, env=os.environ | (environment or {}), start_new_session=True)

    def leave(self) -> float:
        """Tells it to go, and waits until it has; says how long that took."""
        self.tell_to_leave()
        return self.wait()

    def tell_to_leave(self) -> None:
        self.told = time.monotonic()
        self.process.send_signal(self.stop)

    def wait(self) -> float:
        try:
            code = self.process.wait(LEAVE_SECONDS)
        except subprocess.TimeoutExpired:
            self.kill()
            raise Broken(f"{self.process.args[0]} does not leave: {self.said()}") from None
        if code != 0:
            raise Broken(f"{self.process.args[0]} left with {code}: {self.said()}")
        return time.monotonic() - self.told

    def kill(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()

    def said(self) -> str:
        return self.log.read_text(errors="replace")[-600:]


class Serow(Member):
    """`serow files --reuse-port`."""

    def __init__(self, folder: pathlib.Path, number: int, address: str, workers: int, *options: str) -> None:
        self.admin = folder / f"admin-{number}"
        path = folder / f"notify-{number}"
        command = self.command(folder, number, address, workers, *options)
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as door:
            door.bind(str(path))
            door.settimeout(START_SECONDS)
            super().__init__(command, workers, folder / "log", {"NOTIFY_SOCKET": str(path)})
            try:
                while b"READY=1" not in door.recv(4096).splitlines():
                    pass
            except TimeoutError:
                self.kill()
                raise Broken(f"it does not say that it is ready: {self.said()}") from None

    def command(self, folder: pathlib.Path, number: int, address: str, workers: int, *options: str) -> list:
        return [program("serow"), "files", folder / "site", "--reuse-port", "--workers", workers, "--listen", address,
                "--admin", f"unix:{self.admin}", *options]

    def accepted(self) -> int:
        """How many connections it has accepted so far."""
        with socket.socket(socket.AF_UNIX) as door:
            door.connect(str(self.admin))
            door.sendall(b"GET /status HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            answer = b"".join(iter(lambda: door.recv(65536), b""))
        return json.loads(answer.partition(b"\r\n\r\n")[2])["connections"]["accepted"]


SETTINGS = """\
listen = "{address}"
workers = {workers}
reuse-port = true
admin = "unix:{admin}"

[[site]]
files = {{ root = "site" }}
"""


class SerowRun(Serow):
    """`serow run` with `reuse-port = true`: a master, and a generation that serves."""

    def command(self, folder: pathlib.Path, number: int, address: str, workers: int, *options: str) -> list:
        settings = folder / f"serow-{number}.toml"
        settings.write_text(SETTINGS.format(address=address, workers=workers, admin=self.admin))
        return [program("serow"), "run", "--config", settings]

    def reload(self) -> None:
        """Another generation takes over, on the same sockets."""
        subprocess.run([program("serow"), "reload", "--new-process", "--admin", f"unix:{self.admin}"], check=True, capture_output=True)


NGINX = """\
daemon off;
worker_processes {workers};
error_log stderr crit;
user root root;
pid {work}/nginx.pid;
events {{ worker_connections 4000; }}
http {{
    access_log off;
    client_body_temp_path {work}/body; proxy_temp_path {work}/proxy; fastcgi_temp_path {work}/fastcgi;
    uwsgi_temp_path {work}/uwsgi; scgi_temp_path {work}/scgi;
    server {{ listen {address} reuseport backlog=4096; root {site}; }}
}}
"""


class Nginx(Member):
    """nginx with `listen … reuseport`, which closes its sockets when it is told to leave in order."""

    stop = signal.SIGQUIT

    def __init__(self, folder: pathlib.Path, number: int, address: str, workers: int) -> None:
        work = folder / f"nginx-{number}"
        work.mkdir()
        settings = work / "nginx.conf"
        settings.write_text(NGINX.format(workers=workers, work=work, address=address, site=folder / "site"))
        before = listeners(address)
        super().__init__([find("nginx"), "-p", work, "-c", settings], workers, folder / "log")
        if not wait_until(lambda: listeners(address) >= before + workers or self.process.poll() is not None) \
                or self.process.poll() is not None:
            raise Broken(f"nginx does not listen: {self.said()}")
        # It listens before its workers look at the sockets.
        time.sleep(0.1)


def listeners(address: str) -> int:
    """How many sockets listen at this port of any address of IPv4."""
    port = f":{int(address.rpartition(':')[2]):04X}"
    rows = (line.split() for line in pathlib.Path("/proc/net/tcp").read_text().splitlines()[1:])
    return sum(row[1].endswith(port) and row[3] == "0A" for row in rows)
