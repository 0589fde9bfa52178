"""WebSockets over HTTP/2, beside those over HTTP/1.1, with Starlette's and Django Channels' applications behind them."""

from __future__ import annotations

import json
import pathlib
from collections.abc import Callable

from wsproto.events import CloseConnection, Ping, Pong

from ..polling import wait_until
from ..server import Server, free_port, program
from ..verdict import Verdict
from .sockets import Connection, OverHttp1, OverHttp2, Refused

SITES = pathlib.Path(__file__).parent / "sites.py"
# More than all windows have room for.
LONG = 3 << 20
SECONDS = 5.0


def run(verdict: Verdict) -> None:
    for encrypted in (False, True):
        for site, conversations in (("starlette", OF_STARLETTE), ("channels", OF_CHANNELS)):
            with serving(site, encrypted) as server:
                for conversation in conversations:
                    hold(conversation, server, encrypted, verdict)
                verdict.check(server.is_running() and not server.panics(), f"{site}: the server: {server.said()[-500:]}")
    verdict.figure(f"{len(OF_STARLETTE) + len(OF_CHANNELS)} conversations over HTTP/2, in the clear and over TLS")


def serving(site: str, encrypted: bool) -> Server:
    port = free_port()
    # One process: what a room's members say stays in its memory.
    command = [program("serow"), "app", f"{SITES}:{site}", "--interface", "asgi", "--interpreter", "/usr/bin/python3", "--processes", "1",
               "--listen", f"127.0.0.1:{port}", "--access-log", "off", *(["--tls", "self-signed"] if encrypted else [])]
    return Server(command, port)


def hold(conversation: Callable[[Connection, Server], None], server: Server, encrypted: bool, verdict: Verdict) -> None:
    name = f"{conversation.__name__}, {'over TLS' if encrypted else 'in the clear'}"
    try:
        conversation(Connection(server.address, encrypted=encrypted), server)
    except Exception as error:
        verdict.check(False, f"{name}: {type(error).__name__}: {error}: {server.said()[-500:]}")


def subprotocol_and_scope_are_right(connection: Connection, server: Server) -> None:
    assert connection.is_open_to_websockets()
    websocket = OverHttp2(connection, "/echo/a%20b?c=d", subprotocols="one, two")
    assert websocket.headers["sec-websocket-protocol"] == "two", websocket.headers
    scheme = "wss" if connection.scheme == "https" else "ws"
    same(json.loads(websocket.hear()), [scheme, "2", "a b", {"c": "d"}])


def messages_go_there_and_back(connection: Connection, server: Server) -> None:
    websocket = OverHttp2(connection, "/echo/a")
    websocket.hear()
    for message in ("", "grün 🌱", b"", b"\0\xff", "x" * 70_000, bytes(range(256)) * (LONG // 256)):
        websocket.say(message)
        heard = websocket.hear()
        assert heard == message, f"{len(message)} went, {len(heard)} came"
    websocket.send(Ping(b"are you there"))
    same(websocket.hear(), Pong(b"are you there"))


def compressed_messages_go_there_and_back(connection: Connection, server: Server) -> None:
    over_http1 = OverHttp1(server.address, "/echo/a", encrypted=connection.scheme == "https", compressed=True)
    for websocket in (OverHttp2(connection, "/echo/a", compressed=True), over_http1):
        websocket.hear()
        for message in ("", "grün 🌱", "grün 🌱" * 100, b"", b"\0\xff", "x" * 70_000, "grün 🌱" * 100, bytes(range(256)) * (LONG // 256)):
            websocket.say(message)
            heard = websocket.hear()
            assert heard == message, f"{len(message)} went, {len(heard)} came"
        websocket.send(Ping(b"are you there"))
        same(websocket.hear(), Pong(b"are you there"))


def many_streams_and_pages_between_them(connection: Connection, server: Server) -> None:
    websockets = [OverHttp2(connection, f"/echo/{number}") for number in range(50)]
    for number, websocket in enumerate(websockets):
        same(json.loads(websocket.hear())[2], str(number))
        websocket.say(f"I am {number}")
    connection.get("/codes")
    for number, websocket in reversed(list(enumerate(websockets))):
        same(websocket.hear(), f"I am {number}")


def ends(connection: Connection, server: Server) -> None:
    before = len(connection.get("/codes").split())
    client_closes = OverHttp2(connection, "/echo/a")
    client_closes.hear()
    client_closes.send(CloseConnection(4000, "mine"))
    same(client_closes.hear().code, 4000)
    soon(lambda: connection.get("/codes").split()[before:], [b"4000"])
    client_leaves = OverHttp2(connection, "/iterated")
    client_leaves.say("a")
    same(client_leaves.hear(), "A")
    client_leaves.leave()
    soon(lambda: connection.get("/codes").split()[before:], [b"4000", b"1006"])
    application_closes = OverHttp2(connection, "/echo/a")
    application_closes.hear()
    application_closes.say("close")
    same(application_closes.hear().code, 3001)


def foreign_origins_and_unknown_paths_are_refused(connection: Connection, server: Server) -> None:
    for path, origin, status in (("/chat/a", "http://evil.example", "403"), ("/chat/a/b", "http://localhost", "500")):
        for ask in (lambda: OverHttp2(connection, path, origin=origin),
                    lambda: OverHttp1(server.address, path, origin=origin, encrypted=connection.scheme == "https")):
            try:
                ask()
            except Refused as refused:
                same(str(refused), status)
            else:
                raise AssertionError(f"{path} is open to {origin}")
    same(connection.get("/page"), b"a page")


def a_room_with_both(connection: Connection, server: Server) -> None:
    members = [OverHttp2(connection, "/chat/room"), OverHttp2(connection, "/chat/room"),
               OverHttp1(server.address, "/chat/room", encrypted=connection.scheme == "https")]
    other = OverHttp2(connection, "/chat/other")
    for number, member in enumerate(members):
        member.say(f"{number} is here")
        for listener in members:
            same(listener.hear(), f"{number} is here")
    members.pop().leave()
    for listener in members:
        same(listener.hear(), "left with 1006")
    first, second = members
    first.send(CloseConnection(1000))
    same(first.hear().code, 1000)
    same(second.hear(), "left with 1000")
    other.say("alone")
    same(other.hear(), "alone")


OF_STARLETTE = (subprotocol_and_scope_are_right, messages_go_there_and_back, compressed_messages_go_there_and_back,
                many_streams_and_pages_between_them, ends)
OF_CHANNELS = (foreign_origins_and_unknown_paths_are_refused, a_room_with_both)


def same(found, expected) -> None:
    assert found == expected, f"{found!r} in the place of {expected!r}"


def soon(look: Callable[[], object], expected) -> None:
    wait_until(lambda: look() == expected)
    same(look(), expected)
