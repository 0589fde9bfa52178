"""Settings that the serving process adopts: nothing is closed, nothing fails, and nothing is left of the settings before."""

from __future__ import annotations

import contextlib
import os
import pathlib
import signal
import socket
import threading
from collections.abc import Iterator

from ..verdict import Verdict
from ..wire import Connection, request
from .running import Running, bench, outcome

LARGE = 64 << 20
SWITCHED = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: echo\r\nConnection: upgrade\r\n\r\n"
# Growth of a round of changes that has other causes: buffers of connections, pages of the allocator.
ROOM_BYTES = 1 << 20
ROUNDS = 5
ROUTES = """
[[map]]
from = "$host"
to = "version"
values = {{ "localhost" = "{version}", "127.0.0.1" = "{version}" }}
[[upstream]]
name = "echo"
servers = ["127.0.0.1:{echo}"]
[[upstream]]
name = "changing"
servers = ["127.0.0.1:{echo},weight={weight}"]
[[site]]
script = "rules.lua"
[[site.route]]
path = "/version"
respond = {{ body = "$version" }}
[[site.route]]
path = "/tunnel"
proxy = {{ upstream = "echo" }}
[[site.route]]
path = "/{version}"
proxy = {{ upstream = "changing" }}
[[site.route]]
path = "/*"
files = {{ root = "{site}" }}
"""


@contextlib.contextmanager
def echo() -> Iterator[int]:
    """A server that switches protocols, and sends back what it receives from then on; its port."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        def serve(client: socket.socket) -> None:
            with client, contextlib.suppress(OSError):
                client.recv(1 << 16)
                client.sendall(SWITCHED)
                while received := client.recv(1 << 16):
                    client.sendall(received)

        def accept() -> None:
            with contextlib.suppress(OSError):
                while True:
                    client, _ = listener.accept()
                    threading.Thread(target=serve, args=(client,), daemon=True).start()

        threading.Thread(target=accept, daemon=True).start()
        yield listener.getsockname()[1]
        listener.shutdown(socket.SHUT_RDWR)


class Changing:
    """A server whose settings have a version."""

    def __init__(self, folder: pathlib.Path, port_of_echo: int) -> None:
        self.server = Running(folder)
        root, _ = self.server.settings.split("[[site]]")
        self.root, self.port_of_echo = root, port_of_echo
        (folder / "rules.lua").write_text("return { request = function(request) end }")
        with open(folder / "site" / "large", "wb") as file:
            file.truncate(LARGE)
        self.write(0)

    def write(self, version: int) -> None:
        routes = ROUTES.format(version=version, echo=self.port_of_echo, weight=version % 3 + 1, site=self.server.folder / "site")
        self.server.file.write_text(self.root + routes)

    def adopt(self, version: int) -> str:
        """Serves another version, and says what was said about it."""
        self.write(version)
        return self.server.command("reload").stdout


def nothing_is_closed(verdict: Verdict, folder: pathlib.Path, short: bool) -> None:
    """Connections, tunnels, downloads and load go on while maps, scripts, routes and upstreams change."""
    changes = 60 if short else 1000
    with echo() as port:
        changing = Changing(folder, port)
        with changing.server as server, Connection(("127.0.0.1", server.port)) as kept, tunnel(server.port) as through, \
                socket.create_connection(("127.0.0.1", server.port)) as download:
            download.sendall(request("/large", {"Connection": "close"}))
            received = len(download.recv(1 << 16))
            load = bench("-c16", "-t1", "-R", "2000", "-n", str(changes * 100), url=f"http://127.0.0.1:{server.port}/index.html")
            wrong, pid = [], server.serving()
            for version in range(1, changes + 1):
                said = changing.adopt(version)
                body = kept.ask("/version").body
                through.sendall(b"%d" % version)
                if (said, body, through.recv(100)) != ("generation 1 serves with the new settings\n", b"%d" % version, body):
                    wrong.append((version, said, body))
            found = outcome(load)
            while piece := download.recv(1 << 20):
                received += len(piece)
            errors = {kind: number for kind, number in found["errors"].items() if number}
            status = server.status()
            verdict.check(not wrong, f"{len(wrong)} of {changes} changes: {wrong[:3]}")
            verdict.check(not errors and found["statuses"] == {"200": changes * 100}, f"{errors}, {found['statuses']}")
            verdict.check(received > LARGE, f"the download was cut after {received} bytes")
            verdict.check(server.serving() == pid, "another process serves")
            verdict.check(status["reloads"]["adopted"] == changes, f"{status['reloads']}")
            verdict.check("panic" not in server.said(), server.said()[-300:])
        verdict.figure(f"{changes} changes in one process, {changes * 100} requests: 0 failed; a tunnel, a download and a "
                       "connection lived on")


@contextlib.contextmanager
def tunnel(port: int) -> Iterator[socket.socket]:
    """A tunnel to the server that sends everything back."""
    with socket.create_connection(("127.0.0.1", port), 30) as client:
        client.sendall(request("/tunnel", {"Upgrade": "echo", "Connection": "upgrade"}))
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            head += client.recv(1)
        assert b" 101 " in head, head
        yield client


def nothing_is_left(verdict: Verdict, folder: pathlib.Path, short: bool) -> None:
    """Memory and descriptors stay as they are: threads give up the settings before, with their scripts and connections."""
    warm, changes = (40, 60) if short else (200, 1000)
    with echo() as port:
        changing = Changing(folder, port)
        with changing.server as server:
            def change(versions: range) -> tuple[int, int]:
                for version in versions:
                    changing.adopt(version)
                    # Each worker has requests.
                    outcome(bench("-c8", "-t1", "-n", "64", "--no-keepalive", url=f"http://127.0.0.1:{server.port}/version"))
                return size(server.serving())

            sizes, grown, version = [change(range(warm))], True, warm
            # The allocator may keep more pages once, or twice; settings that are left take memory in each round.
            while grown and len(sizes) <= ROUNDS:
                sizes.append(change(range(version, version + changes)))
                version += changes
                grown = sizes[-1][0] > sizes[-2][0] + ROOM_BYTES
            # Connections of upstreams that are gone are closed within seconds.
            descriptors = sizes[0][1]
            server.wait_for("its descriptors are as many as before", lambda: size(server.serving())[1] <= descriptors)
            memory = ", ".join(f"{memory / 1e6:.1f}" for memory, _ in sizes)
            verdict.check(not grown, f"the process grew with each {changes} changes: {memory} MB")
        verdict.figure(f"{changes} changes at a time: memory {memory} MB, {descriptors} descriptors as before")


def size(pid: int) -> tuple[int, int]:
    """The bytes of memory that are the process's own, and its open descriptors."""
    lines = pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    private = sum(int(line.split()[1]) for line in lines if line.startswith(("Private_Dirty", "Private_Clean")))
    return private * 1024, len(list(pathlib.Path(f"/proc/{pid}/fd").iterdir()))


def accepted_after_a_crash(verdict: Verdict, folder: pathlib.Path, short: bool) -> None:
    """The process that replaces a crashed one has the settings that were adopted, whatever is in the file by then."""
    with echo() as port:
        changing = Changing(folder, port)
        with changing.server as server:
            changing.adopt(7)
            server.file.write_text("nonsense")
            pid = server.serving()
            os.kill(pid, signal.SIGKILL)
            server.wait_for("another one serves", lambda: server.serving() not in (None, pid))
            with Connection(("127.0.0.1", server.port)) as client:
                verdict.check(client.ask("/version").body == b"7", "the settings that were adopted are gone")


CASES = [nothing_is_closed, nothing_is_left, accepted_after_a_crash]
