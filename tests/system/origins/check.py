"""All cases through a proxy: a request that the origin answers with too much, and then those of other clients."""

from __future__ import annotations

import concurrent.futures
import contextlib
import pathlib
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable

from .. import wire
from ..http2 import client as http2
from ..http2 import fields
from ..priorities import frames
from ..server import Server, free_port, program
from ..smuggling import programs
from ..smuggling.programs import Proxy
from ..verdict import Verdict, arguments
from . import ways
from .ways import Case

OTHERS = 6
TIMEOUT = 10.0
# Some proxies wait for what the attacked response announced.
ATTACK_TIMEOUT = 1.0
# Of the cases in the short test: each so manieth.
SHORT = 2
# Of the cases behind other fronts than the proxy: each so manieth. It divides neither the number of tails nor that of splits.
SAMPLE = 7


ORIGIN = (sys.executable, pathlib.Path(__file__).with_name("origin.py"))


def main() -> None:
    parser = arguments("origins", "Upstream servers that send more than one response to a request.")
    parser.add_argument("--only", default="", help="the cases whose name contains this")
    parser.add_argument("--race", action="store_true", help="the other clients come while the origin may still be sending; "
                        "a tail that comes later than they do cannot be told from an answer to them")
    parser.add_argument("--every", type=int, metavar="N", help="each Nth of the cases")
    parser.add_argument("--proxy", choices=programs.PROXIES, default="serow", help="another proxy, for comparison")
    options = parser.parse_args()
    verdict = Verdict("origins")
    every = options.every or (SHORT if options.short else 1)
    chosen = [case for case in ways.cases() if options.only in case.name][::every]
    try:
        examine(programs.PROXIES[options.proxy], chosen, verdict, options.race)
        if options.proxy == "serow":
            examine(application, chosen[::SAMPLE] or chosen, verdict, options.race)
            examine(over_tls, chosen[::SAMPLE] or chosen, verdict, options.race)
    except programs.Missing as missing:
        verdict.check(False, str(missing))
    verdict.finish()


def examine(front: Callable[[pathlib.Path, int], Proxy], chosen: list[Case], verdict: Verdict, race: bool) -> None:
    port = free_port()
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        proxy = front(pathlib.Path(folder), port)
        if front is not application:
            words = certificate(pathlib.Path(folder)) if front is over_tls else ()
            stack.enter_context(Server(["env", f"CONTROL={folder}/control", *ORIGIN, port, *words], port))
        stack.enter_context(proxy)
        control = None if race else f"{folder}/control"
        clients = {"HTTP/1.1": Http1(proxy.server.port, control)}
        if proxy.http2_port:
            clients["HTTP/2"] = Http2(proxy.http2_port, control)
        for version, client in clients.items():
            with concurrent.futures.ThreadPoolExecutor(OTHERS) as pool:
                tell(f"{proxy.name} over {version}", {case: play(client, case, pool) for case in chosen}, verdict)
        verdict.check(proxy.server.is_running() and not proxy.server.panics(), f"{proxy.name}: {proxy.server.said()[-300:]}")
        if proxy.name.startswith("Serow"):
            verdict.check("no request asked for" in proxy.server.said(), f"{proxy.name}: the log has no word of it")


def application(folder: pathlib.Path, _: int) -> Proxy:
    """The origin as a program that Serow starts."""
    port = free_port()
    command = ["env", f"CONTROL={folder}/control", program("serow"), "app", "--listen", f"127.0.0.1:{port}", "--workers", 1, "--processes", 1, "--", *ORIGIN]
    return Proxy("Serow with a program", Server(command, port), folder / "unused", port)


def over_tls(folder: pathlib.Path, upstream: int) -> Proxy:
    port = free_port()
    command = [program("serow"), "proxy", f"https://127.0.0.1:{upstream}", "--listen", f"127.0.0.1:{port}", "--workers", 1,
               "--server-insecure", "--max-failures", 0]
    return Proxy("Serow before TLS", Server(command, port), folder / "unused", port)


def certificate(folder: pathlib.Path) -> tuple[pathlib.Path, pathlib.Path]:
    made = folder / "certificate.pem", folder / "key.pem"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
                    "-subj", "/CN=localhost", "-out", made[0], "-keyout", made[1]], check=True, capture_output=True)
    return made


