"""A TCP relay before a TLS server: it sends the ClientHello byte by byte, and reads the key exchange in the ServerHello."""

from __future__ import annotations

import contextlib
import socket
import struct
import threading

# IANA's registry "TLS Supported Groups".
GROUPS = {0x001d: "x25519", 0x0017: "secp256r1", 0x0018: "secp384r1", 0x11ec: "X25519MLKEM768"}
RECORD_HEADER = 5
KEY_SHARE = 51


class Relay:
    """Relays connections while the `with` block runs."""

    def __init__(self, port: int) -> None:
        self.server_port = port
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.groups: list[str] = []
        self.hello_lengths: list[int] = []

    def __enter__(self) -> "Relay":
        threading.Thread(target=self.accept, daemon=True).start()
        return self

    def __exit__(self, *_) -> None:
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()

    def accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self.listener.accept()
                threading.Thread(target=self.relay, args=[client], daemon=True).start()

    def relay(self, client: socket.socket) -> None:
        with contextlib.suppress(OSError, EOFError), client:
            with socket.create_connection(("127.0.0.1", self.server_port)) as server:
                server.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                hello = record(client)
                self.hello_lengths.append(len(hello))
                for byte in hello:
                    server.sendall(bytes([byte]))
                threading.Thread(target=forward, args=[client, server], daemon=True).start()
                answer = record(server)
                self.groups.append(group(answer))
                client.sendall(answer)
                forward(server, client)


def record(end: socket.socket) -> bytes:
    """The next record (RFC 8446 §5.1)."""
    header = exactly(end, RECORD_HEADER)
    return header + exactly(end, struct.unpack(">H", header[3:])[0])


def exactly(end: socket.socket, length: int) -> bytes:
    data = b""
    while len(data) < length:
        piece = end.recv(length - len(data))
        if not piece:
            raise EOFError
        data += piece
    return data


def forward(source: socket.socket, destination: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while data := source.recv(65536):
            destination.sendall(data)
        destination.shutdown(socket.SHUT_WR)


def group(answer: bytes) -> str:
    """The key exchange of a ServerHello (RFC 8446 §4.1.3), or what it is instead."""
    if answer[0] != 22 or answer[RECORD_HEADER] != 2:
        return f"a record of type {answer[0]}"
    place = RECORD_HEADER + 4 + 2 + 32
    place += 1 + answer[place] + 2 + 1 + 2
    while place + 4 <= len(answer):
        kind, length = struct.unpack(">HH", answer[place:place + 4])
        if kind == KEY_SHARE:
            number = struct.unpack(">H", answer[place + 4:place + 6])[0]
            return GROUPS.get(number, f"group {number:#06x}")
        place += 4 + length
    return "TLS 1.2"
