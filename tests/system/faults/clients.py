"""Clients that die, stop, or come and go by the thousand."""

from __future__ import annotations

import os
import pathlib
import signal
import subprocess
import sys
import threading
import time

from .. import wire
from ..probe import Probe
from ..server import Server
from ..verdict import Verdict

LARGE = 256 << 20
CLIENTS = 30
# Bytes that the server may keep after a storm of clients: buffers for the next one.
KEPT = 8 << 20
READER = """
import socket, sys, time
ends = []
for _ in range(int(sys.argv[2])):
    end = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
    end.sendall(b"GET /large HTTP/1.1\\r\\nHost: a\\r\\n\\r\\n")
    end.recv(100000)
    ends.append(end)
print("reading", flush=True)
while True:
    for end in ends:
        end.recv(1000)
    time.sleep(0.05)
"""


def large_site(folder: pathlib.Path) -> pathlib.Path:
    (folder / "index.html").write_text("<p>Hello!</p>\n")
    with open(folder / "large", "wb") as file:
        file.truncate(LARGE)
    return folder


def warm(server: Server) -> tuple[int, int]:
    """Descriptors and memory of a server that has served each file once with each worker."""
    for _ in range(20):
        for target in ("/", "/large"):
            assert wire.ask_once(server.address, target, method="HEAD").status == 200
    time.sleep(0.2)
    return server.descriptors(), server.memory()


def start_readers(server: Server, count: int) -> subprocess.Popen:
    reader = subprocess.Popen([sys.executable, "-c", READER, str(server.port), str(count)], stdout=subprocess.PIPE)
    reader.stdout.readline()
    return reader


def killed(verdict: Verdict, folder: pathlib.Path, short: bool) -> None:
    """A client is killed amid large responses: memory and descriptors come back."""
    with Server.files(large_site(folder)) as server:
        descriptors, memory = warm(server)
        for _ in range(2 if short else 5):
            reader = start_readers(server, CLIENTS)
            during = server.descriptors()
            reader.send_signal(signal.SIGKILL)
            reader.wait()
            reader.stdout.close()
        settled = server.settles_at(descriptors)
        verdict.say(f"killed: {during} descriptors during, {server.descriptors()} after (before {descriptors}); "
                    f"memory {memory >> 10} KB before, {server.memory() >> 10} KB after")
        verdict.check(settled, f"killed: {server.descriptors()} descriptors, {descriptors} before")
        verdict.check(server.memory() < memory + KEPT, "killed: memory has grown")
        verdict.check(wire.ask_once(server.address, "/").status == 200, "killed: no answer afterwards")


def stopped_clients(verdict: Verdict, folder: pathlib.Path, short: bool) -> None:
    """Clients stand still for a while amid large responses, and go on: others are served meanwhile."""
    with Server.files(large_site(folder), "--body-timeout", "2s") as server:
        descriptors, _ = warm(server)
        reader = start_readers(server, CLIENTS)
        used = server.processor_seconds()
        with Probe(server.address, "/") as probe:
            reader.send_signal(signal.SIGSTOP)
            time.sleep(1 if short else 3)
            reader.send_signal(signal.SIGCONT)
            time.sleep(0.5)
            reader.send_signal(signal.SIGSTOP)
            # Beyond the time for bodies they are cut off; what the kernel's queue still takes may earn it once more.
            let_go = server.settles_at(descriptors + 4, 30)
            still = server.descriptors()
        reader.kill()
        reader.wait()
        reader.stdout.close()
        verdict.figure(f"stopped clients: {probe.latencies}")
        verdict.check(let_go, f"stopped clients: {still} descriptors still, {descriptors} before")
        probe.latencies.judge(verdict, "stopped clients")
        verdict.compare_time(server.processor_seconds() - used < 5, "stopped clients: the server was busy with them")


def stopped_server(verdict: Verdict, folder: pathlib.Path, short: bool) -> None:
    """The server stands still for a while (a laptop's lid) and goes on: who waited is answered, nobody is cut off."""
    with Server.files(large_site(folder)) as server:
        warm(server)
        kept = [wire.Connection(server.address) for _ in range(20)]
        for connection in kept:
            assert connection.ask("/").status == 200
        os.kill(server.pid, signal.SIGSTOP)
        for connection in kept[:10]:
            connection.send(wire.request("/"))
        late = [wire.Connection(server.address) for _ in range(20)]
        for connection in late:
            connection.send(wire.request("/"))
        time.sleep(1 if short else 3)
        os.kill(server.pid, signal.SIGCONT)
        answered = sum(connection.receive().status == 200 for connection in kept[:10] + late)
        answered += sum(connection.ask("/").status == 200 for connection in kept[10:])
        for connection in kept + late:
            connection.close()
        verdict.check(answered == 40, f"stopped server: {answered} of 40 answered")
        verdict.say(f"stopped server: {answered} of 40 connections answered after it went on")


def churn(verdict: Verdict, folder: pathlib.Path, short: bool) -> None:
    """Thousands of connections open and close, politely, rudely, and without a word."""
    count = 3000 if short else 20_000
    failures: list[str] = []

    def come_and_go(server: Server, share: int) -> None:
        for number in range(share):
            try:
                connection = wire.Connection(server.address, 20)
                if number % 4 == 1:
                    connection.send(wire.request("/")[:-2])
                elif number % 4 == 2:
                    connection.send(wire.request("/"))
                elif number % 4 == 3:
                    # Closed with unread input: a reset.
                    connection.send(wire.request("/large"))
                else:
                    if connection.ask("/", {"Connection": "close"}).status != 200:
                        failures.append("status")
                connection.close()
            except (OSError, wire.Cut, wire.Malformed) as error:
                failures.append(f"{type(error).__name__}: {error}")

    with Server.files(large_site(folder)) as server:
        descriptors, memory = warm(server)
        began = time.monotonic()
        threads = [threading.Thread(target=come_and_go, args=(server, count // 8)) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        took = time.monotonic() - began
        settled = server.settles_at(descriptors)
        verdict.figure(f"churn: {count} connections in {took:.1f} s, {len(failures)} failed; memory {memory >> 10} KB "
                       f"before, {server.memory() >> 10} KB after; {server.descriptors()} descriptors, {descriptors} before")
        verdict.check(not failures, f"churn: {failures[:3]}")
        verdict.check(settled, "churn: descriptors are left")
        verdict.check(server.memory() < memory + KEPT, "churn: memory has grown")


CASES = (killed, stopped_clients, stopped_server, churn)
