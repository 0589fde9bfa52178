"""The environment in which clients are tested: a folder, a certificate, and the servers before them."""

from __future__ import annotations

import contextlib
import hashlib
import pathlib
import socket
import subprocess
import threading
import time

from ..http3 import serving
from ..http3.origin import Origin
from ..restarts.running import Running
from ..server import Server, program

HOST = "serow.test"
CONTENT = hashlib.shake_128(b"clients").digest(10_000_000)
# `part` takes some ten round trips, `large` thousands of packets: Serow changes its keys within a thousand.
INDEX = b"<!doctype html><title>Serow</title><p>Hello!</p>\n"
PAGES = {"index.html": INDEX, "part": CONTENT[:300_000], "large": CONTENT}
UPLOAD = CONTENT[-3_000_000:]
# More handshakes at a time than one thread does without Retry.
HALF_OPEN = 150


class Place:
    """A folder of files, and a certificate that is larger than all that a resumed handshake sends."""

    def __init__(self, folder: pathlib.Path) -> None:
        self.folder, self.site = folder, folder / "site"
        self.site.mkdir()
        for name, content in PAGES.items():
            (self.site / name).write_bytes(content)
        self.upload = folder / "upload"
        self.upload.write_bytes(UPLOAD)
        self.authority, self.certificate, self.key = (folder / name for name in ("ca.pem", "cert.pem", "key.pem"))
        self._certify()

    @property
    def tls(self) -> str:
        return f"{self.certificate},{self.key}"

    def files(self, *options: str, log: tuple[str, ...] = ("off",)) -> Server:
        return self._server("files", *options, str(self.site), log=log)

    def _certify(self) -> None:
        """An authority, and a certificate with so many names that it fills two packets."""
        names = ["localhost", HOST, *(f"a-rather-long-name-{number}.{HOST}" for number in range(60))]
        extensions = self.folder / "extensions"
        alternatives = ",".join(["IP:127.0.0.1", *(f"DNS:{name}" for name in names)])
        extensions.write_text(f"subjectAltName={alternatives}\nextendedKeyUsage=serverAuth\nbasicConstraints=CA:FALSE\n")
        request, authority_key = self.folder / "request", self.folder / "ca.key"
        curve = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")
        openssl("req", "-x509", *curve, "-keyout", authority_key, "-out", self.authority, "-days", "30",
                "-subj", "/CN=Serow test authority")
        openssl("req", "-new", *curve, "-keyout", self.key, "-out", request, "-subj", f"/CN={HOST}")
        openssl("x509", "-req", "-in", request, "-CA", self.authority, "-CAkey", authority_key, "-CAcreateserial",
                "-days", "30", "-extfile", extensions, "-out", self.certificate)

    @contextlib.contextmanager
    def proxy(self):
        """`serow proxy` before an upstream server that returns what it receives."""
        with Origin() as origin, self._server("proxy", "--max-body", "unlimited", origin.url) as server:
            yield server

    def _server(self, kind: str, *options: str, log: tuple[str, ...] = ("off",)) -> Server:
        port = serving.free_port()
        common = ("--listen", f"127.0.0.1:{port}", "--tls", self.tls, "--access-log", *log)
        return Server([program("serow"), kind, *common, *options], port)

    @contextlib.contextmanager
    def running(self):
        """`serow run`, which can be reloaded and restarts what crashes."""
        folder = self.folder / f"run-{time.monotonic_ns()}"
        folder.mkdir()
        running = Running(folder, port=serving.free_port())
        for name, content in PAGES.items():
            (folder / "site" / name).write_bytes(content)
        running.file.write_text("\n".join((
            f'listen = "127.0.0.1:{running.port}"', f'tls = "{self.tls}"', f'admin = "unix:{running.door}"',
            'access-log = "off"', "[[site]]", f'files = {{ root = "{folder / "site"}" }}', "")))
        with running:
            yield running


def openssl(*arguments) -> None:
    command = ["openssl", *map(str, arguments)]
    subprocess.run(command, check=True, capture_output=True, stdin=subprocess.DEVNULL, timeout=60)


class Flood:
    """Half-open handshakes, which are repeated as the server gives them up: new clients have to answer Retry."""

    def __init__(self, address: tuple[str, int]) -> None:
        self.address, self.is_over = address, threading.Event()
        self.socket = socket.socket(type=socket.SOCK_DGRAM)
        self.socket.connect(address)
        self.thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> "Flood":
        self._send(HALF_OPEN)
        self.thread.start()
        return self

    def __exit__(self, *_) -> None:
        self.is_over.set()
        self.thread.join(5)
        self.socket.close()

    def _run(self) -> None:
        while not self.is_over.wait(1.0):
            self._send(20)

    def _send(self, count: int) -> None:
        # Only here, so that --help does without aioquic.
        from ..http3.assault import initial

        for _ in range(count):
            with contextlib.suppress(OSError):
                self.socket.send(initial(self.address))
