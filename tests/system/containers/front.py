"""Serow before the containers."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import pathlib
import signal
import socket
import subprocess

from ..polling import wait_until
from ..server import Broken, free_port, program


class Front:
    """Runs while the `with` block does."""

    def __init__(self, folder: pathlib.Path, api: str, settings: str = "", site: str = "") -> None:
        self.folder, self.port = folder / "front", free_port()
        self.admin = self.folder / "admin.sock"
        self.text = (f'listen = "127.0.0.1:{self.port}"\nadmin = "unix:{self.admin}"\n[docker]\nsocket = "{api}"\n'
                     f'{settings}\n{site}\n')
        self.process: subprocess.Popen | None = None

    def __enter__(self) -> "Front":
        (self.folder / "state").mkdir(parents=True, exist_ok=True)
        (self.folder / "serow.toml").write_text(self.text)
        self.start()
        return self

    def __exit__(self, *_) -> None:
        self.end(signal.SIGTERM)

    def start(self) -> None:
        environment = {**os.environ, "STATE_DIRECTORY": str(self.folder / "state")}
        with open(self.folder / "serow.log", "ab") as log:
            self.process = subprocess.Popen([str(program("serow")), "run", "-c", str(self.folder / "serow.toml")],
                                            env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                            start_new_session=True)
        if not wait_until(lambda: self.containers() is not None):
            raise Broken(f"serow does not start: {self.said()[-1000:]}")

    def end(self, sign: int) -> None:
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(sign)
            try:
                self.process.wait(10)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()

    def containers(self) -> dict | None:
        """The part of the status about containers."""
        connection = http.client.HTTPConnection("localhost", timeout=5)
        try:
            connection.sock = socket.socket(socket.AF_UNIX)
            connection.sock.settimeout(5)
            connection.sock.connect(str(self.admin))
            connection.request("GET", "/status")
            return json.loads(connection.getresponse().read()).get("containers")
        except (OSError, ValueError, http.client.HTTPException):
            return None
        finally:
            connection.close()

    def is_connected(self) -> bool:
        containers = self.containers()
        return containers is not None and containers["connected"]

    def answer(self, host: str, path: str = "/") -> tuple[int, str]:
        """The status and the body of a request; 0 without a response."""
        with contextlib.closing(http.client.HTTPConnection("127.0.0.1", self.port, timeout=2)) as connection:
            try:
                connection.request("GET", path, headers={"Host": host})
                response = connection.getresponse()
                return response.status, response.read().decode(errors="replace")
            except OSError as error:
                return 0, str(error)

    def becomes(self, status: int, host: str, path: str = "/", seconds: float = 30.0) -> bool:
        return wait_until(lambda: self.answer(host, path)[0] == status, seconds)

    def said(self) -> str:
        return (self.folder / "serow.log").read_text(errors="replace")
