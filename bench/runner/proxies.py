"""The proxies: which program, with which arguments and settings, in front of which upstream."""

from __future__ import annotations

import os
import pathlib
from dataclasses import dataclass

from . import servers
from .process import Running
from .servers import Server
from .works import Work, text

# More than the 16 connections of the load over HTTP/2 have streams: nobody has to open a connection for a request.
KEPT = 1024
# A response from which on HAProxy is cheaper with splice: measured, 1 MB 0.42 of the cost without it, 10 KB 1.07.
SPLICED = 100_000

PROXIES = (
    Server("serow", "Serow", "serow", "serow"),
    Server("nginx", "nginx", "nginx", "nginx", {"buffers": "16k", "busy": "64k"},
           note="one worker, upstream keepalive, buffers of 16 KB, no temporary files"),
    Server("haproxy", "HAProxy", "haproxy", "haproxy",
           note="nbthread 1, http-reuse always; splice-response for 1 MB, which small responses would pay for"),
    Server("h2o", "h2o", "h2o", "h2o", note="one thread, connections to the upstream kept"),
    Server("epoll", "C, epoll", "epoll-proxy", "epoll",
           note="the limit: one thread, a connection to the upstream for each client, recv, send, recv, send a request"),
)


@dataclass(frozen=True)
class Case:
    """The protocols of client and upstream, and the bar: Serow's cost divided by that of the cheapest of some peers."""

    name: str
    title: str
    tls: bool
    # The upstream's: tcp or unix.
    transport: str
    bar: float
    peers: tuple[str, ...]
    # The bar by the cost of the C program, which speaks no TLS.
    limit: float | None = None

    def has(self, proxy: Server) -> bool:
        return not (self.tls and proxy.name == "epoll")


CASES = (
    Case("tcp", "HTTP/1.1, upstream on TCP", False, "tcp", 0.75, ("nginx", "haproxy"), 1.5),
    Case("unix", "HTTP/1.1, upstream on a unix socket", False, "unix", 0.80, ("nginx",)),
    Case("http2", "HTTP/2 over TLS, upstream HTTP/1.1 on TCP", True, "tcp", 0.80, ("nginx",)),
)


def work(name: str, size: int) -> Work:
    return Work(name, f"{name} of body", f"/{name}.txt", text(size), tuple(proxy.name for proxy in PROXIES), ())


WORKS = (work("151", 151), work("10k", 10 * 1024), work("1m", 1024 * 1024))


class Upstream(Running):
    """The C program with the response of one work, on the load's core."""

    core = 1

    def __init__(self, work: Work, transport: str, program: pathlib.Path, folder: pathlib.Path) -> None:
        super().__init__(servers.server("epoll"), work, transport, program, folder)


class Proxy(Running):
    """A proxy in front of an upstream that runs."""

    def __init__(self, proxy: Server, case: Case, work: Work, program: pathlib.Path, upstream: Upstream,
                 certificates: pathlib.Path, tool: list[str] | None = None) -> None:
        super().__init__(proxy, work, "tcp", program, upstream.place.folder, tool)
        self.tls, self.upstream, self.certificates = case.tls, upstream.place, certificates

    def arguments(self) -> list[str]:
        recipe = globals()[f"arguments_of_{self.server.recipe}"]
        pair = (self.certificates / "cert.pem", self.certificates / "key.pem") if self.tls else None
        return [str(self.place.program), *recipe(self, pair)]


Pair = tuple[pathlib.Path, pathlib.Path] | None


def arguments_of_serow(proxy: Proxy, pair: Pair) -> list[str]:
    tls = ["--tls", f"{pair[0]},{pair[1]}"] if pair else []
    return ["proxy", proxy.upstream.address, "--listen", proxy.place.address, "--workers", "1", "--access-log", "off",
            "--keep-idle", str(KEPT), *tls]


def arguments_of_epoll(proxy: Proxy, _: Pair) -> list[str]:
    return [proxy.place.address, proxy.upstream.address]


def arguments_of_nginx(proxy: Proxy, pair: Pair) -> list[str]:
    place = proxy.place
    values = proxy.server.settings | {
        "user": "user root;" if os.geteuid() == 0 else "",
        "listen": f"{place.address} ssl http2" if pair else place.address,
        "certificate": f"ssl_certificate {pair[0]}; ssl_certificate_key {pair[1]};" if pair else "",
        "upstream": proxy.upstream.address, "kept": KEPT}
    return ["-e", "stderr", "-p", str(place.directory), "-c", str(servers.write(place, "proxy-nginx.conf", values))]


def arguments_of_haproxy(proxy: Proxy, pair: Pair) -> list[str]:
    place, upstream = proxy.place, proxy.upstream
    # It takes key and certificate from one file.
    together = place.directory / "pair.pem"
    if pair:
        together.write_bytes(b"".join(file.read_bytes() for file in pair))
    values = {
        "splice": "option splice-response" if len(proxy.work.body) >= SPLICED else "",
        "listen": f"{place.address} ssl crt {together} alpn h2,http/1.1" if pair else place.address,
        "scheme": "https" if pair else "http",
        "upstream": f"unix@{upstream.socket}" if upstream.socket else upstream.address}
    return ["-db", "-f", str(servers.write(place, "proxy-haproxy.cfg", values))]


def arguments_of_h2o(proxy: Proxy, pair: Pair) -> list[str]:
    place, upstream = proxy.place, proxy.upstream
    host, port = place.address.split(":")
    values = {
        "user": "user: root" if os.geteuid() == 0 else "", "host": host, "port": port,
        "certificate": f"  ssl: {{certificate-file: {pair[0]}, key-file: {pair[1]}}}" if pair else "",
        "upstream": f"http://[unix:{upstream.socket}]/" if upstream.socket else f"http://{upstream.address}/"}
    return ["-c", str(servers.write(place, "proxy-h2o.conf", values))]
