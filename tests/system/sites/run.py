"""A configuration in both servers, side by side, and each of its requests sent to both."""

from __future__ import annotations

import contextlib
import pathlib
import shutil
import socket
import ssl
import subprocess

from .. import wire
from ..server import Server, free_port, program
from . import comparison, fixture, requests
from .upstream import Upstream

HERE = pathlib.Path(__file__).parent
# Settings of nginx that a test needs: no daemon, and all files in its folder.
START = "daemon off; master_process off; error_log stderr crit; pid @WORK@/nginx.pid;"
PATHS = """client_body_temp_path @WORK@/body; proxy_temp_path @WORK@/proxy; fastcgi_temp_path @WORK@/fastcgi;
    uwsgi_temp_path @WORK@/uwsgi; scgi_temp_path @WORK@/scgi; access_log off;"""


def names() -> list[str]:
    return sorted(path.parent.name for path in HERE.glob("*/requests.txt"))


class Pair:
    """Both servers with a configuration, which run while the `with` block does."""

    def __init__(self, name: str, work: pathlib.Path) -> None:
        self.name = name
        self.work = work / name
        self.requests = requests.read(HERE / name / "requests.txt")
        self.is_tls = any(request.is_tls for request in self.requests)
        self.stack = contextlib.ExitStack()

    def __enter__(self) -> "Pair":
        with contextlib.ExitStack() as stack:
            site = self.work / "site"
            fixture.write(site)
            apps = [stack.enter_context(Upstream(name)) for name in ("one", "two")]
            gone = free_port()
            known = {"SITE": site, "WORK": self.work, "APP": f"127.0.0.1:{apps[0].port}", "APP2": f"127.0.0.1:{apps[1].port}",
                     "GONE": f"127.0.0.1:{gone}"}
            self.ports = {apps[0].port: "APP", apps[1].port: "APP2", gone: "GONE"}
            if self.is_tls:
                make_certificate(self.work)
            self.ours = stack.enter_context(self.start("serow.toml", known))
            self.theirs = stack.enter_context(self.start("nginx.conf", known))
            self.stack = stack.pop_all()
        return self

    def __exit__(self, *_) -> None:
        self.stack.close()

    def start(self, file: str, known: dict[str, object]) -> Server:
        port, tls = free_port(), free_port()
        self.ports |= {port: "PORT", tls: "TLS"}
        text = (HERE / self.name / file).read_text()
        text = text.replace("@START@", START).replace("@PATHS@", PATHS)
        for name, value in (known | {"PORT": port, "TLS": tls}).items():
            text = text.replace(f"@{name}@", str(value))
        path = self.work / file
        path.write_text(text)
        if file == "nginx.conf":
            # Its workers are another user where it is started by root.
            command = [nginx(), "-p", self.work, "-c", path]
        else:
            command = [program("serow"), "run", "-c", path]
        server = Server(command, port)
        server.tls = tls
        return server

    def send(self, request: requests.Request) -> tuple[int, dict[str, tuple[str, str]]]:
        """The status of Serow's response, and the differences between both; 0 if there is none."""
        origin = f"{'https' if request.is_tls else 'http'}://{(request.host or '').lower()}"
        ours, theirs = respond(self.ours, request), respond(self.theirs, request)
        status = 0 if isinstance(ours, str) else ours.status
        return status, comparison.differences(ours, theirs, self.ports, origin)


def respond(server: Server, request: requests.Request) -> wire.Response | str:
    """The response, or in a word what came in its place."""
    tag = ""
    if request.needs_tag:
        plain = requests.Request("", "GET", request.target, (), request.host, request.is_tls)
        found = exchange(server, plain, b"")
        tag = (found.get("etag") if isinstance(found, wire.Response) else None) or '"none"'
    return exchange(server, request, tag)


def exchange(server: Server, request: requests.Request, tag: str | bytes) -> wire.Response | str:
    message = request.message(tag or "")
    try:
        with wire.Connection(("127.0.0.1", server.tls if request.is_tls else server.port), 5) as connection:
            if request.is_tls:
                context = ssl.create_default_context()
                context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
                connection.socket = context.wrap_socket(connection.socket, server_hostname=(request.host or "localhost"))
            connection.send(message)
            return connection.receive(request.method)
    except (wire.Cut, ssl.SSLError):
        return "closed"
    except socket.timeout:
        return "nothing within 5 seconds"
    except wire.Malformed as error:
        return f"not HTTP: {error}"


def nginx() -> str:
    return shutil.which("nginx", path="/usr/sbin:/usr/bin:/usr/local/sbin:/usr/local/bin") or "nginx"


def make_certificate(folder: pathlib.Path) -> None:
    names = "subjectAltName=DNS:example.com,DNS:www.example.com,DNS:shop.example.com,DNS:localhost"
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
               "-subj", "/CN=example.com", "-addext", names, "-keyout", folder / "site.key", "-out", folder / "site.pem"]
    subprocess.run(command, check=True, capture_output=True)
