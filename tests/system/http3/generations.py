"""Reloads and crashes of `serow run` as an ordinary user: what becomes of connections over QUIC."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import pathlib
import signal
import statistics
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator

from .. import wire
from ..server import program
from ..verdict import LOOKS, Verdict
from . import serving
from .client import Client
from .transport import configuration

NOBODY = 65534
SMALL, LARGE = 151, 5_000_000
RATE, DOWNLOADS = 8000, 4
# The time of a crash: until new connections are answered, and until old ones are reset, in milliseconds. In the short form
# other things run on the machine.
BAR = {False: 50.0, True: 200.0}
START_SECONDS = 10.0


@dataclasses.dataclass
class Moves:
    """Downloads by clients whose port changes."""

    whole: int = 0
    failed: list[str] = dataclasses.field(default_factory=list)


class Running:
    """`serow run` with HTTP/3, as nobody where the test is root."""

    def __init__(self, folder: pathlib.Path) -> None:
        self.folder, self.port = folder, serving.free_port()
        self.address = ("127.0.0.1", self.port)
        self.door, self.log = folder / "admin.sock", folder / "log"
        (folder / "site").mkdir()
        (folder / "site/small").write_bytes(b"a" * SMALL)
        self.large = os.urandom(LARGE)
        (folder / "site/large").write_bytes(self.large)
        (folder / "serow.toml").write_text(f'listen = "127.0.0.1:{self.port}"\nadmin = "unix:{self.door}"\n'
                                           f'tls = "self-signed"\n[[site]]\nfiles = {{ root = "{folder}/site" }}\n')
        self.user = NOBODY if os.geteuid() == 0 else None
        if self.user:
            for path in (folder, *folder.rglob("*")):
                os.chown(path, NOBODY, NOBODY)
        self.log.touch()
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen([program("serow"), "run", "-c", folder / "serow.toml"], stdin=subprocess.DEVNULL,
                                            stdout=subprocess.DEVNULL, stderr=log, user=self.user, group=self.user,
                                            extra_groups=[] if self.user else None,
                                            env=os.environ | {"XDG_STATE_HOME": str(folder), "HOME": str(folder)})
        self.wait_for_generation()

    def __enter__(self) -> Running:
        return self

    def __exit__(self, *_) -> None:
        for sign in (signal.SIGTERM, signal.SIGTERM, signal.SIGKILL):
            self.process.send_signal(sign)
            try:
                self.process.wait(5)
                return
            except subprocess.TimeoutExpired:
                pass

    def command(self, *words: str) -> str:
        command = [program("serow"), *words, "--admin", f"unix:{self.door}"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=90)
        if done.returncode != 0:
            raise wire.Cut(f"serow {words[0]}: {done.stderr.strip()}; it said: {self.log.read_text()[-400:]}")
        return done.stdout

    def serving(self) -> int | None:
        try:
            generations = json.loads(self.command("status", "--json"))["generations"]
        except wire.Cut:
            return None
        return next((each["process"] for each in generations if each["stage"] == "serving"), None)

    def wait_for_generation(self) -> None:
        until = time.monotonic() + START_SECONDS
        while self.serving() is None:
            if time.monotonic() > until:
                raise wire.Cut(f"no generation serves; it said: {self.log.read_text()[-400:]}")
            time.sleep(0.01)


def run(short: bool, verdict: Verdict) -> None:
    with in_folder() as server:
        sessions(server, verdict)
        reloads(server, verdict, *((3, 10_000) if short else (100, 1_000_000)))
    verdict.look_again(lambda: kills(verdict, 3 if short else 10, BAR[short]), LOOKS[short])


class in_folder:
    """A server in a folder of its own, which nobody may enter."""

    def __enter__(self) -> Running:
        self.folder = tempfile.TemporaryDirectory(prefix="serow-http3-")
        os.chmod(self.folder.name, 0o755)
        self.server = Running(pathlib.Path(self.folder.name))
        return self.server

    def __exit__(self, *rest) -> None:
        self.server.__exit__(*rest)
        self.folder.cleanup()


def reloads(server: Running, verdict: Verdict, count: int, requests: int) -> None:
    """Reloads during requests, downloads, and downloads of clients whose port changes: none fails."""
    seconds = max(requests / RATE, count * 0.5)
    begun = [bench(server, "small", requests, requests / seconds, "-c16", "-m8"),
             bench(server, "large", int(DOWNLOADS * seconds), DOWNLOADS, "-c4")]
    moves, over = Moves(), threading.Event()
    mover = threading.Thread(target=move, args=(server, moves, over))
    mover.start()
    began = time.monotonic()
    for number in range(count):
        time.sleep(max(0.0, began + seconds / (count + 1) * (number + 1) - time.monotonic()))
        server.command("reload")
    found = [json.loads(each.communicate(timeout=seconds + 120)[0]) for each in begun]
    over.set()
    mover.join()
    for name, report in zip(("requests", "downloads"), found):
        errors = {kind: number for kind, number in report["errors"].items() if number}
        wanted = {"200": report["summary"]["requests"]}
        verdict.check(not errors and report["statuses"] == wanted, f"{name}: {errors}, {report['statuses']}")
    verdict.check(not moves.failed, f"clients that change their port: {moves.failed[:3]}")
    verdict.check(moves.whole > 0, "no client that changed its port completed a download")
    said = server.log.read_text()
    verdict.check("panic" not in said, said[-300:])
    verdict.figure(f"{count} reloads as {'nobody' if server.user else 'the user of the test'}: "
                   f"{found[0]['summary']['requests']:,} requests, {found[1]['summary']['requests']} downloads, "
                   f"{moves.whole} downloads with a change of the port: 0 failed" if not verdict.misses else "failed")


def sessions(server: Running, verdict: Verdict) -> None:
    """The next generation resumes the sessions of the one before."""
    tickets: list = []
    with Client(server.address, session_ticket_handler=tickets.append) as client:
        client.request("/small")
        client.pump(lambda: bool(tickets), 10)
    server.command("reload")
    with Client(server.address, options=configuration(session_ticket=tickets[0])) as client:
        client.request("/small")
        verdict.check(client.handshake.session_resumed, "a session was not resumed after a reload")


def bench(server: Running, path: str, requests: int, rate: float, *options: str) -> subprocess.Popen:
    command = [program("serow"), "bench", "-3", "-k", "--json", "-t", "1", "-T", "30s", "-n", str(requests), "-R",
               f"{rate:.3f}", *options, f"https://127.0.0.1:{server.port}/{path}"]
    return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)


def move(server: Running, moves: Moves, over: threading.Event) -> None:
    """Downloads; in the middle of each, the client's port changes."""
    wanted = hashlib.sha256(server.large).digest()
    while not over.is_set():
        try:
            with Client(server.address) as client:
                stream = client.open("/large")
                client.pump(lambda: len(client.answers[stream].body) > LARGE // 3)
                client.change_port()
                client.quic.send_ping(1)
                if hashlib.sha256(client.response(stream, 60).body).digest() != wanted:
                    raise wire.Cut("other content")
            moves.whole += 1
        except (OSError, wire.Cut) as error:
            moves.failed.append(str(error))


def kills(verdict: Verdict, count: int, bar: float) -> None:
    """The serving generation is killed: old connections are reset, and new ones answered. Each time another server: after a
    second crash in a row, the next generation has to wait."""
    answered, reset, calm = [], [], []
    for _ in range(count):
        with in_folder() as server:
            calm.append(time_to_answer(server) * 1000)
            with Client(server.address) as old:
                old.request("/small")
                tokens = list(reset_tokens(old))
                os.kill(server.serving(), signal.SIGKILL)
                answered.append(time_to_answer(server) * 1000)
                reset.append(time_to_reset(old, tokens) * 1000)
    figure = (f"kill -9, {count} times: a new connection is answered after {statistics.median(answered):.0f} ms (at most "
              f"{max(answered):.0f}; without a crash {statistics.median(calm):.0f}), an old one reset "
              f"{statistics.median(reset):.1f} ms (at most {max(reset):.1f}) after its next packet")
    verdict.figure(figure)
    verdict.check_in_time(max(reset) <= bar, f"an old connection is reset after {max(reset):.1f} ms")
    verdict.check_in_time(statistics.median(answered) <= bar,
                          f"new connections are answered after {statistics.median(answered):.0f} ms in the median")


def time_to_answer(server: Running) -> float:
    """How long a new connection and its first response take."""
    began = time.monotonic()
    with Client(server.address, timeout=10) as client:
        client.request("/small")
        return time.monotonic() - began


def reset_tokens(client: Client) -> Iterator[bytes]:
    """Of the connection IDs that the server has given out."""
    for each in (client.quic._peer_cid, *client.quic._peer_cid_available):
        if each.stateless_reset_token:
            yield each.stateless_reset_token


def time_to_reset(client: Client, tokens: list[bytes]) -> float:
    """How long after its next packet a client receives a stateless reset (RFC 9000 §10.3)."""
    client.quic.send_ping(1)
    began = time.monotonic()
    client.send()
    client.socket.settimeout(5)
    while True:
        datagram = client.socket.recv(1 << 16)
        if datagram[-16:] in tokens:
            return time.monotonic() - began
