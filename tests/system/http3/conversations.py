"""Valid uses of a connection: requests of all kinds, new ports and keys, the end of connections."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import pathlib
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator

from .. import wire
from ..http2 import client as http2
from ..http2.websocket import BINARY, CLOSE, TEXT, Messages, message
from ..server import Server, program
from . import serving
from .client import Client
from .origin import Origin
from .transport import Transport, configuration

LARGE = 10_000_000
CONTENT = hashlib.shake_128(b"large").digest(LARGE)
# More than the kernel's buffers and a congestion window can hold.
PART = 1_000_000
# A client that lets the server send no more than this ahead: what has become urgent shows at once.
NARROW = 64 << 10


class Site:
    """A folder, `serow files` over it, and `serow proxy` before an origin; those that cases do not start themselves."""

    def __init__(self, folder: pathlib.Path) -> None:
        self.folder, self.log = folder / "site", folder / "access.log"
        self.admin = folder / "admin.sock"
        self.folder.mkdir()
        (self.folder / "index.html").write_text("Hello!")
        (self.folder / "large").write_bytes(CONTENT)
        for number in range(6):
            (self.folder / f"part{number}").write_bytes(CONTENT[:PART])

    def files(self, *options: str, **rest) -> Server:
        return serving.files(self.folder, *options, **rest)

    @contextlib.contextmanager
    def served(self) -> Iterator["Site"]:
        options = ("--access-log", str(self.log), "--access-log-format", "json", "--admin", f"unix:{self.admin}")
        with self.files(*options) as self.server, Origin() as self.origin, \
                serving.proxy(self.origin.url, "--max-body", "unlimited") as self.proxy:
            yield self

    def status(self) -> dict:
        command = [program("serow"), "status", "--json", "--admin", f"unix:{self.admin}"]
        return json.loads(subprocess.run(command, check=True, capture_output=True).stdout)


def run(only: str | None, verdict) -> None:
    chosen = [case for case in CASES if not only or only in case.__name__]
    passed = 0
    with tempfile.TemporaryDirectory() as folder, Site(pathlib.Path(folder)).served() as site:
        for case in chosen:
            began = time.monotonic()
            try:
                wrong = list(case(site))
            except (OSError, wire.Cut, wire.Malformed, AssertionError, subprocess.SubprocessError) as error:
                wrong = [f"{type(error).__name__}: {error}"]
            for what in wrong:
                verdict.check(False, f"{case.__name__}: {what}")
            passed += not wrong
            verdict.say(f"{case.__name__}: {time.monotonic() - began:.1f} s")
        for server in (site.server, site.proxy):
            verdict.check(server.is_running() and not server.panics(), f"conversations: {server.said()[-300:]}")
    verdict.figure(f"aioquic: {passed} of {len(chosen)} kinds of conversations")


def narrow(server: Server) -> Client:
    return Client(server.address, options=configuration(max_data=NARROW))


def get_and_head(site: Site) -> Iterator[str]:
    with Client(site.server.address) as client:
        answer = client.request("/")
        if (answer.status, answer.body) != (200, b"Hello!"):
            yield f"GET: {answer}"
        answer = client.request("/", method="HEAD")
        if (answer.status, answer.body, answer.headers.get("content-length")) != (200, b"", "6"):
            yield f"HEAD: {answer}"
        if client.request("/missing").status != 404:
            yield "a missing file is not a 404"


def large_upload(site: Site) -> Iterator[str]:
    with Client(site.proxy.address) as client:
        answer = client.request("/echo", method="POST", body=CONTENT[:3 * PART])
        if answer.body != CONTENT[:3 * PART]:
            yield f"{answer.status}, {len(answer.body)} bytes came back"


def many_streams(site: Site) -> Iterator[str]:
    """1,000 on one connection, 128 at a time."""
    with Client(site.server.address) as client:
        waiting: list[int] = []
        for _ in range(1000):
            if len(waiting) == 128:
                if client.response(waiting.pop(0)).status != 200:
                    yield "not 200"
            waiting.append(client.open("/"))
        if any(client.response(stream).status != 200 for stream in waiting):
            yield "not 200"


def many_at_once(site: Site) -> Iterator[str]:
    """300, of which 128 may be open."""
    with Client(site.server.address) as client:
        streams = [client.open("/") for _ in range(300)]
        statuses = {client.response(stream).status for stream in streams}
        if statuses != {200}:
            yield f"status {statuses}"


def download(site: Site) -> Iterator[str]:
    with Client(site.server.address) as client:
        if client.request("/large").body != CONTENT:
            yield "other content"


def range_of_a_file(site: Site) -> Iterator[str]:
    with Client(site.server.address) as client:
        answer = client.request("/large", fields={"range": "bytes=5000000-5000099"})
        if (answer.status, answer.body) != (206, CONTENT[5_000_000:5_000_100]):
            yield f"{answer.status}, {len(answer.body)} bytes"


def trailers(site: Site) -> Iterator[str]:
    with Client(site.proxy.address) as client:
        answer = client.request("/trailers", fields={"te": "trailers"})
        if (answer.body, answer.trailers) != (b"body", {"x-sum": "42"}):
            yield f"of a response: {answer}"
        stream = client.open("/their-trailers", method="POST", end=False)
        client.h3.send_data(stream, b"body", False)
        client.send_head(stream, [("x-their", "43")], True)
        answer = client.response(stream)
        if b"x-their: 43" not in answer.body.lower():
            yield f"of a request: {answer}"


def early_hints(site: Site) -> Iterator[str]:
    with Client(site.proxy.address) as client:
        answer = client.request("/hints")
        if (answer.informational, answer.body) != ([103], b"hinted"):
            yield str(answer)


def expect_continue(site: Site) -> Iterator[str]:
    with Client(site.proxy.address) as client:
        stream = client.open("/echo", method="POST", fields={"expect": "100-continue", "content-length": "4"}, end=False)
        answer = client.answers[stream]
        if not client.pump(lambda: 100 in answer.informational, 10):
            yield "no 100"
        client.h3.send_data(stream, b"body", True)
        if client.response(stream).body != b"body":
            yield str(answer)


class Tunnel:
    """The bytes of a stream."""

    def __init__(self, client: Client, stream: int) -> None:
        self.client, self.stream = client, stream

    def send(self, data: bytes, *, last: bool = False) -> None:
        self.client.h3.send_data(self.stream, data, last)

    def receive(self) -> bytes:
        body = self.client.answers[self.stream].body
        if not self.client.pump(lambda: len(body) > 0 or self.stream in self.client.resets, 10) or not body:
            raise wire.Cut(f"the tunnel ended: {self.client.resets}, {self.client.ended}")
        received = bytes(body)
        body.clear()
        return received


def websocket(site: Site) -> Iterator[str]:
    """RFC 9220, through the proxy to a server that knows HTTP/1.1's upgrade."""
    with Client(site.proxy.address) as client:
        client.pump(lambda: client.h3.received_settings is not None, 10)
        if (client.h3.received_settings or {}).get(8) != 1:
            yield f"the server announces {client.h3.received_settings}"
        stream = client.quic.get_next_available_stream_id()
        client.send_head(stream, [(":method", "CONNECT"), (":protocol", "websocket"), (":scheme", "https"),
                                  (":authority", "localhost"), (":path", "/chat"), ("sec-websocket-version", "13"),
                                  ("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ==")], False)
        answer = client.answers[stream]
        client.pump(lambda: answer.status is not None or answer.is_over, 10)
        if answer.status != 200:
            yield f"status {answer.status}: {client.resets} {client.ended}"
            return
        tunnel = Tunnel(client, stream)
        for kind, length in ((TEXT, 0), (TEXT, 5), (BINARY, 125), (BINARY, 20_000), (BINARY, 200_000)):
            sent, got = message(kind, os.urandom(length) if kind == BINARY else b"serow"[:length]), b""
            tunnel.send(sent)
            while len(got) < len(sent):
                got += tunnel.receive()
            if got != sent:
                yield f"{length} bytes came back changed"
        tunnel.send(message(CLOSE, b"\x03\xe8"), last=True)
        if not client.pump(lambda: answer.is_over, 10):
            yield "the tunnel does not end"


