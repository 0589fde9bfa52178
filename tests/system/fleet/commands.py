"""Commands to all servers: while Redis is away, emptied, replaced by a copy, and out of reach for some of the servers."""

from __future__ import annotations

import contextlib
import pathlib
import signal
import socket
import threading
import time

from ..polling import attempts
from ..redis import Redis
from ..server import free_port
from ..verdict import Verdict
from .instances import Instance, Repeated
from .redis import Cluster, Sentinels, eventually

SERVERS = 5
# A command given once is effective on all servers within that time, in seconds.
MOST_SECONDS = 1.0


class Gate:
    """A way to Redis that can be shut: connections through it end, or what is sent through it is lost."""

    def __init__(self, port: int) -> None:
        self.target, self.port, self.is_shut = port, free_port(), False
        self.listener = socket.create_server(("127.0.0.1", self.port))
        self.open: list[socket.socket] = []
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self) -> None:
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            try:
                server = socket.create_connection(("127.0.0.1", self.target), 5)
            except OSError:
                client.close()
                continue
            self.open += [client, server]
            for source, sink in ((client, server), (server, client)):
                threading.Thread(target=self.pass_on, args=(source, sink), daemon=True).start()

    def pass_on(self, source: socket.socket, sink: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                # As in a network that drops packets: neither end learns of it.
                if not self.is_shut:
                    sink.sendall(data)
        source.close()
        sink.close()

    def close(self) -> None:
        self.listener.close()
        for connection in self.open:
            connection.close()


class Answers(Repeated):
    """Asks all servers all the time, while the `with` block runs; what was not answered, and how long the slowest took."""

    PAUSE = 0.02

    def __init__(self, servers: list[Instance]) -> None:
        super().__init__()
        self.servers = servers
        self.asked, self.missed, self.slowest = 0, 0, 0.0

    def step(self) -> None:
        for server in self.servers:
            began = time.monotonic()
            self.missed += server.answer() == 0
            self.asked, self.slowest = self.asked + 1, max(self.slowest, time.monotonic() - began)


def server(folder: pathlib.Path, name: str, urls: list[str]) -> Instance:
    listed = ", ".join(f'"{url}"' for url in urls)
    return Instance(folder, f'[redis]\nurl = [{listed}]\nname = "{name}"\ninstances = {SERVERS}\n[cache]\nmemory = "1M"\n'
                            f'[[site]]\nfiles = {{ root = "public" }}\n')


@contextlib.contextmanager
def fleet(folder: pathlib.Path, urls_of):
    folder.mkdir()
    servers = [server(folder / str(number), f"web{number}", urls_of(number)) for number in range(SERVERS)]
    try:
        for one in servers:
            one.start()
        for one in servers:
            one.wait()
        eventually("all servers are together", lambda: all(is_together(one) for one in servers))
        yield servers
    finally:
        for one in servers:
            one.stop()


def is_together(one: Instance) -> bool:
    found = one.status()["fleet"]
    return found["connected"] and found["share"] == 1 and found["instances"] == SERVERS


def is_settled(servers: list[Instance], kept: int) -> bool:
    """Whether all servers have executed all commands."""
    return all(found["kept"] == kept and found["behind"] + found["unsent"] == 0
               for found in (one.status()["fleet"]["commands"] for one in servers))


def executed(one: Instance) -> list[str]:
    """The commands in the log of a server, in their order."""
    lines = [line for line in one.said().splitlines() if "purge tag=" in line]
    return [line.partition('purge tag="')[2].partition('"')[0] for line in lines]


def commands(verdict: Verdict, folder: pathlib.Path, partition: int, *, all_faults: bool) -> None:
    """A command reaches all servers within a second; whatever happens to Redis, each executes it once, in order."""
    place = folder / "commands"
    place.mkdir()
    with Redis(place) as redis:
        gates = [Gate(redis.port) for _ in range(SERVERS)]
        try:
            with fleet(place / "servers", lambda number: [f"redis://127.0.0.1:{gates[number].port}"]) as servers:
                latency(verdict, servers)
                killed(verdict, servers, redis)
                partitioned(verdict, servers, gates, partition)
                starts(verdict, servers, redis)
        finally:
            for gate in gates:
                gate.close()
    if all_faults:
        place = folder / "sentinels"
        place.mkdir()
        with Sentinels(place) as redis:
            failed_over(verdict, place, "failing over", [redis.url], redis.primary.kill)
        place = folder / "cluster"
        place.mkdir()
        with Cluster(place) as redis:
            failed_over(verdict, place, "failing over in a cluster", redis.urls, lambda: redis.holder().kill())


def latency(verdict: Verdict, servers: list[Instance]) -> None:
    found = []
    for number in range(10):
        wanted = "on" if number % 2 == 0 else "off"
        servers[number % SERVERS].command("maintenance", wanted, "--fleet")
        began = time.monotonic()
        status = 503 if wanted == "on" else 200
        eventually("maintenance has reached all", lambda: all(one.answer() == status for one in servers))
        found.append(time.monotonic() - began)
    verdict.figure(f"a command is in effect on {SERVERS} servers {sorted(found)[5] * 1000:.0f} ms after it was answered, "
                   f"at most {max(found) * 1000:.0f} ms")
    verdict.compare_time(max(found) <= MOST_SECONDS, f"a command took {max(found):.2f} s to reach all servers")


def killed(verdict: Verdict, servers: list[Instance], redis: Redis) -> None:
    """Redis is killed, and comes back without anything."""
    with Answers(servers) as answers:
        redis.kill()
        for number, one in enumerate(servers):
            one.command("purge", "--tag", f"killed-{number}", "--fleet")
        redis.start()
        began = time.monotonic()
        # And that of maintenance.
        eventually("all have executed all", lambda: is_settled(servers, SERVERS + 1))
        took = time.monotonic() - began
    check(verdict, "Redis killed, and back empty", servers, answers, took)
    verdict.check(redis.command("HLEN", "serow:{fleet}:journal") == SERVERS + 1, "Redis does not have all commands again")


def partitioned(verdict: Verdict, servers: list[Instance], gates: list[Gate], seconds: int) -> None:
    """Two of the servers do not reach Redis; all are given commands."""
    kept = servers[0].status()["fleet"]["commands"]["kept"]
    with Answers(servers) as answers:
        for gate in gates[:2]:
            gate.is_shut = True
        began = time.monotonic()
        given = 0
        while time.monotonic() - began < seconds:
            for number, one in enumerate(servers):
                one.command("purge", "--tag", f"apart-{number}-{given}", "--fleet")
            given += 1
            time.sleep(max(seconds / 20, 0.1))
        for gate in gates[:2]:
            gate.is_shut = False
        ended = time.monotonic()
        eventually("all have executed all", lambda: is_settled(servers, kept + given * SERVERS))
        took = time.monotonic() - ended
    check(verdict, f"two of {SERVERS} servers apart for {seconds} s, {given * SERVERS} commands", servers, answers, took)
    for one in servers:
        for number in range(SERVERS):
            mine = [tag for tag in executed(one) if tag.startswith(f"apart-{number}-")]
            expected = [f"apart-{number}-{count}" for count in range(given)]
            verdict.check(mine == expected, f"{one.folder.name} has executed {mine[:5]}… of server {number}")


def failed_over(verdict: Verdict, place: pathlib.Path, name: str, urls: list[str], kill) -> None:
    """Sentinels or a cluster choose another primary."""
    with fleet(place / "servers", lambda _: urls) as servers, Answers(servers) as answers:
        servers[0].command("purge", "--tag", "before", "--fleet")
        kill()
        for number, one in enumerate(servers):
            one.command("purge", "--tag", f"during-{number}", "--fleet")
        began = time.monotonic()
        eventually("all have executed all", lambda: is_settled(servers, SERVERS + 1), 60)
        check(verdict, name, servers, answers, time.monotonic() - began)


def starts(verdict: Verdict, servers: list[Instance], redis: Redis) -> None:
    """A server starts and reloads while Redis is away, with what it last knew."""
    servers[0].command("maintenance", "on", "--fleet")
    eventually("maintenance has reached all", lambda: all(one.answer() == 503 for one in servers))
    found = {}
    for name, away in (("with Redis", False), ("without", True)):
        if away:
            redis.process.send_signal(signal.SIGSTOP)
        one = servers[1]
        one.stop()
        began = time.monotonic()
        one.start()
        for _ in attempts(20):
            if status := one.answer():
                break
        found[name] = time.monotonic() - began
        verdict.check(status == 503, f"the first answer after a start {name} is {status}")
        one.wait()
        began = time.monotonic()
        one.command("reload", "--new-process")
        found[f"reload {name}"] = time.monotonic() - began
    redis.process.send_signal(signal.SIGCONT)
    eventually("the warning", lambda: "commands of other servers arrive" in servers[1].said())
    times = ", ".join(f"{name} {seconds * 1000:.0f} ms" for name, seconds in found.items())
    verdict.figure(f"first answer after a start, and a reload with a new process: {times}")
    verdict.compare_time(max(found.values()) <= 1.0, f"a start or reload took {max(found.values()):.2f} s")


def check(verdict: Verdict, name: str, servers: list[Instance], answers: Answers, took: float) -> None:
    verdict.check(answers.missed == 0, f"{name}: {answers.missed} of {answers.asked} requests were not answered")
    for one in servers:
        tags = executed(one)
        twice = {tag for tag in tags if tags.count(tag) > 1}
        verdict.check(not twice, f"{name}: {one.folder.name} has executed {sorted(twice)[:3]} twice")
    verdict.figure(f"{name}: all commands executed {took:.1f} s after it; {answers.asked} requests answered, "
                   f"the slowest in {answers.slowest * 1000:.0f} ms")
    verdict.compare_time(took <= 5, f"{name}: the commands took {took:.1f} s")

