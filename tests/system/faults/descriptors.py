"""Fewer descriptors than clients."""

from __future__ import annotations

import collections
import pathlib
import resource
import subprocess
import threading
import time

from .. import wire
from ..server import Server, free_port, program, resident_bytes
from ..verdict import Verdict

LIMIT = 100
CLIENTS = 300
MOST_TRIES = 10


def limited(verdict: Verdict, folder: pathlib.Path, short: bool) -> None:
    """`ulimit -n 100` and 300 clients: all are served in the end, and nobody spins meanwhile."""
    (folder / "index.html").write_text("<p>Hello!</p>\n")
    for number in range(40):
        (folder / f"large-{number}").write_bytes(b"x" * 100_000)

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (LIMIT, LIMIT))

    served: list[int] = []
    asked_again: collections.Counter = collections.Counter()

    def number_of_tries(number: int) -> int:
        asked_again[number] += 1
        return asked_again[number]

    failures: list[str] = []
    stay = threading.Event()

    def client(server: Server, number: int) -> None:
        try:
            with wire.Connection(server.address, 60) as connection:
                target = "/" if number % 2 else f"/large-{number % 40}"
                status = connection.ask(target).status
                while status == 503 and number_of_tries(number) <= MOST_TRIES:
                    # Retry-After: 1, where the descriptors that are left are all in other workers' files.
                    time.sleep(1)
                    status = connection.ask(target).status
                (served if status == 200 else failures).append(status)
                # The first keep their connections, so that the others have to wait for them.
                if number < LIMIT:
                    stay.wait(30)
        except (OSError, wire.Cut, wire.Malformed) as error:
            failures.append(f"{type(error).__name__}: {error}")

    with Server.files(folder, before=limit) as server:
        threads = [threading.Thread(target=client, args=(server, number)) for number in range(CLIENTS)]
        for thread in threads:
            thread.start()
        time.sleep(2)
        used = server.processor_seconds()
        time.sleep(1 if short else 3)
        used = server.processor_seconds() - used
        open_then, served_then = server.descriptors(), len(served)
        stay.set()
        for thread in threads:
            thread.join(70)
        verdict.figure(f"descriptors: {served_then} of {CLIENTS} served while the first kept {open_then} descriptors "
                       f"open ({used:.2f} s of processor time), {len(served)} in the end, {len(asked_again)} of them after a 503")
        verdict.check(len(asked_again) <= CLIENTS // 10, f"descriptors: {len(asked_again)} clients were told to come again")
        verdict.compare_time(used < 0.5, f"descriptors: {used:.2f} s of processor time while nothing could be accepted")
        verdict.check(len(served) == CLIENTS, f"descriptors: {len(served)} served; {failures[:3]}")
        lines = server.said().splitlines()
        verdict.check(len(lines) < 50, f"descriptors: {len(lines)} lines of warnings")
        verdict.check(wire.ask_once(server.address, "/").status == 200, "descriptors: no answer afterwards")


SITES_LIMIT = 1024


def many_sites(verdict: Verdict, folder: pathlib.Path, short: bool) -> None:
    """`ulimit -n 1024` and 10,000 sites, each with a folder: each answers, before and after a reload."""
    count, port, settings = 500 if short else 10_000, free_port(), folder / "serow.toml"
    text = [f'listen = "127.0.0.1:{port}"\nadmin = "unix:{folder}/admin.sock"\nworkers = 2\n']
    for number in range(count):
        root = folder / str(number)
        root.mkdir()
        (root / "index.html").write_text(f"site {number}\n")
        text.append(f'[[site]]\nhosts = ["{number}.example"]\nfiles = {{ root = "{number}" }}\n')
    settings.write_text("".join(text))

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (SITES_LIMIT, SITES_LIMIT))

    def wrong(numbers: range) -> list[int]:
        found, rest = [], list(numbers)
        while rest:
            # A generation that leaves says with a response that it closes the connection.
            with wire.Connection(("127.0.0.1", port), 60) as connection:
                is_open = True
                while rest and is_open:
                    number = rest.pop(0)
                    connection.send(wire.request("/", host=f"{number}.example"))
                    answer = connection.receive()
                    is_open = not answer.closes
                    if answer.status != 200 or answer.body != f"site {number}\n".encode():
                        found.append(number)
        return found

    began = time.monotonic()
    with Server([program("serow"), "run", "-c", settings], port, before=limit) as server:
        first = wrong(range(1))
        started = time.monotonic() - began
        first += wrong(range(count))
        generation = int(pathlib.Path(f"/proc/{server.pid}/task/{server.pid}/children").read_text().split()[0])
        used = len(list(pathlib.Path(f"/proc/{generation}/fd").iterdir()))
        memory = resident_bytes(generation) / 1e6
        reload = subprocess.run([program("serow"), "reload", "-c", settings], capture_output=True, text=True)
        second = wrong(range(count))
        verdict.figure(f"descriptors: {count} sites with {SITES_LIMIT} allowed: the first answer after {started:.1f} s, "
                       f"{used} open, {memory:.0f} MB after a request to each")
        verdict.check(not first and not second, f"descriptors: wrong answers of {first[:3]}, after a reload {second[:3]}")
        verdict.check(reload.returncode == 0, f"descriptors: {reload.stderr}")


CASES = (limited, many_sites)