def resumption(site: Site) -> Iterator[str]:
    tickets: list = []
    with Client(site.server.address, session_ticket_handler=tickets.append) as client:
        client.request("/")
        client.pump(lambda: bool(tickets), 10)
    if not tickets:
        yield "no ticket"
        return
    with Client(site.server.address, options=configuration(session_ticket=tickets[0])) as client:
        if client.request("/").status != 200:
            yield "no answer"
        if not client.handshake.session_resumed:
            yield "the session was not resumed"
        if client.handshake.early_data_accepted:
            yield "0-RTT was accepted, which is off by default"


def key_update(site: Site) -> Iterator[str]:
    with Client(site.server.address) as client:
        for _ in range(3):
            stream = client.open("/part0")
            client.pump(lambda: len(client.answers[stream].body) > 100_000)
            client.quic.request_key_update()
            if client.response(stream).body != CONTENT[:PART]:
                yield "other content"


def port_changes(site: Site) -> Iterator[str]:
    """As a NAT does it, three times within a download."""
    with Client(site.server.address) as client:
        yield from move(client, client.change_port)


def migration(site: Site) -> Iterator[str]:
    """To other ports, each with a connection ID of its own."""
    with Client(site.server.address) as client:
        def migrate() -> None:
            client.change_port()
            client.quic.change_connection_id()
        yield from move(client, migrate)


