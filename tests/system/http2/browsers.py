"""Chromium and Firefox: a page with all it names, and a WebSocket, over TLS; the page itself says which protocol was used.

Between them and the server of the page is a relay that sends each ClientHello byte by byte."""

from __future__ import annotations

import json
import pathlib
import sys
import tempfile

from ..server import REPOSITORY, Server
from ..verdict import Verdict
from . import relay, site, tools

# The post-quantum key exchange; browsers send it since Chromium 131 and Firefox 132.
KEY_EXCHANGE = "X25519MLKEM768"
NAMES = ("/", "/style.css", "/script.js", "/image.png", "/data.json")


def run(verdict: Verdict) -> None:
    for browser in ("Chromium", "Firefox"):
        with tempfile.TemporaryDirectory(prefix="serow-browser-", ignore_cleanup_errors=True) as work:
            try:
                visit(browser, pathlib.Path(work), verdict)
            except (tools.Missing, tools.Failed, OSError, ValueError) as error:
                verdict.check(False, f"{browser}: {type(error).__name__}: {error}")


def visit(name: str, work: pathlib.Path, verdict: Verdict) -> None:
    folder = work / "site"
    folder.mkdir()
    site.make(folder)
    with site.served(folder, work / "log", "--tls", "self-signed") as (server, log), \
            Server.example("websocket", "tls") as other, relay.Relay(server.port) as between:
        command = [sys.executable, "-m", "system.http2.browser", name, str(work), f"https://localhost:{between.port}/",
                   f"https://localhost:{other.port}/"]
        said, talked = json.loads(tools.run(command, seconds=150, folder=REPOSITORY / "tests")[0])
        wanted = {"script": True, "data": 42, "image": 20, "style": "rgb(1, 2, 3)"}
        protocols = said.pop("protocols", {})
        verdict.check(said == wanted, f"{name}: the page is not as it should be: {said}")
        verdict.check({protocols.get(path) for path in NAMES} == {"h2"}, f"{name}: spoken were {protocols}")
        lines = log.lines(len(NAMES) + 1)
        odd = [line for line in lines if line.version != "HTTP/2.0"]
        found = {line.target: (line.status, line.bytes) for line in lines}
        sizes = {path: (200, (folder / (path[1:] or "index.html")).stat().st_size) for path in NAMES}
        verdict.check(not odd and sizes.items() <= found.items(), f"{name}: the access log has {lines}")
        received = talked.get("received") or []
        verdict.check(talked.get("wasClean") is True and received[1:] == ["serow"], f"{name}: WebSocket: {talked}")
        verdict.check(received[:1] == ["HTTP/2.0"], f"{name}: the WebSocket came by {received[:1]}")
        verdict.figure(f"{name}: a page, style, script, image and fetch by h2, all in the log; WebSocket by {(received or ['?'])[0]}")
        groups, lengths = set(between.groups), between.hello_lengths
        verdict.check(groups == {KEY_EXCHANGE}, f"{name}: negotiated key exchanges: {between.groups}")
        verdict.figure(f"{name}: ClientHellos of {min(lengths, default=0)} to {max(lengths, default=0)} bytes, sent byte by byte; "
                       f"{len(between.groups)} connections with {', '.join(sorted(groups))}")
        for one in (server, other):
            verdict.check(one.is_running() and not one.panics(), f"{name}: {one.said()[-300:]}")
