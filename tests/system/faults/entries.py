"""Odd things within the folder: what is no file, links, names, depths, sizes, numbers."""

from __future__ import annotations

import json
import os
import pathlib
import socket
import threading
import time
import urllib.parse

from .. import wire
from ..probe import Probe
from ..server import Server
from ..verdict import Verdict

SPARSE = 5 << 30
CROWD = 100_000
DEFAULT_LIMIT = "10000"
SECRET = b"secret"
# Long enough that Python makes and removes the folders.
NAME = "deepdeepd"


def special(verdict: Verdict, folder: pathlib.Path, short: bool) -> None:
    """A FIFO, a socket and a device are not served, not even waited for."""
    served = folder / "site"
    served.mkdir()
    (served / "index.html").write_text("x")
    os.mkfifo(served / "fifo")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(served / "socket"))
        names = ["fifo", "socket", "to-device"]
        (served / "to-device").symlink_to("/dev/zero")
        if os.geteuid() == 0:
            try:
                os.mknod(served / "zero", 0o20666, os.makedev(1, 5))
                names.append("zero")
            except OSError:
                pass
        with Server.files(served) as server:
            with Probe(server.address, "/") as probe:
                found = {name: wire.ask_once(server.address, f"/{name}").status for name in names}
                time.sleep(0.2)
    verdict.say(f"special files: {found}")
    verdict.check(all(code in (403, 404) for code in found.values()), f"special files: {found}")
    probe.latencies.judge(verdict, "special files")


def links(verdict: Verdict, folder: pathlib.Path, short: bool) -> None:
    """Links in circles and out of the folder."""
    served = folder / "site"
    (served / "below").mkdir(parents=True)
    (folder / "outside").mkdir()
    (folder / "outside" / "secret").write_bytes(SECRET)
    (served / "file").write_text("inside")
    os.link(served / "file", served / "hard")
    targets = {"loop": "loop", "ping": "pong", "pong": "ping", "up": "..", "out": "../outside", "absolute": str(folder / "outside"),
               "secret": "../outside/secret", "below/escape": "../../outside/secret", "passwd": "/etc/passwd",
               "proc": "/proc/self/root/etc/passwd", "fd": "/dev/fd/0", "inside": "file", "below/inside": "../file",
               "dangling": "nothing"}
    for name, target in targets.items():
        (served / name).symlink_to(target)
    refused = ["loop", "ping", "up/outside/secret", "up/", "out/secret", "out/", "absolute/secret", "secret", "below/escape",
               "passwd", "proc", "fd", "dangling", "below/../../outside/secret", "..%2foutside/secret",
               "%2e%2e/outside/secret", "below/%2e%2e/%2e%2e/outside/secret", "..\\outside\\secret", "//etc/passwd",
               "file/../../outside/secret", "..;/outside/secret", "%c0%ae%c0%ae/outside/secret", "%00/../secret"]
    with Server.files(served) as server:
        leaked = []
        for target in refused:
            response = wire.ask_once(server.address, f"/{target}")
            if response.status not in (400, 403, 404) or SECRET in response.body or b"root:" in response.body:
                leaked.append((target, response.status, response.body[:20]))
        inside = [wire.ask_once(server.address, f"/{name}").body for name in ("inside", "below/inside", "hard")]
    with Server.files(served, "--symlinks", "none") as server:
        none = [wire.ask_once(server.address, f"/{name}").status for name in ("inside", "below/inside", "hard", "file")]
    verdict.say(f"links: {len(refused)} ways out refused, {len(leaked)} open; links within served")
    verdict.check(not leaked, f"links: {leaked}")
    verdict.check(inside == [b"inside"] * 3, f"links: within: {inside}")
    verdict.check(none == [404, 404, 200, 200] or none == [403, 403, 200, 200], f"links: with --symlinks none: {none}")


def names(verdict: Verdict, folder: pathlib.Path, short: bool) -> None:
    """Each byte that a name may have, served when encoded and listed so that the link leads back."""
    encoded = {}
    for byte in range(1, 256):
        if byte in b"/":
            continue
        name = b"a" + bytes([byte]) + b"b"
        with open(os.fsencode(folder) + b"/" + name, "wb") as file:
            file.write(b"%d" % byte)
        encoded[byte] = "/" + urllib.parse.quote_from_bytes(name, safe="")
    # A backslash is a separator to some clients and proxies; such names are not served.
    backslash = ord("\\")
    with Server.files(folder) as server:
        wrong = []
        with wire.Connection(server.address) as connection:
            for byte, target in encoded.items():
                response = connection.ask(target)
                if (response.status, response.body) != (200, b"%d" % byte) and byte != backslash:
                    wrong.append((byte, response.status))
            page = connection.ask("/", {"Accept": "application/json"})
            listed = json.loads(page.body)
            html = connection.ask("/").body
            entries = listed if isinstance(listed, list) else listed.get("entries", listed)
            text = json.dumps(entries)
            followed = 0
            for piece in html.split(b'href="')[1:]:
                target = piece.split(b'"')[0].decode("latin-1").replace("&amp;", "&")
                if target.startswith(("?", "..", "/", "http", "data:", "#")):
                    continue
                response = connection.ask("/" + target.removeprefix("./").split("#")[0])
                followed += response.status == 200
                if response.status != 200:
                    wrong.append(("listed", target, response.status))
    verdict.say(f"names: {len(encoded)} names with each byte served, {followed} links of the listing followed")
    verdict.check(not wrong, f"names: {wrong[:5]}")
    verdict.check(followed >= 250, f"names: only {followed} links in the listing")
    verdict.check("a\\u0001b" in text or "a%01b" in text or followed >= 250, "names: the json listing")


