"""The client of the matrix, run in the laboratory: one large download over HTTP/2 without TLS, and how it went.

Its arguments: the path, its size in bytes, the seconds it may take, and the server's administration socket or nothing."""

from __future__ import annotations

import json
import sys
import time

from . import frames, servers, status
from .transport import Transport

# Fine enough to find the middle of a download of seconds.
STEP = 0.02


def main() -> None:
    path, size, limit, admin = sys.argv[1], int(sys.argv[2]), float(sys.argv[3]), sys.argv[4]
    connection = Transport((servers.ADDRESS, servers.PORT), limit)
    received = 0
    failures: list[str] = []

    def on_data(_stream: int, length: int, _last: bool) -> None:
        nonlocal received
        received += length

    def on_frame(kind: int, flags: int, _stream: int, payload: bytes) -> None:
        if kind == frames.SETTINGS and not flags & frames.ACK:
            connection.send(frames.frame(frames.SETTINGS, frames.ACK, 0))
        elif kind == frames.PING and not flags & frames.ACK:
            connection.send(frames.frame(frames.PING, frames.ACK, 0, payload))
        elif kind == frames.HEADERS and not frames.is_success(payload):
            failures.append(f"not answered with 200: {payload[:32].hex()}")
        elif kind in (frames.GOAWAY, frames.RST_STREAM):
            failures.append(f"ended by the server: {payload!r}")

    reader = frames.Reader(on_data, on_frame)
    greeting = frames.settings({frames.ENABLE_PUSH: 0, frames.INITIAL_WINDOW_SIZE: frames.LARGEST_WINDOW})
    greeting += frames.window_update(0, frames.LARGEST_WINDOW - frames.FIRST_WINDOW)
    wish = frames.request(1, "http", f"{servers.ADDRESS}:{servers.PORT}", path)
    connection.send(frames.PREFACE + greeting + wish)
    began = time.monotonic()
    until = began + limit
    steps = [(0.0, 0)]
    while received < size and not failures and time.monotonic() < until:
        reader.feed(connection.receive(until))
        if (now := time.monotonic() - began) >= steps[-1][0] + STEP:
            steps.append((now, received))
    steps.append((time.monotonic() - began, received))
    json.dump({"failures": failures, "received": received, "steps": steps,
               "queue_delay_ms": status.queue_delay_p99(admin) if admin else None}, sys.stdout)


if __name__ == "__main__":
    main()
