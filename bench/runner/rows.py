"""The rows of `bench/table`: what is requested, how, of whom, and the target."""

from __future__ import annotations

from dataclasses import dataclass, replace

from . import works
from .works import Work

PROXY_WORK = "proxy151"


@dataclass(frozen=True)
class Target:
    """At most so many times the cost of the cheapest of these servers."""

    ratio: float
    peers: tuple[str, ...]
    # The ratio for builds without training by profile, where it is another one.
    untrained: float | None = None

    def of(self, build: str) -> float:
        return self.untrained if self.untrained and build != TRAINED else self.ratio

    @property
    def text(self) -> str:
        untrained = f", untrained ≤ {self.untrained:.2f}" if self.untrained else ""
        return f"≤ {self.ratio:.2f}{untrained}" + (" × C" if self.peers[0] in LIMITS else "")


@dataclass(frozen=True)
class Row:
    name: str
    title: str
    work: Work
    # A function of generators.py, and how the servers are started: a function of contenders.py.
    load: str
    service: str
    # Names of servers; "serow" stands for each build of Serow that is measured.
    servers: tuple[str, ...]
    targets: tuple[Target, ...]
    connections: int = 64
    streams: int = 1
    requests: int = 0
    # Of the figures, and of `most`.
    unit: str = "µs"
    # The target as a figure instead of a ratio.
    most: float | None = None

    @property
    def peers(self) -> tuple[str, ...]:
        return tuple(name for name in self.servers if name not in OURS)


OURS = ("serow", "serow-hello", "serow-axum")
BY_GO = ("go", "handshakes")
# The label of the build that packages contain.
TRAINED = "trained"
LIMITS = ("epoll", "short", "udp")
SMALL, MIDDLE, LARGE = (works.work(name) for name in ("file151", "file10k", "file1m"))
PEERS = ("nginx", "h2o")
TLS_SERVERS = ("serow", *PEERS, "caddy")
QUIC_SERVERS = (*TLS_SERVERS, "udp")


def best(ratio: float, *peers: str, untrained: float | None = None) -> tuple[Target, ...]:
    return (Target(ratio, peers or PEERS, untrained),)


MEASURED = (
    Row("short", "one connection per request, cleartext, 151 bytes", SMALL, "short", "files",
        ("serow", *works.NGINX, "h2o", "short"), best(0.80, *works.NGINX, "h2o"), requests=40_000),
    Row("handshake", "one TLS 1.3 connection per request (P-256, full handshake)", SMALL, "short", "tls", TLS_SERVERS,
        best(0.80), connections=16, requests=8_000),
    Row("handshake-go", "the same, load by Go, with X25519 for all", SMALL, "handshakes", "tls", TLS_SERVERS, best(0.80),
        connections=16, requests=4_000),
    Row("h3-151", "HTTP/3, 151 bytes", SMALL, "http3", "http3", QUIC_SERVERS, best(0.60), 16, 32, 200_000),
    Row("h3-10k", "HTTP/3, 10 KB", MIDDLE, "http3", "http3", QUIC_SERVERS, best(0.65, untrained=0.80), 16, 8, 60_000),
    Row("h3-1m", "HTTP/3, 1 MB", LARGE, "http3", "http3", QUIC_SERVERS, best(0.75), 4, 4, 1_000),
    Row("h2-151", "HTTP/2 + TLS, 151 bytes", SMALL, "http2", "tls", TLS_SERVERS, best(0.60), 16, 32, 300_000),
    Row("h2-10k", "HTTP/2 + TLS, 10 KB", MIDDLE, "http2", "tls", TLS_SERVERS, best(0.70), 16, 8, 100_000),
    Row("h2-1m", "HTTP/2 + TLS, 1 MB", LARGE, "http2", "tls", TLS_SERVERS, best(0.70), 4, 4, 2_000),
    Row("hello", "13 bytes, keep-alive", works.work("memory"), "keep", "files", ("serow-hello", "epoll", "nginx"),
        best(1.08, "epoll"), requests=150_000),
    Row("proxy", "proxy, keep-alive, 151 bytes", SMALL, "keep", "proxy", ("serow", "nginx", "haproxy", "epoll"),
        (Target(0.75, ("nginx", "haproxy")), Target(1.15, ("epoll",))), requests=60_000),
    Row("file10k", "10 KB file", MIDDLE, "keep", "files", ("serow", *works.NGINX, "h2o"), best(0.80, *works.NGINX, "h2o"),
        requests=100_000),
    Row("cache", "cache hit of 1 MB from disk", LARGE, "keep", "cache", ("serow", "nginx"), best(0.90, "nginx"), 32, requests=6_000),
    Row("axum", "axum router", works.work("axum"), "keep", "files", ("serow-axum", "hyper-axum"), best(0.85, "hyper-axum"),
        requests=120_000),
    Row("idle", "memory of an idle HTTP/3 connection", SMALL, "idle", "http3", TLS_SERVERS, (), 1_000, unit="KB", most=20),
)
# The ratios of HTTP/3 by a generator that is not ours; it needs more time for a request.
CONFIRMED = tuple(replace(row, name=f"{row.name}-go", title=f"{row.title}, load by quic-go", load="go",
                          servers=("serow", *PEERS), requests=row.requests // 5, targets=row.targets)
                  for row in MEASURED if row.load == "http3")
ROWS = MEASURED + CONFIRMED