def move(client: Client, to_another: Callable[[], None]) -> Iterator[str]:
    stream = client.open("/large")
    answer = client.answers[stream]
    for part in (1, 2, 3):
        client.pump(lambda: len(answer.body) > part * LARGE // 5)
        if answer.is_over:
            yield "the download was over before"
        to_another()
        # A download alone sends nothing until the server does.
        client.quic.send_ping(part)
    if client.response(stream, 60).body != CONTENT:
        yield "other content"


def graceful_stop(site: Site) -> Iterator[str]:
    """TERM during a download: GOAWAY, the download completes, new connections are refused."""
    with site.files("--access-log", "off") as server, narrow(server) as client:
        stream = client.open("/large")
        answer = client.answers[stream]
        client.pump(lambda: len(answer.body) > PART)
        os.kill(server.pid, signal.SIGTERM)
        client.pump(lambda: bool(client.h3.go_aways) or answer.is_over, 10)
        if answer.is_over:
            yield "GOAWAY did not come before the end of the download"
        # Clients whose first packet may have waited in the kernel when the server began to stop are accepted. The download must not
        # be over by then: nothing of it is received meanwhile.
        time.sleep(0.6)
        with Transport(server.address) as other:
            with contextlib.suppress(OSError):
                if other.pump(lambda: other.handshake is not None, 2):
                    yield "a new connection was accepted"
                elif other.ended and (other.ended.error_code, other.ended.frame_type is None) != (2, False):
                    yield f"a new connection was refused with {other.ended}"
        if client.response(stream).body != CONTENT:
            yield "other content"
        # The grace is two round trips, and a client that was busy elsewhere looks far away.
        client.pump(lambda: False, 25)
        if client.ended is None:
            yield "the connection was not closed"
        elif client.ended.error_code != 0x100:
            yield f"the connection ended with {client.ended}"
        server.process.wait(10)


def control_stream_first(site: Site) -> Iterator[str]:
    """The instructions of QPACK's encoder do not wait behind the response that needs them."""
    for _ in range(4):
        with site.files("--access-log", "off") as server, Client(server.address) as client:
            stream = client.open("/large")
            # Until they come, aioquic cannot read the response.
            client.pump(lambda: client.answers[stream].status is not None)
            if client.bytes_received > 16 * NARROW:
                yield f"{client.bytes_received >> 10} KB came before the head of the response could be read"
                return


def idle_timeout(site: Site) -> Iterator[str]:
    with site.files("--access-log", "off", "--idle-timeout", "1s") as server, Client(server.address) as client:
        client.request("/")
        began = time.monotonic()
        client.pump(lambda: False, 30)
        # The client has the same limit, since the server has announced it (RFC 9000 §10.1), and may be the first to end.
        by_client = client.ended is not None and client.ended.reason_phrase == "Idle timeout"
        if not by_client and (client.ended is None or client.ended.error_code != 0x100):
            yield f"not closed with H3_NO_ERROR: {client.ended}"
        elif (lasted := time.monotonic() - began) < 0.8:
            yield f"closed after {lasted:.1f} s"


def alternative_services(site: Site) -> Iterator[str]:
    """HTTP/1.1 and HTTP/2 tell about HTTP/3."""
    wanted = f'h3=":{site.server.port}"'
    for version in ("--http1.1", "--http2"):
        said = alt_svc(site.server, version)
        if wanted not in said:
            yield f"{version}: Alt-Svc: {said!r}"


def alt_svc(server: Server, version: str = "--http1.1") -> str:
    command = ["curl", "-skI", version, f"https://127.0.0.1:{server.port}/"]
    lines = subprocess.run(command, capture_output=True, text=True, timeout=30).stdout.splitlines()
    return ", ".join(line.partition(":")[2].strip() for line in lines if line.lower().startswith("alt-svc:"))


def switched_off(site: Site) -> Iterator[str]:
    with site.files("--access-log", "off", "--http3", "off") as server:
        if "h3" in alt_svc(server):
            yield "Alt-Svc names HTTP/3"
        with socket.socket(type=socket.SOCK_DGRAM) as udp:
            try:
                udp.bind(server.address)
            except OSError:
                yield "the UDP port is in use"


def port_in_use(site: Site) -> Iterator[str]:
    """One warning; TCP goes on."""
    port = serving.free_port()
    with socket.socket(type=socket.SOCK_DGRAM) as other:
        other.bind(("127.0.0.1", port))
        with site.files("--access-log", "off", port=port) as server:
            if (said := alt_svc(server)) and "h3=" in said:
                yield f"Alt-Svc: {said}"
            lines = [line for line in server.said().splitlines() if "UDP" in line or "HTTP/3" in line]
            if len(lines) != 1:
                yield f"{len(lines)} warnings: {server.said()}"
            with contextlib.closing(http2.Connection(server.address, 10, tls=True)) as client:
                if client.ask("/").status != 200:
                    yield "no answer over TCP"


def priority_field(site: Site) -> Iterator[str]:
    """A small urgent response overtakes large ones that were asked for before."""
    with narrow(site.server) as client:
        large = [client.open(f"/part{number}", fields={"priority": "u=5"}) for number in range(6)]
        client.pump(lambda: len(client.answers[large[0]].body) > 0)
        urgent = client.open("/", fields={"priority": "u=0"})
        client.response(urgent)
        if client.order[0] != urgent:
            yield f"it came after {client.order.index(urgent)} of the large ones"
        for stream in large:
            client.response(stream)


def priority_update(site: Site) -> Iterator[str]:
    """The last large response becomes urgent while the others are on their way."""
    with narrow(site.server) as client:
        large = [client.open(f"/part{number}", fields={"priority": "u=5"}) for number in range(6)]
        client.pump(lambda: len(client.answers[large[0]].body) > 0)
        client.update_priority(large[-1], "u=0")
        for stream in large:
            client.response(stream)
        if client.order.index(large[-1]) > 1:
            yield f"it came as number {client.order.index(large[-1]) + 1} of {len(large)}"


def early_priority_update(site: Site) -> Iterator[str]:
    """PRIORITY_UPDATE before the stream opens."""
    with narrow(site.server) as client:
        client.update_priority(20, "u=0")
        client.request("/")
        large = [client.open(f"/part{number}", fields={"priority": "u=5"}) for number in range(5)]
        assert large[-1] == 20
        for stream in large:
            client.response(stream)
        if client.order[1] != 20:
            yield f"it came as number {client.order.index(20)} of {len(large)}"


def access_log(site: Site) -> Iterator[str]:
    with Client(site.server.address) as client:
        client.request("/?logged")
    until = time.monotonic() + 10
    while time.monotonic() < until:
        entries = [json.loads(line) for line in site.log.read_text().splitlines() if "?logged" in line and line.endswith("}")]
        if entries:
            if entries[0]["version"] != "HTTP/3.0":
                yield f"version {entries[0]['version']}"
            return
        time.sleep(0.02)
    yield "no entry"


def status_report(site: Site) -> Iterator[str]:
    before = site.status()["requests"]["http3"]
    with Client(site.server.address) as client:
        for _ in range(3):
            client.request("/")
        report = site.status()
    if report["requests"]["http3"] - before != 3:
        yield f"{report['requests']['http3'] - before} requests instead of 3"
    if report["connections"]["open_http3"] < 1:
        yield "no connection is open"


CASES = (get_and_head, large_upload, many_streams, many_at_once, download, range_of_a_file, trailers, early_hints, expect_continue,
         websocket, resumption, key_update, port_changes, migration, graceful_stop, control_stream_first, idle_timeout,
         alternative_services,
         switched_off, port_in_use, priority_field, priority_update, early_priority_update, access_log, status_report)
