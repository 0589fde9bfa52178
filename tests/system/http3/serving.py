"""Servers with HTTP/3: their port is free for TCP and for UDP."""

from __future__ import annotations

import os
import socket

from ..server import Server, program


def free_port() -> int:
    while True:
        with socket.socket() as tcp, socket.socket(type=socket.SOCK_DGRAM) as udp:
            tcp.bind(("127.0.0.1", 0))
            try:
                udp.bind(tcp.getsockname())
            except OSError:
                continue
            return tcp.getsockname()[1]


def files(folder: str | os.PathLike, *options: str, port: int | None = None, **rest) -> Server:
    port = port or free_port()
    command = [program("serow"), "files", folder, "--listen", f"127.0.0.1:{port}", "--tls", "self-signed", *options]
    return Server(command, port, **rest)


def proxy(upstream: str, *options: str, **rest) -> Server:
    port = free_port()
    command = [program("serow"), "proxy", "--listen", f"127.0.0.1:{port}", "--tls", "self-signed", *options, upstream]
    return Server(command, port, **rest)
