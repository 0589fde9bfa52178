"""The servers of a fleet."""

from __future__ import annotations

import pathlib
import signal
import socket
import ssl
import subprocess
import time

from ..acme import Authority
from ..redis import Redis
from ..server import Broken, free_port, program

START_SECONDS = 20.0
PLACEHOLDER = b"until a certificate is issued"


class Instance:
    """One server."""

    def __init__(self, folder: pathlib.Path, number: int, command: list[str]) -> None:
        self.port, self.log = free_port(), folder / f"serow-{number}.log"
        self.command = [*command, "--listen", f"127.0.0.1:{self.port}"]
        self.process: subprocess.Popen | None = None
        self.started = 0.0

    def start(self) -> None:
        self.started = time.monotonic()
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(self.command, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                            start_new_session=True)

    def wait(self) -> None:
        """Returns when it listens."""
        deadline = time.monotonic() + START_SECONDS
        while self.process.poll() is None:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self.port)) == 0:
                    return
            if time.monotonic() > deadline:
                break
            time.sleep(0.02)
        raise Broken(f"a server does not start: {self.said()[-500:]}")

    def kill(self) -> None:
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait()

    def certificate(self, name: str) -> bytes | None:
        """The certificate that it has for a name, in DER; nothing while it has none."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        try:
            with socket.create_connection(("127.0.0.1", self.port), 5) as plain:
                with context.wrap_socket(plain, server_hostname=name) as encrypted:
                    certificate = encrypted.getpeercert(binary_form=True)
        except OSError:
            return None
        return certificate if PLACEHOLDER not in certificate else None

    def said(self) -> str:
        return self.log.read_text(errors="replace")


class Fleet:
    """Runs while the `with` block does."""

    def __init__(self, folder: pathlib.Path, authority: Authority, redis: Redis, names: list[str], count: int) -> None:
        secret, site = folder / "secret", folder / "site"
        secret.touch(mode=0o600)
        secret.write_text("a secret of a fleet for tests, not short")
        site.mkdir()
        command = [str(program("serow")), "files", str(site), "--workers", "1", *authority.options,
                   "--acme-store", redis.url, "--acme-store-secret", str(secret), "--log-level", "info"]
        for name in names:
            command += ["--acme", name]
        self.names = names
        self.instances = [Instance(folder, number, command) for number in range(count)]

    def __enter__(self) -> "Fleet":
        for instance in self.instances:
            instance.start()
        for instance in self.instances:
            instance.wait()
        return self

    def __exit__(self, *_) -> None:
        for instance in self.instances:
            instance.kill()

    def of_process(self, process: int) -> Instance | None:
        return next((instance for instance in self.instances
                     if instance.process.pid == process and instance.process.poll() is None), None)
