"""The servers: which program, with which arguments and settings, for which work."""

from __future__ import annotations

import os
import pathlib
import string
from dataclasses import dataclass, field

from .machine import BENCH
from .works import Work

CONNECTIONS = 16_384


@dataclass(frozen=True)
class Server:
    name: str
    label: str
    # The key of the program in build.programs.
    program: str
    # How the arguments are made: a function of this module.
    recipe: str
    settings: dict[str, str] = field(default_factory=dict)
    note: str = ""


SERVERS = (
    Server("epoll", "C, epoll", "epoll", "epoll", note="the limit: one thread, one recv and one send a request"),
    Server("serow-hello", "Serow", "hello", "hello"),
    Server("serow-axum", "Serow + axum", "axum", "hello"),
    Server("serow-files", "Serow", "serow", "files"),
    Server("hyper", "hyper", "hyper", "peer", {"mode": "hyper"}, note="tokio's current_thread runtime, http1::Builder"),
    Server("hyper-axum", "hyper + axum", "hyper", "peer", {"mode": "axum"},
           note="the same with an axum Router as its service"),
    Server("nginx", "nginx", "nginx", "nginx", {"sendfile": "on", "tcp_nopush": "on"},
           note="one worker, sendfile, tcp_nopush, open_file_cache; return 200 for the work from memory"),
    Server("nginx-read", "nginx, sendfile off", "nginx", "nginx", {"sendfile": "off", "tcp_nopush": "on"},
           note="the same without sendfile: it reads small files faster than it sends them"),
    Server("nginx-nodelay", "nginx, tcp_nopush off", "nginx", "nginx", {"sendfile": "on", "tcp_nopush": "off"},
           note="the same without tcp_nopush, which costs less processor time for a large file"),
    Server("h2o", "h2o", "h2o", "h2o",
           note="one thread; from memory it has only mruby, so a 13-byte file stands in, which is cheaper"),
    Server("caddy", "Caddy", "caddy", "caddy", note="GOMAXPROCS=1, file_server"),
    Server("short", "C, accept4", "short", "epoll",
           note="the limit of short connections: accept4, recv, send and close for each"),
    Server("warp", "Warp", "warp", "warp",
           note="-threaded -O2, +RTS -N1, caches of file descriptors and file information on"),
)


def server(name: str) -> Server:
    return next(server for server in SERVERS if server.name == name)


def path(server: Server, work: Work) -> str:
    return "/hello.txt" if server.name == "h2o" and work.name == "memory" else work.path


@dataclass(frozen=True)
class Place:
    """Where one server runs: its program, the folder it serves, a directory of its own and its address."""

    program: pathlib.Path
    folder: pathlib.Path
    directory: pathlib.Path
    address: str
    # The folder with cert.pem and key.pem: HTTP/1.1 and HTTP/2 over TLS instead of cleartext.
    certificates: pathlib.Path | None = None
    # HTTP/3 on the same port of UDP too.
    http3: bool = False

    @property
    def socket(self) -> str | None:
        return self.address.removeprefix("unix:") if self.address.startswith("unix:") else None


def command(server: Server, work: Work, place: Place) -> list[str]:
    arguments = globals()[f"arguments_of_{server.recipe}"](server, work, place)
    return [str(place.program), *arguments]


def arguments_of_epoll(_: Server, work: Work, place: Place) -> list[str]:
    return [place.address] + ([] if work.path == "/" else [str(place.folder / work.path[1:])])


def arguments_of_hello(_: Server, _work: Work, place: Place) -> list[str]:
    return [place.address, "1"]


def arguments_of_files(_: Server, _work: Work, place: Place) -> list[str]:
    tls = ["--tls", f"{place.certificates}/cert.pem,{place.certificates}/key.pem"] if place.certificates else []
    return ["files", str(place.folder), "--listen", place.address, "--workers", "1", "--access-log", "off", *tls]


def arguments_of_peer(server: Server, _: Work, place: Place) -> list[str]:
    return [server.settings["mode"], place.address]


def arguments_of_warp(_: Server, work: Work, place: Place) -> list[str]:
    return [place.address, *([] if work.path == "/" else [str(place.folder)]), "+RTS", "-N1"]


def arguments_of_nginx(server: Server, _: Work, place: Place) -> list[str]:
    # Without `user`, a server started by root gives itself away to one that cannot read the folder.
    user = "user root;" if os.geteuid() == 0 else ""
    tls = http3 = ""
    if place.certificates:
        tls = f"ssl_certificate {place.certificates}/cert.pem; ssl_certificate_key {place.certificates}/key.pem;"
    if place.http3:
        http3 = f"listen {place.address} quic reuseport; quic_gso on;"
    values = {"address": f"{place.address} ssl http2" if tls else place.address, "user": user, "tls": tls, "http3": http3}
    settings = write(place, "nginx.conf", server.settings | values)
    return ["-e", "stderr", "-p", str(place.directory), "-c", str(settings)]


def arguments_of_h2o(_: Server, _work: Work, place: Place) -> list[str]:
    if place.socket:
        listen = f"port: {place.socket}\n  type: unix"
    else:
        host, port = place.address.split(":")
        listen = f"host: {host}\n  port: {port}"
        if place.certificates:
            listen += (f"\n  ssl: {{certificate-file: {place.certificates}/cert.pem, key-file: {place.certificates}/key.pem, "
                       "neverbleed: OFF, ocsp-update-interval: 0}")
        if place.http3:
            listen += f"\nlisten:\n  type: quic\n  {listen}"
    user = "user: root" if os.geteuid() == 0 else ""
    return ["-c", str(write(place, "h2o.conf", {"listen": listen, "user": user}))]


def arguments_of_caddy(_: Server, _work: Work, place: Place) -> list[str]:
    host, port = place.address.split(":")
    return ["run", "--config", str(write(place, "Caddyfile", {"host": host, "port": port})), "--adapter", "caddyfile"]


def write(place: Place, name: str, values: dict[str, str]) -> pathlib.Path:
    template = string.Template((BENCH / "peers" / name).read_text())
    settings = place.directory / name
    settings.write_text(template.substitute(values, folder=place.folder, certificates=place.certificates,
                                            connections=CONNECTIONS))
    return settings
