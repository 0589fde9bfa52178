"""Reloads and crashes of `serow run` as an ordinary user: what becomes of connections over QUIC."""

from __future__ import annotations

import contextlib
import dataclasses
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
from ..restarts.running import Running, bench, exists, outcome
from ..verdict import Verdict
from . import serving
from .client import Client
from .transport import Transport, configuration

NOBODY = 65534
SMALL, LARGE = 151, os.urandom(5_000_000)
RATE, DOWNLOADS = 8000, 4
# RFC 9114 §8.1.
NO_ERROR, REQUEST_REJECTED = 0x100, 0x10B
# The time of a crash: until new connections are answered, and until old ones are reset, in milliseconds.
BAR = 50.0


@dataclasses.dataclass
class Moves:
    """Downloads by clients whose port changes."""

    whole: int = 0
    failed: list[str] = dataclasses.field(default_factory=list)


def run(short: bool, verdict: Verdict) -> None:
    with running() as server:
        sessions(server, verdict)
        last_go_away(server, verdict)
        begun_handshakes(server, verdict)
        reloads(server, verdict, *((3, 10_000) if short else (100, 1_000_000)))
    kills(verdict, 3 if short else 10)


@contextlib.contextmanager
def running(*settings: str) -> Iterator[Running]:
    """`serow run` with HTTP/3, as nobody where the test is root."""
    with tempfile.TemporaryDirectory(prefix="serow-http3-") as name:
        folder = pathlib.Path(name)
        extra = "\n".join(('tls = "self-signed"', *settings))
        server = Running(folder, extra, serving.free_port(), user=NOBODY if os.geteuid() == 0 else None)
        server.environment |= {"XDG_STATE_HOME": name, "HOME": name}
        (folder / "site/small").write_bytes(b"a" * SMALL)
        (folder / "site/large").write_bytes(LARGE)
        if server.user:
            for path in (folder, *folder.rglob("*")):
                os.chown(path, server.user, server.user)
        with server:
            yield server


def reloads(server: Running, verdict: Verdict, count: int, requests: int) -> None:
    """Reloads during requests, downloads, and downloads of clients whose port changes: none fails."""
    seconds = max(requests / RATE, count * 0.5)
    begun = [ask(server, "small", requests, requests / seconds, "-c16", "-m8"),
             ask(server, "large", int(DOWNLOADS * seconds), DOWNLOADS, "-c4")]
    moves, over = Moves(), threading.Event()
    mover = threading.Thread(target=move, args=(server, moves, over))
    mover.start()
    began = time.monotonic()
    for number in range(count):
        time.sleep(max(0.0, began + seconds / (count + 1) * (number + 1) - time.monotonic()))
        server.replace()
    found = [outcome(each, seconds + 120) for each in begun]
    over.set()
    mover.join()
    for name, report in zip(("requests", "downloads"), found):
        errors = {kind: number for kind, number in report["errors"].items() if number}
        wanted = {"200": report["summary"]["requests"]}
        verdict.check(not errors and report["statuses"] == wanted, f"{name}: {errors}, {report['statuses']}")
    verdict.check(not moves.failed, f"clients that change their port: {moves.failed[:3]}")
    verdict.check(moves.whole > 0, "no client that changed its port completed a download")
    verdict.check("panic" not in server.said(), server.said()[-300:])
    verdict.figure(f"{count} reloads as {'nobody' if server.user else 'the user of the test'}: "
                   f"{found[0]['summary']['requests']:,} requests, {found[1]['summary']['requests']} downloads, "
                   f"{moves.whole} downloads with a change of the port: 0 failed" if not verdict.misses else "failed")


def sessions(server: Running, verdict: Verdict) -> None:
    """The next generation resumes the sessions of the one before."""
    tickets: list = []
    with Client(address(server), session_ticket_handler=tickets.append) as client:
        client.request("/small")
        client.pump(lambda: bool(tickets), 10)
    server.replace()
    with Client(address(server), options=configuration(session_ticket=tickets[0])) as client:
        client.request("/small")
        verdict.check(client.handshake.session_resumed, "a session was not resumed after a reload")


