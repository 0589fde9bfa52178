"""The programs that a case passes through: proxies in front, and upstreams of other makers."""

from __future__ import annotations

import dataclasses
import os
import pathlib
import re
import shutil
import sys
import time

from ..server import Server, free_port, program

NGINX = """\
daemon off; master_process off; error_log stderr crit; pid {folder}/nginx.pid; {user}
events {{ }}
http {{
    client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy; fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi; scgi_temp_path {folder}/scgi;
    keepalive_requests 100000;
    log_format seen '{line}';
    access_log {folder}/access.log seen;
    {settings}
}}
"""
# The server in front takes requests whole before it asks the one behind, and only that one writes them down: `return`
# would answer, and write, before there is a body.
AS_UPSTREAM = """server {{ listen 127.0.0.1:{port}; access_log off; location / {{ proxy_pass http://127.0.0.1:{inner}; }} }}
    server {{ listen 127.0.0.1:{inner}; add_header X-Seen "$request_method $request_uri";
    location / {{ return 200 "$request_method $request_uri\\n"; }} }}"""
AS_PROXY = """upstream app {{ server 127.0.0.1:{upstream}; keepalive 16; }}
    server {{ listen 127.0.0.1:{port}; listen 127.0.0.1:{port2} http2; location / {{ proxy_pass http://app;
        proxy_http_version 1.1; proxy_set_header Connection ""; proxy_set_header Host $http_host;
        proxy_set_header X-Forwarded-For $remote_addr; }} }}"""
PROXY_LINE = "$status $request"


class Missing(Exception):
    """A program is not installed."""


def found(name: str) -> str:
    path = shutil.which(name, path=os.environ.get("PATH", "") + ":/usr/sbin:/usr/local/sbin")
    if path is None:
        raise Missing(f"{name} is missing; run: tests/install")
    return path


@dataclasses.dataclass
class Upstream:
    """A server that writes a line for each request, `METHOD TARGET`."""

    name: str
    server: Server
    log: pathlib.Path

    def seen(self) -> list[str]:
        return self.log.read_text(errors="replace").splitlines()


def nginx_settings(folder: pathlib.Path, line: str, settings: str) -> list:
    file = folder / "nginx.conf"
    user = "user root;" if os.geteuid() == 0 else ""
    file.write_text(NGINX.format(folder=folder, line=line, settings=settings, user=user))
    return [found("nginx"), "-e", "stderr", "-p", folder, "-c", file]


def nginx_upstream(folder: pathlib.Path) -> Upstream:
    port, inner = free_port(), free_port()
    command = nginx_settings(folder, "$request_method $request_uri", AS_UPSTREAM.format(port=port, inner=inner))
    return Upstream("nginx", Server(command, port), folder / "access.log")


def node_upstream(folder: pathlib.Path, *options: str) -> Upstream:
    port, log = free_port(), folder / "node.log"
    script = pathlib.Path(__file__).with_name("upstream.js")
    # The shell opens the log, so that nobody here has to close it.
    command = ["sh", "-c", 'exec "$@" > "$0"', log, found("node"), *options, script, port]
    return Upstream("Node", Server(command, port), log)


@dataclasses.dataclass(frozen=True)
class Logged:
    status: int
    request: str


class Proxy:
    """The proxy between client and upstream, and its log."""

    def __init__(self, name: str, server: Server, log: pathlib.Path, http2_port: int | None) -> None:
        self.name, self.server, self.log = name, server, log
        self.http2_port = http2_port

    def __enter__(self) -> Proxy:
        self.server.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self.server.__exit__()

    def logged(self) -> list[Logged]:
        lines = self.log.read_text(errors="replace").splitlines() if self.log.exists() else []
        found = (re.fullmatch(r"(\d{3}) (.*)", line) for line in lines)
        return [Logged(int(line.group(1)), line.group(2)) for line in found if line]

    def settled(self) -> list[Logged]:
        """The log when nothing is added to it any more."""
        lines = self.logged()
        while True:
            time.sleep(0.3)
            more = self.logged()
            if len(more) == len(lines):
                return more
            lines = more


def serow(folder: pathlib.Path, upstream: int) -> Proxy:
    port, log = free_port(), folder / "serow.log"
    command = [program("serow"), "proxy", f"127.0.0.1:{upstream}", "--listen", f"127.0.0.1:{port}", "--workers", 1,
               "--access-log", log, "--access-log-format", PROXY_LINE,
               # An upstream that refuses what it is sent is not to be left alone for it.
               "--max-failures", 0]
    return Proxy("Serow", Server(command, port), log, port)


def nginx(folder: pathlib.Path, upstream: int) -> Proxy:
    port, port2 = free_port(), free_port()
    settings = AS_PROXY.format(port=port, port2=port2, upstream=upstream)
    return Proxy("nginx", Server(nginx_settings(folder, PROXY_LINE, settings), port), folder / "access.log", port2)


def naive(folder: pathlib.Path, upstream: int) -> Proxy:
    port, log = free_port(), folder / "naive.log"
    script = pathlib.Path(__file__).with_name("naive.py")
    return Proxy("naive", Server([sys.executable, script, port, upstream, log], port), log, None)


PROXIES = {"serow": serow, "nginx": nginx, "naive": naive}
