"""A proxy that believes what it is sent: the first length it finds counts, and every head is passed on as it came.

It is what the judge is tested with: `naive.py PORT UPSTREAM LOG`."""

from __future__ import annotations

import re
import socket
import sys
import threading

LINE_ENDS = re.compile(rb"\r?\n\r?\n")


class Upstreams:
    """Connections that are kept, whatever happened on them, each with what came behind its last answer."""

    def __init__(self, port: int) -> None:
        self.port, self.kept, self.lock = port, [], threading.Lock()

    def take(self) -> tuple[socket.socket, bytes]:
        with self.lock:
            if self.kept:
                return self.kept.pop()
        return socket.create_connection(("127.0.0.1", self.port), 5), b""

    def keep(self, connection: socket.socket, rest: bytes) -> None:
        with self.lock:
            self.kept.append((connection, rest))


def length(head: bytes) -> int:
    found = re.search(rb"\ncontent-length\s*:\s*(\d+)", head, re.IGNORECASE)
    return int(found.group(1)) if found else 0


def message(connection: socket.socket, rest: bytes) -> tuple[bytes, bytes, bytes]:
    """Head, body and what is behind them; an empty head at the end."""
    while not (end := LINE_ENDS.search(rest)):
        piece = connection.recv(65536)
        if not piece:
            return b"", b"", rest
        rest += piece
    head, rest = rest[:end.end()], rest[end.end():]
    while len(rest) < length(head):
        piece = connection.recv(65536)
        if not piece:
            return b"", b"", rest
        rest += piece
    return head, rest[:length(head)], rest[length(head):]


def serve(client: socket.socket, upstreams: Upstreams, log) -> None:
    rest = b""
    with client:
        client.settimeout(2)
        try:
            while True:
                head, body, rest = message(client, rest)
                if not head:
                    return
                upstream, before = upstreams.take()
                upstream.sendall(head + body)
                upstream.settimeout(0.5)
                answer_head, answer_body, behind = message(upstream, before)
                if not answer_head:
                    client.sendall(b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n")
                    continue
                client.sendall(answer_head + answer_body)
                log.write(f"{answer_head[9:12].decode()} {head.splitlines()[0].decode('latin-1')}\n")
                log.flush()
                if re.search(rb"\nconnection:\s*close", head, re.IGNORECASE):
                    return
                upstreams.keep(upstream, behind)
        except OSError:
            return


def main() -> None:
    port, upstream, log = int(sys.argv[1]), int(sys.argv[2]), open(sys.argv[3], "w")
    upstreams = Upstreams(upstream)
    with socket.create_server(("127.0.0.1", port), backlog=128) as listener:
        while True:
            client, _ = listener.accept()
            threading.Thread(target=serve, args=(client, upstreams, log), daemon=True).start()


if __name__ == "__main__":
    main()
