"""Work for the servers: the requests, the files that they serve, and the servers that are compared with each other."""

from __future__ import annotations

import pathlib
from dataclasses import dataclass

HELLO = b"Hello, World!"
TRANSPORTS = ("tcp", "unix")
CONNECTIONS = (1, 64, 1000)


@dataclass(frozen=True)
class Work:
    name: str
    title: str
    path: str
    body: bytes
    servers: tuple[str, ...]
    # The ratio's denominator. Of several names the cheapest is taken, so that a peer is met at its best.
    references: tuple[str, ...]


def text(size: int) -> bytes:
    """Lines of text, different enough that a mixed-up range would show."""
    lines = bytearray()
    while len(lines) < size:
        lines += b"%07d The serow lives in the mountains of Japan.\n" % len(lines)
    return bytes(lines[:size])


NGINX = ("nginx", "nginx-read")
NGINX_LARGE = ("nginx", "nginx-nodelay")

WORKS = (
    Work("memory", "13 bytes from memory", "/", HELLO,
         ("epoll", "serow-hello", "hyper", "nginx", "h2o", "warp"), ("epoll",)),
    Work("axum", "13 bytes from an axum router", "/", HELLO, ("serow-axum", "hyper-axum"), ("hyper-axum",)),
    Work("file151", "file of 151 bytes", "/151.txt", text(151),
         ("epoll", "serow-files", *NGINX, "h2o", "warp"), ("epoll",)),
    Work("file10k", "file of 10 KB", "/10k.txt", text(10 * 1024), ("serow-files", *NGINX, "h2o", "warp"), ("h2o",)),
    Work("file1m", "file of 1 MB", "/1m.txt", text(1024 * 1024),
         ("serow-files", *NGINX_LARGE, "h2o", "warp"), NGINX_LARGE),
)


def work(name: str) -> Work:
    return next(work for work in WORKS if work.name == name)


def write_folder(folder: pathlib.Path) -> None:
    """The folder that every file server serves."""
    folder.mkdir()
    (folder / "hello.txt").write_bytes(HELLO)
    for each in WORKS:
        if each.path != "/":
            (folder / each.path[1:]).write_bytes(each.body)
