"""Early data (0-RTT): what is answered before the handshake is complete, and what a copy of a client's packets does."""

from __future__ import annotations

import contextlib
import pathlib
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator

from .. import wire
from ..polling import wait_until
from ..server import Server
from ..verdict import Verdict
from . import generations, serving
from .client import H3, Answer, Client
from .origin import Origin
from .transport import Transport, configuration

# Seconds after which a copy of packets would have had its effect.
SILENCE = 0.7
ON = ("--early-data", "on")


class Returning(Client):
    """A client that has been there before. It keeps the datagrams that it sends."""

    def __init__(self, address: tuple[str, int], ticket, token: bytes) -> None:
        self.answers: dict[int, Answer] = {}
        self.order: list[int] = []
        self.timeout = 10.0
        self.sent: list[bytes] = []
        self.h3 = None
        Transport.__init__(self, address, options=configuration(session_ticket=ticket, token=token))
        self.h3 = H3(self.quic)

    def send(self) -> None:
        for data, _ in self.quic.datagrams_to_send(time.monotonic()):
            self.sent.append(data)
            if not self.drop:
                self.socket.send(data)

    def send_first_flight(self) -> list[bytes]:
        """Nothing is sent after it until `go_on`."""
        self.send()
        self.drop = True
        return list(self.sent)

    def go_on(self) -> None:
        self.drop = False


class Known:
    """Tickets and proofs of the address, of a first connection. Each is used once."""

    def __init__(self, address: tuple[str, int]) -> None:
        self.address, self.tickets, self.tokens = address, [], []

    def client(self, token: bytes | None = None) -> Returning:
        if not self.tickets:
            self.tokens.clear()
            with Client(self.address, session_ticket_handler=self.tickets.append, token_handler=self.tokens.append) as first:
                first.request("/first")
                first.pump(lambda: len(self.tickets) == len(self.tokens) == 2, 5)
            if not self.tokens:
                raise wire.Cut("no proof of the address was sent")
        return Returning(self.address, self.tickets.pop(), self.tokens.pop() if token is None else token)


class Place:
    """A proxy that takes early data, and its origin."""

    def __init__(self, folder: pathlib.Path, origin: Origin, server: Server) -> None:
        self.folder, self.origin, self.server = folder, origin, server
        self.log = folder / "access.log"
        self.known = Known(server.address)

    def seen(self, path: str) -> list[tuple[str, str | None]]:
        """Of the requests that have reached the origin, the methods and what they say of early data."""
        return [(method, fields.get("early-data")) for method, at, fields in list(self.origin.requests) if at == path]

    def wait_for(self, holds: Callable[[], bool], seconds: float = 5.0) -> bool:
        return wait_until(holds, seconds)

    def send_copy(self, datagrams: list[bytes]) -> None:
        with socket.socket(type=socket.SOCK_DGRAM) as other:
            other.connect(self.server.address)
            for datagram in datagrams:
                other.send(datagram)
            time.sleep(SILENCE)


def run(only: str | None, verdict: Verdict) -> None:
    chosen = [case for case in CASES if not only or only in case.__name__]
    passed = 0
    with tempfile.TemporaryDirectory(prefix="serow-early-data-") as name, Origin() as origin:
        folder = pathlib.Path(name)
        form = "$request_method $uri early=$ssl_early_data $http3"
        options = ("--access-log", str(folder / "access.log"), "--access-log-format", form)
        with serving.proxy(origin.url, *ON, *options) as server:
            place = Place(folder, origin, server)
            for case in chosen:
                try:
                    wrong = list(case(place))
                except (OSError, wire.Cut, wire.Malformed, AssertionError, subprocess.SubprocessError) as error:
                    wrong = [f"{type(error).__name__}: {error}"]
                for what in wrong:
                    verdict.check(False, f"{case.__name__}: {what}")
                passed += not wrong
            verdict.check(server.is_running() and not server.panics(), f"early data: {server.said()[-300:]}")
    verdict.figure(f"early data: {passed} of {len(chosen)} cases")


def get_is_answered(place: Place) -> Iterator[str]:
    """Before the handshake is complete; the origin and the log know."""
    with place.known.client() as client:
        stream = client.open("/get")
        client.send_first_flight()
        if not place.wait_for(lambda: place.seen("/get") == [("GET", "1")]):
            yield f"with the first packets alone, the origin has seen {place.seen('/get')}"
        client.go_on()
        if client.response(stream).status != 200:
            yield f"{client.answers[stream]}"
        if not client.handshake or not client.handshake.early_data_accepted:
            yield f"{client.handshake}"
        later = client.request("/later")
        if later.status != 200 or place.seen("/later") != [("GET", None)]:
            yield f"after the handshake: {later}, {place.seen('/later')}"
    wanted = ["GET /get early=1 h3", "GET /later early=- h3"]
    if not place.wait_for(lambda: all(line in place.log.read_text() for line in wanted)):
        yield f"the log has {place.log.read_text()!r}"