def deep(verdict: Verdict, folder: pathlib.Path, short: bool) -> None:
    """Paths as deep as they come, and deeper."""
    place = folder
    steps = 0
    while len(str(place)) < 3500:
        place = place / NAME
        steps += 1
    os.makedirs(place)
    (place / "file").write_text("deep")
    with Server.files(folder) as server:
        answers = {}
        for count in (steps, steps - 1, 3000, 20_000, 200_000):
            target = f"/{NAME}" * count + "/file"
            answers[count] = wire.ask_once(server.address, target).status
        long = wire.ask_once(server.address, "/" + "x" * 300).status, wire.ask_once(server.address, "/" + "x" * 5000).status
        slashes = wire.ask_once(server.address, "/" * 5000).status
    verdict.say(f"deep: {answers}; names of 300 and 5,000 bytes: {long}; 5,000 slashes: {slashes}")
    verdict.check(answers[steps] == 200 and answers[steps - 1] == 404, f"deep: {answers}")
    verdict.check(all(answers[count] in (404, 414, 431) for count in (3000, 20_000, 200_000)), f"deep: {answers}")
    verdict.check(all(code in (404, 414) for code in long) and slashes in (200, 414), f"deep: {long} {slashes}")


def sparse(verdict: Verdict, folder: pathlib.Path, short: bool) -> None:
    """A file of 5 GB: its length, its last bytes, and what lies behind them."""
    with open(folder / "large", "wb") as file:
        file.truncate(SPARSE)
        file.seek(SPARSE - 4)
        file.write(b"last")
    with Server.files(folder) as server:
        head = wire.ask_once(server.address, "/large", method="HEAD")
        asked = ("bytes=-4", f"bytes={SPARSE - 4}-", f"bytes={SPARSE - 4}-{SPARSE + 99}", f"bytes={(1 << 32) - 2}-{(1 << 32) + 1}",
                 "bytes=0-0,-4", f"bytes={SPARSE}-")
        answers = [wire.ask_once(server.address, "/large", {"Range": value}) for value in asked]
        used = server.memory()
    ends = [answer.body for answer in answers[:3]]
    verdict.say(f"sparse: Content-Length {head.get('content-length')}, ranges {[answer.status for answer in answers]}, "
                f"memory {used >> 10} KB")
    verdict.check(head.get("content-length") == str(SPARSE), f"sparse: HEAD {head}")
    verdict.check(ends == [b"last"] * 3 and answers[3].body == bytes(4), f"sparse: {ends}")
    verdict.check([answer.status for answer in answers] == [206] * 5 + [416], "sparse: statuses")
    verdict.check(answers[4].body.count(b"last") == 1, "sparse: several ranges")


def crowd(verdict: Verdict, folder: pathlib.Path, short: bool) -> None:
    """A folder of 100,000 entries is listed, over and over, while others are served at once."""
    count = CROWD
    crowded = folder / "crowd"
    crowded.mkdir()
    for number in range(count):
        os.close(os.open(crowded / f"entry-{number:06}", os.O_CREAT | os.O_WRONLY, 0o644))
    (folder / "index.html").write_text("x")
    times: list[float] = []
    failures: list[str] = []

    def list_all(server: Server, rounds: int) -> None:
        for _ in range(rounds):
            began = time.monotonic()
            response = wire.ask_once(server.address, "/crowd/", timeout=60)
            times.append(time.monotonic() - began)
            if response.status != 200 or b"entry-000" not in response.body and b"entry-" not in response.body:
                failures.append(f"status {response.status}")

    for limit in (DEFAULT_LIMIT, str(count)):
        times.clear()
        with Server.files(folder, "--listing-limit", limit) as server:
            with Probe(server.address, "/") as probe:
                threads = [threading.Thread(target=list_all, args=(server, 1 if short else 3)) for _ in range(3)]
                for thread in threads:
                    thread.start()
                for thread in threads:
                    thread.join()
                time.sleep(0.1)
            verdict.figure(f"crowd of {count}, at most {limit} shown: a listing takes {min(times):.2f}–{max(times):.2f} s, "
                           f"meanwhile {probe.latencies}")
        # More than the default are sorted in one go, which is why there is a limit: printed, not judged.
        if limit == DEFAULT_LIMIT:
            probe.latencies.judge(verdict, f"crowd, {limit} shown")
        verdict.check(not probe.latencies.failures, f"crowd, {limit} shown: {probe.latencies.failures[:2]}")
    verdict.check(not failures, f"crowd: {failures[:3]}")


def compressed(verdict: Verdict, folder: pathlib.Path, short: bool) -> None:
    """Large texts are compressed for several clients while others are served at once."""
    (folder / "index.html").write_text("x")
    (folder / "large.txt").write_bytes(b"".join(b"line %d of a large text\n" % number for number in range(400_000)))
    sizes: list[int] = []

    def fetch(server: Server, coding: str) -> None:
        response = wire.ask_once(server.address, "/large.txt", {"Accept-Encoding": coding}, timeout=120)
        if response.status == 200 and response.get("content-encoding") == coding:
            sizes.append(len(response.body))

    codings = ("gzip", "zstd", "br")
    with Server.files(folder) as server:
        with Probe(server.address, "/") as probe:
            threads = [threading.Thread(target=fetch, args=(server, coding)) for coding in codings]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
    verdict.figure(f"compressed: {(folder / 'large.txt').stat().st_size >> 20} MB for {len(codings)} clients, meanwhile {probe.latencies}")
    verdict.check(len(sizes) == len(codings), f"compressed: only {len(sizes)} of {len(codings)}")
    probe.latencies.judge(verdict, "compressed")


CASES = (compressed, special, links, names, deep, sparse, crowd)