def tell(version: str, outcomes: dict[Case, list[str]], verdict: Verdict) -> None:
    wrong = {case: [line for line in lines if line.startswith("wrong")] for case, lines in outcomes.items()}
    for case, lines in wrong.items():
        verdict.check(not lines, f"{version}: {case.name}: {len(lines)} of {OTHERS} other clients: {next(iter(lines), '')}")
    unanswered = {case.name: lines for case, lines in outcomes.items() if any(line.startswith("none") for line in lines)}
    for case, lines in list(unanswered.items())[:5]:
        verdict.say(f"{version}: {case}: {lines[0]}")
    verdict.check(len(unanswered) * 100 <= len(outcomes), f"{version}: {len(unanswered)} cases left other clients without a response")
    others = sum(len(lines) == 0 for lines in wrong.values())
    verdict.figure(f"{version}, {len(outcomes)} cases, {OTHERS} other clients each: {len(outcomes) - others} with bytes of another exchange")


def play(front: Front, case: Case, pool: concurrent.futures.Executor) -> list[str]:
    """The faults in the responses that the other clients get."""
    # Their connections are open before, so that they come at once.
    with contextlib.ExitStack() as stack:
        others = [stack.enter_context(front.connected()) for _ in range(OTHERS)]
        with contextlib.suppress(wire.Cut, wire.Malformed, OSError):
            front.attack(case)
        front.wait_until_sent(case)
        asked = [pool.submit(ask, front, other, f"{case.number}-{number}") for number, other in enumerate(others)]
        return [found for found in (future.result() for future in asked) if found]


def ask(front: Front, connection: wire.Connection | http2.Connection, name: str) -> str:
    try:
        response = front.ask(connection, f"/victim/{name}")
    except (wire.Cut, wire.Malformed, OSError) as error:
        return f"none: {type(error).__name__} {error}"
    if response.body == f"VICTIM {name}".encode():
        return ""
    if response.status in (502, 503, 504):
        return f"none: status {response.status}"
    return f"wrong: {response.status} {response.body[:40]!r}"


class Front:
    """Where clients connect to."""

    def __init__(self, port: int, control: str | None) -> None:
        self.address, self.control = ("127.0.0.1", port), control

    def target(self, case: Case) -> str:
        return f"/attack/{case.number}/{type(self).__name__.lower()}"

    def wait_until_sent(self, case: Case) -> None:
        """Until the origin has sent all of what it sends too much: it may be slower than the clients."""
        if self.control is not None:
            with socket.socket(socket.AF_UNIX) as control:
                control.settimeout(TIMEOUT)
                control.connect(self.control)
                control.sendall(self.target(case).removeprefix("/attack/").encode() + b"\n")
                control.recv(16)


class Http1(Front):
    """Clients that speak HTTP/1.1."""

    def connected(self, timeout: float = TIMEOUT) -> wire.Connection:
        return wire.Connection(self.address, timeout)

    def ask(self, connection: wire.Connection, target: str) -> wire.Response:
        return connection.ask(target)

    def attack(self, case: Case) -> None:
        with self.connected(ATTACK_TIMEOUT) as connection:
            length = {"content-length": str(len(case.way.body))} if case.way.body else {}
            connection.send(wire.request(self.target(case), length, case.way.method) + case.way.body)
            connection.receive(case.way.method)


class Http2(Front):
    """Clients that speak HTTP/2."""

    def connected(self, timeout: float = TIMEOUT) -> http2.Connection:
        return http2.Connection(self.address, timeout)

    def ask(self, connection: http2.Connection, target: str) -> wire.Response:
        return connection.ask(target)

    def attack(self, case: Case) -> None:
        with self.connected(ATTACK_TIMEOUT) as connection:
            method = fields.literal(b":method", case.way.method.encode())
            stream = connection.open(self.target(case), method=method, end=not case.way.body)
            if case.way.body:
                connection.send(data_of(stream, case.way.body))
            for frame in connection.frames():
                if frame.stream == stream and (frame.is_last or frame.kind == frames.RST_STREAM):
                    return


def data_of(stream: int, body: bytes) -> bytes:
    """A body in frames of the largest size that needs no agreement (RFC 9113 §6.5.2)."""
    pieces = [body[at:at + 16384] for at in range(0, len(body), 16384)]
    last = len(pieces) - 1
    return b"".join(frames.frame(frames.DATA, frames.END_STREAM if number == last else 0, stream, piece)
                    for number, piece in enumerate(pieces))
