"""The seeds of other projects' fuzzers, sent to a live server as what a client of HTTP/2 says."""

from __future__ import annotations

import pathlib
import socket
import tarfile
import tempfile
import threading

from .. import suites, wire
from ..priorities import frames
from ..server import Server
from ..verdict import Verdict
from .client import greeting, is_answering

ARCHIVE = "fuzz-seeds.tar.xz"
PLACES = ("/http2-corpus/", "/corpus/h2spec/", "/corpus/nghttp/")
THREADS, PATIENCE, KEPT = 16, 0.1, 8 << 20
# So often another client asks whether it is still served.
ASKED_EVERY = 25


def run(short: bool, verdict: Verdict) -> None:
    chosen = suites.seeds_of_our_own("frames")
    if archive := suites.find(ARCHIVE, verdict):
        with tarfile.open(archive) as opened:
            seeds = [opened.extractfile(member).read() for member in opened
                     if member.isfile() and any(place in f"/{member.name}" for place in PLACES)]
        verdict.check(len(seeds) > 1300, f"only {len(seeds)} seeds in {archive}")
        chosen += seeds[::4] if short else seeds
    with tempfile.TemporaryDirectory() as folder:
        pathlib.Path(folder, "index.html").write_text("<p>Hello!</p>\n")
        replay("files", Server.files(folder, "--access-log", "off"), chosen, verdict)
    replay("echo", Server.example("echo"), chosen, verdict)


def whole(seed: bytes) -> bytes:
    return seed if seed.startswith(frames.PREFACE[:4]) else greeting() + seed


def replay(name: str, server: Server, seeds: list[bytes], verdict: Verdict) -> None:
    with server:
        send_all(server, seeds[:100])
        server.settles_at(0, 2)
        descriptors, memory = server.descriptors(), server.memory()
        dead = send_all(server, seeds)
        settled = server.settles_at(descriptors, 5)
        verdict.figure(f"{name}: {len(seeds)} seeds of HTTP/2; descriptors {descriptors} before, {server.descriptors()} after; "
                       f"memory {memory >> 10} KB before, {server.memory() >> 10} KB after")
        verdict.check(not dead, f"seeds, {name}: did not answer others: {dead[:3]}")
        verdict.check(settled, f"seeds, {name}: descriptors are left")
        verdict.check(server.memory() < memory + KEPT, f"seeds, {name}: memory has grown")
        verdict.check(server.is_running() and not server.panics(), f"seeds, {name}: {server.said()[-300:]}")


def send_all(server: Server, seeds: list[bytes]) -> list[str]:
    dead: list[str] = []
    todo, lock = iter(enumerate(seeds)), threading.Lock()

    def work() -> None:
        while True:
            with lock:
                number, seed = next(todo, (None, b""))
            if number is None:
                return
            try:
                send(server, whole(seed), number % 3)
                if number % ASKED_EVERY == 0:
                    if not is_answering(server.address):
                        dead.append(f"after seed {number}: no answer by HTTP/2")
                    if wire.ask_once(server.address, "/").status != 200:
                        dead.append(f"after seed {number}: another status by HTTP/1")
            except (OSError, wire.Cut, wire.Malformed) as error:
                dead.append(f"after seed {number}: {type(error).__name__}: {error}")

    threads = [threading.Thread(target=work) for _ in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return dead


def send(server: Server, seed: bytes, way: int) -> None:
    """Sends a seed: whole; with the end of what is sent behind it; in two pieces and cut off."""
    with socket.create_connection(server.address, 10) as connection:
        received = 0
        try:
            middle = len(seed) // 2 if way == 2 else len(seed)
            connection.sendall(seed[:middle])
            connection.sendall(seed[middle:])
            if way == 1:
                connection.shutdown(socket.SHUT_WR)
            connection.settimeout(PATIENCE)
            while received < 1 << 20:
                piece = connection.recv(65536)
                if not piece:
                    break
                received += len(piece)
        except (TimeoutError, ConnectionError, BrokenPipeError):
            pass
