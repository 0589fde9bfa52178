"""Uploads while the server is killed: every name has a complete earlier or later content, and nothing else is served."""

from __future__ import annotations

import hashlib
import os
import pathlib
import random
import signal
import threading
import time

from system import wire
from system.server import Server
from system.verdict import Verdict

CLIENTS = 8
NAMES = 20
# Within one piece, in several, and in one that takes a while.
SIZES = (100, 40_000, 700_000)


def content(seed: int) -> bytes:
    """A body that ends with the digest of what is before it."""
    generator = random.Random(seed)
    # Mostly small ones: kills are to meet as many renames as possible.
    body = generator.randbytes(generator.choices(SIZES, (6, 3, 1))[0])
    return body + hashlib.sha256(body).digest()


def is_whole(body: bytes) -> bool:
    return len(body) >= 32 and hashlib.sha256(body[:-32]).digest() == body[-32:]


def run(verdict: Verdict, place: pathlib.Path, kills: int) -> None:
    site = place / "killed"
    site.mkdir()
    bodies = [content(seed) for seed in range(100)]
    answered, seconds = 0, 0.0
    for round in range(kills):
        with Server.files(site, "--write", "put") as server:
            stop = threading.Event()
            counts = [0] * CLIENTS
            clients = [threading.Thread(target=upload, args=(server.address, stop, bodies, counts, number, round))
                       for number in range(CLIENTS)]
            for client in clients:
                client.start()
            began = time.monotonic()
            time.sleep(random.uniform(0.1, 0.6))
            seconds += time.monotonic() - began
            os.kill(server.pid, signal.SIGKILL)
            stop.set()
            for client in clients:
                client.join()
            server.process.wait()
        answered += sum(counts)
        files = {path.name: path.read_bytes() for path in site.iterdir()}
        broken = [name for name, body in files.items() if not name.startswith(".serow-upload-") and not is_whole(body)]
        verdict.check(not broken, f"after kill {round + 1}, incomplete: {broken[:5]}")
    # Temporary names may be left; they are not served, and removed with the folder.
    left = [path.name for path in site.iterdir() if path.name.startswith(".")]
    with Server.files(site, "--write", "dav", "--hidden") as server, wire.Connection(server.address) as connection:
        for name in left[:5]:
            verdict.check(connection.ask(f"/{name}").status == 404, f"{name} is served")
    verdict.check(answered > 0, "no upload was answered")
    verdict.figure(f"{kills} kills during {answered} uploads ({answered / seconds:.0f} per second): every file is complete, {len(left)} temporary names left")


def upload(address: tuple[str, int], stop: threading.Event, bodies: list[bytes], counts: list[int], number: int, round: int) -> None:
    generator = random.Random(round * CLIENTS + number)
    while not stop.is_set():
        try:
            with wire.Connection(address, 5) as connection:
                while not stop.is_set():
                    body = generator.choice(bodies)
                    head = wire.request(f"/{generator.randrange(NAMES)}", {"Content-Length": str(len(body))}, "PUT")
                    connection.send(head + body)
                    if connection.receive("PUT").status in (201, 204):
                        counts[number] += 1
        except (OSError, wire.Cut):
            time.sleep(0.01)
