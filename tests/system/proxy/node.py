"""Programs for Node behind the proxy, as they are: a static server made of promises, and a map's backend on a slow link."""

from __future__ import annotations

import contextlib
import os
import pathlib
import subprocess
from collections.abc import Iterator

from ..http2.tools import find
from ..polling import wait_until
from ..priorities import laboratory, servers, tile
from ..priorities.benchmark import ALLOWED
from ..priorities.laboratory import Link
from ..server import Broken, Server, free_port, program
from ..verdict import Verdict

HERE = pathlib.Path(__file__).parent
# The link of docs/measurements/priorities.md, what the backend is asked for there, and when.
LINK = Link("128kbit", 300)
PICTURE, SCRIPT = 60_000, 12_000
AFTER = 0.2
# Seconds that tile.mjs takes for the script.
DELAY = 0.2
FILES = 20


@contextlib.contextmanager
def listening(script: str, socket: pathlib.Path, *arguments: str) -> Iterator[None]:
    process = subprocess.Popen([find("node"), HERE / script, socket, *arguments], stdin=subprocess.DEVNULL)
    try:
        if not wait_until(lambda: socket.exists() or process.poll() is not None) or process.poll() is not None:
            raise Broken(f"node {script} does not listen")
        yield
    finally:
        process.terminate()
        process.wait()


def promises(verdict: Verdict, folder: pathlib.Path, short: bool) -> None:
    """All files of the static server, at once over HTTP/2, and one after the other over HTTP/1.1."""
    site, socket, port = folder / "site", folder / "node.sock", free_port()
    site.mkdir()
    for number in range(FILES):
        (site / f"{number}.js").write_bytes(os.urandom(number * 5_000 + number % 2))
    command = [program("serow"), "proxy", "--listen", f"127.0.0.1:{port}", "--tls", "self-signed", f"unix:{socket}"]
    with listening("promise.mjs", socket, str(site)), Server(command, port) as proxy:
        for name, options in (("HTTP/2", ("--http2", "-Z")), ("HTTP/1.1", ("--http1.1",))):
            got = folder / name.replace("/", "")
            got.mkdir()
            each = [word for number in range(FILES)
                    for word in ("-o", str(got / f"{number}.js"), f"https://127.0.0.1:{port}/{number}.js")]
            done = subprocess.run([find("curl"), "-sS", "-k", *options, "-w", "%{http_code} %{http_version}\n", *each],
                                  capture_output=True, text=True, timeout=30)
            expected = [f"200 {name.removeprefix('HTTP/')}"] * FILES
            verdict.check(done.returncode == 0 and done.stdout.split("\n")[:-1] == expected, f"Node, {name}: {done.stdout} {done.stderr}")
            contents = [{file.name: file.read_bytes() for file in place.iterdir()} for place in (site, got)]
            verdict.check(contents[0] == contents[1], f"Node, {name}: files came otherwise than they are: {len(contents[1])} of {FILES}")
        for path, expected in (("/nothing", ("404", "no such file\n")), ("/broken", ("500", "a promise that is not kept\n"))):
            done = subprocess.run([find("curl"), "-sSk", "-w", "%{http_code}", f"https://127.0.0.1:{port}{path}"],
                                  capture_output=True, text=True)
            verdict.check((done.stdout[-3:], done.stdout[:-3]) == expected, f"Node, {path}: {done.stdout}")
        verdict.check(not proxy.panics(), f"{proxy.said()[-300:]}")
    verdict.figure(f"Node's static server made of promises: {FILES} files over HTTP/2 and HTTP/1.1 as they are")


def map_tile(verdict: Verdict, folder: pathlib.Path, short: bool) -> None:
    """The script that matters overtakes the picture on a slow link, through the proxy."""
    if not laboratory.is_possible():
        return
    socket = folder / "node.sock"
    # Both are in the server's network; where the proxy ends, so does Node.
    guard = "setpriv --pdeathsig KILL "
    start = f'{guard}"$0" "$1" "$2" "$3" "$4" & until [ -S "$2" ]; do sleep 0.02; done; shift 4; exec "$@"'
    command = ["sh", "-c", start, find("node"), str(HERE / "tile.mjs"), str(socket), str(PICTURE), str(SCRIPT),
               str(program("serow")), "proxy", "--listen", f"{servers.ADDRESS}:{servers.PORT}", "--tls", "self-signed", f"unix:{socket}"]
    server = servers.Server("serow-proxy", "Serow before Node", "serow", servers.RFC9218)
    with laboratory.place(True, folder) as place:
        outcome = laboratory.run_command(LINK, server.label, command, place, tile.client(server, LINK, AFTER, place), 60)
    for resource, size in zip(outcome.told["resources"], (PICTURE, SCRIPT)):
        found = resource["status"], resource["bytes"]
        verdict.check(found == (200, size), f"Node on a slow link: {resource['path']}: status {found[0]}, {found[1]} of {size} bytes")
    figures = tile.figures(outcome, LINK)
    bar = LINK.rtt_ms / 1000 + DELAY + ALLOWED
    later = figures.picture_finished - figures.script_finished
    verdict.figure(f"Node's map at {laboratory.spelled(LINK.name)}: the script's first byte {figures.first_byte:.2f} s after it was "
                   f"asked for, {DELAY:.1f} s of it in Node; the picture is done {later:.1f} s later")
    verdict.compare_time(figures.first_byte <= bar, f"Node on a slow link: the script's first byte came after {figures.first_byte:.2f} s, "
                                                    f"not within {bar:.2f}")
    verdict.check(figures.script_first, "Node on a slow link: the picture was finished first")


CASES = (promises, map_tile)