def post_waits(place: Place) -> Iterator[str]:
    """For the end of the handshake; then it is a request as any other."""
    with place.known.client() as client:
        stream = client.open("/post", method="POST", body=b"once")
        client.send_first_flight()
        time.sleep(SILENCE)
        if seen := place.seen("/post"):
            yield f"before the end of the handshake, the origin has seen {seen}"
        client.go_on()
        answer = client.response(stream)
        if (answer.status, bytes(answer.body)) != (200, b"once") or not client.handshake.early_data_accepted:
            yield f"{answer}, {client.handshake}"
        if (seen := place.seen("/post")) != [("POST", None)]:
            yield f"the origin has seen {seen}"


def large_upload_waits(place: Place) -> Iterator[str]:
    """More than the first packets can have; what has waited is read after the handshake."""
    content = bytes(300_000)
    with place.known.client() as client:
        stream = client.open("/upload", method="PUT", body=content)
        get = client.open("/beside-upload")
        if client.response(stream).body != content or client.response(get).status != 200:
            yield f"{client.answers}"
        if (seen := place.seen("/upload")) != [("PUT", None)]:
            yield f"the origin has seen {seen}"


def copies_do_nothing(place: Place) -> Iterator[str]:
    """Of a connection that was completed, and of one that was not."""
    for path, method, count in (("/copied", "GET", 1), ("/copied-post", "POST", 1)):
        with place.known.client() as client:
            stream = client.open(path, method=method, body=b"once" if method == "POST" else None)
            flight = client.send_first_flight()
            client.go_on()
            client.response(stream)
        place.send_copy(flight)
        if len(place.seen(path)) != count:
            yield f"{method}: the origin has seen {place.seen(path)}"
    for path, method, count in (("/cut", "GET", 1), ("/cut-post", "POST", 0)):
        client = place.known.client()
        client.open(path, method=method, body=b"once" if method == "POST" else None)
        flight = client.send_first_flight()
        time.sleep(0.1)
        client.socket.close()
        for _ in range(2):
            place.send_copy(flight)
        if len(place.seen(path)) != count:
            yield f"{method} of a handshake that was not completed: the origin has seen {place.seen(path)}"


def address_is_proven(place: Place) -> Iterator[str]:
    """A client that has not shown that its address is its own waits, as all that it sends may have another's address."""
    with place.known.client(token=b"") as client:
        stream = client.open("/no-token")
        client.send_first_flight()
        time.sleep(SILENCE)
        if seen := place.seen("/no-token"):
            yield f"before the end of the handshake, the origin has seen {seen}"
        client.go_on()
        if client.response(stream).status != 200 or place.seen("/no-token") != [("GET", None)]:
            yield f"{client.answers[stream]}, {place.seen('/no-token')}"


def too_early(place: Place) -> Iterator[str]:
    """The origin's 425 reaches the client, and its second try the origin."""
    with place.known.client() as client:
        if (status := client.request("/too-early").status) != 425:
            yield f"status {status}"
        if (status := client.request("/too-early").status) != 200:
            yield f"after the handshake: status {status}"


def fields_of_clients(place: Place) -> Iterator[str]:
    """A client that is a proxy says it itself, in early data or not."""
    with place.known.client() as client:
        client.request("/marked", fields={"early-data": "1"})
        client.request("/marked", fields={"early-data": "1"})
    if (seen := place.seen("/marked")) != [("GET", "1"), ("GET", "1")]:
        yield f"the origin has seen {seen}"


def client_certificates(place: Place) -> Iterator[str]:
    """Where they are requested, no ticket allows early data."""
    authority = place.folder / "authority.pem"
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", "/CN=a",
               "-keyout", place.folder / "authority.key", "-out", authority]
    subprocess.run(command, check=True, capture_output=True)
    tickets: list = []
    with serving.proxy(place.origin.url, *ON, "--tls-client", "optional", "--tls-client-ca", str(authority)) as server:
        with Client(server.address, session_ticket_handler=tickets.append) as client:
            client.request("/certificates")
            client.pump(lambda: bool(tickets), 2)
        if any(ticket.max_early_data_size for ticket in tickets):
            yield "a ticket allows early data"
        if "early data is off" not in server.said():
            yield f"no warning: {server.said()}"


def reload(place: Place) -> Iterator[str]:
    """The next generation does not know the session: requests wait for the handshake, once."""
    with generations.running("early-data = true") as server:
        known = Known(generations.address(server))
        for accepted in (True, False, True):
            with known.client() as client:
                if client.request("/small").status != 200:
                    yield f"{client.answers}"
                if client.handshake.early_data_accepted != accepted:
                    yield f"accepted {accepted}: {client.handshake}"
            if accepted:
                server.replace()
            else:
                known.tickets.clear()


def stops_during_handshake(place: Place) -> Iterator[str]:
    """A handshake with early data that does not go on does not keep a server that stops."""
    with serving.proxy(place.origin.url, *ON) as server:
        client = Known(server.address).client()
        client.open("/stopped")
        client.send_first_flight()
        place.wait_for(lambda: bool(place.seen("/stopped")))
        began = time.monotonic()
        server.process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            server.process.wait(25)
        client.socket.close()
        # The grace is 30 s.
        if (took := time.monotonic() - began) > 20:
            yield f"it took {took:.1f} s to stop"


CASES = (get_is_answered, post_waits, large_upload_waits, copies_do_nothing, address_is_proven, too_early, fields_of_clients,
         client_certificates, reload, stops_during_handshake)