def last_go_away(server: Running, verdict: Verdict) -> None:
    """The GOAWAY that names the last request comes a while before the end: clients move to another connection meanwhile."""
    with Client(address(server)) as client:
        client.request("/small")
        server.replace()
        client.pump(lambda: len(client.h3.go_aways) == 2, 30)
        began = time.monotonic()
        verdict.check(len(client.h3.go_aways) == 2 and client.ended is None, "the connection ended with the last GOAWAY")
        late = client.open("/small")
        client.pump(lambda: late in client.resets, 30)
        verdict.check(client.resets.get(late) == REQUEST_REJECTED, f"a late request: {client.resets}, {client.answers[late]}")
        client.pump(lambda: False, 30)
        lasted = time.monotonic() - began
        verdict.check(client.ended is not None and client.ended.error_code == NO_ERROR, f"the connection ended with {client.ended}")
        verdict.compare_time(0.8 < lasted < 4, f"the connection ended {lasted:.1f} s after the last GOAWAY")


def begun_handshakes(server: Running, verdict: Verdict) -> None:
    """A handshake that is slow is completed during a reload; one that does not go on does not keep the old process."""
    old = server.serving()
    with Transport(address(server)) as silent, Transport(address(server)) as slow:
        for one in (silent, slow):
            one.send()
        time.sleep(0.2)
        server.replace()
        time.sleep(0.3)
        silent.drop = True
        verdict.check(slow.pump(lambda: slow.handshake is not None, 30), f"a slow handshake was not completed: {slow.ended}")
        slow.close()
        took = server.wait_for("the old generation has ended", lambda: not exists(old), 30)
        verdict.compare_time(took < 5, f"a handshake that did not go on kept the old process for {took:.1f} s")


def ask(server: Running, path: str, requests: int, rate: float, *options: str) -> subprocess.Popen:
    return bench("-3", "-k", "-t1", "-T", "30s", "-n", str(requests), "-R", f"{rate:.3f}", *options,
                 url=f"https://127.0.0.1:{server.port}/{path}")


def move(server: Running, moves: Moves, over: threading.Event) -> None:
    """Downloads; in the middle of each, the client's port changes."""
    while not over.is_set():
        try:
            with Client(address(server)) as client:
                stream = client.open("/large")
                client.pump(lambda: len(client.answers[stream].body) > len(LARGE) // 3)
                client.change_port()
                client.quic.send_ping(1)
                if client.response(stream, 60).body != LARGE:
                    raise wire.Cut("other content")
            moves.whole += 1
        except (OSError, wire.Cut) as error:
            moves.failed.append(str(error))


def kills(verdict: Verdict, count: int) -> None:
    """The serving generation is killed: old connections are reset, and new ones answered. Each time another server: after a
    second crash in a row, the next generation has to wait."""
    answered, reset, calm = [], [], []
    for _ in range(count):
        with running() as server:
            calm.append(time_to_answer(server) * 1000)
            with Client(address(server)) as old:
                old.request("/small")
                tokens = list(reset_tokens(old))
                os.kill(server.serving(), signal.SIGKILL)
                answered.append(time_to_answer(server) * 1000)
                reset.append(time_to_reset(old, tokens) * 1000)
    figure = (f"kill -9, {count} times: a new connection is answered after {statistics.median(answered):.0f} ms (at most "
              f"{max(answered):.0f}; without a crash {statistics.median(calm):.0f}), an old one reset "
              f"{statistics.median(reset):.1f} ms (at most {max(reset):.1f}) after its next packet")
    verdict.figure(figure)
    verdict.compare_time(max(reset) <= BAR, f"an old connection is reset after {max(reset):.1f} ms")
    verdict.compare_time(statistics.median(answered) <= BAR,
                         f"new connections are answered after {statistics.median(answered):.0f} ms in the median")


def time_to_answer(server: Running) -> float:
    """How long a new connection and its first response take."""
    began = time.monotonic()
    with Client(address(server), timeout=10) as client:
        client.request("/small")
        return time.monotonic() - began


def address(server: Running) -> tuple[str, int]:
    return "127.0.0.1", server.port


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
