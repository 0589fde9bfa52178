"""The benchmark in a real browser: a page with a picture, and a script that the page adds 200 ms after it."""

from __future__ import annotations

import argparse
import os
import pathlib
import shutil
import struct
import subprocess
import tempfile
import zlib

from ..server import Broken
from ..verdict import Verdict
from . import document, laboratory, servers
from .laboratory import Link
from .servers import Server

PAGE = """\
<!doctype html>
<title>A map</title>
<link rel="icon" href="data:,">
<img src="/picture.png" alt="a tile"$hint>
<script>
setTimeout(() => {
  const script = document.createElement("script");
  script.src = "/script.js";
  script.fetchPriority = "high";
  document.body.append(script);
}, 200);
</script>
"""
# Chromium asks for a picture that can be seen with u=2 and for this script with u=1, but the tree of RFC 7540 that it sends
# along has the script below the picture. With the hint both say the same.
HINTS = {"`<img>`": "", "`<img fetchpriority=\"low\">`": ' fetchpriority="low"'}
SIZE, SHORT_SIZE = 300_000, 100_000
# The script is to be done in this share of the picture's time: both are as large, so that an equal share would be 1.
MOST = 0.7


def make_site(site: pathlib.Path, size: int, hint: str) -> None:
    site.mkdir()
    site.chmod(0o755)
    (site / "index.html").write_text(PAGE.replace("$hint", hint))
    (site / "picture.png").write_bytes(picture(size))
    line = b"// 0123456789abcdef0123456789abcdef\n"
    (site / "script.js").write_bytes(b"window.loaded = true;\n" + line * (size // len(line)))


def picture(size: int) -> bytes:
    """A picture of noise, which cannot be made smaller: a broken one would not be loaded to its end."""
    side = int((size / 3) ** 0.5)
    rows = b"".join(b"\0" + os.urandom(3 * side) for _ in range(side))
    chunks = ((b"IHDR", struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)), (b"IDAT", zlib.compress(rows, 0)), (b"IEND", b""))
    parts = [struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data)) for name, data in chunks]
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


def run(options: argparse.Namespace, verdict: Verdict) -> None:
    if not shutil.which("chromium"):
        verdict.check(False, "chromium is missing; run: tests/install")
        return
    names = options.only or (["serow", "serow-off", "nginx", "h2o", "nghttpd"] if options.peers or options.write else ["serow"])
    link = Link(options.rate, options.rtt, ("--queue", options.queue, "--congestion", options.congestion))
    size = options.size or (SHORT_SIZE if options.short else SIZE)
    rows, signals = [], {}
    for server in servers.SERVERS:
        if server.name not in names:
            continue
        if not servers.is_there(server):
            verdict.check(not server.is_ours, f"{server.label} is not there, or not complete")
            continue
        for hint in HINTS:
            try:
                told = visit(server, link, size, HINTS[hint])
            except Broken as broken:
                verdict.check(False, str(broken))
                continue
            rows.append((server, hint, told["lanes"]))
            signals.setdefault(hint, told["signals"])
            judge(server, hint, told["lanes"], verdict)
    for hint, lines in signals.items():
        print("\n".join(["", f"{hint}:", *lines]))
    print()
    if options.write:
        document.put(browser=table(rows, signals, link, size))


def visit(server: Server, link: Link, size: int, hint: str) -> dict:
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        site = pathlib.Path(folder, "site")
        make_site(site, size, hint)
        with laboratory.place(True, site) as place:
            url = f"https://{servers.ADDRESS}:{servers.PORT}/index.html"
            outcome = laboratory.run(link, server, place, laboratory.python("chromium", url), 260, trace=False)
    return outcome.told


def judge(server: Server, hint: str, lanes: dict, verdict: Verdict) -> None:
    script, picture_ = lanes["script"], lanes["picture"]
    text = (f"{server.label} in Chromium, {hint}: the script was asked for after {script['asked']:.2f} s, answered after "
            f"{script['answered']:.2f} s and done after {script['finished']:.1f} s, the picture after "
            f"{picture_['finished']:.1f} s")
    verdict.say(text)
    verdict.check(script["protocol"] == "h2", f"{server.label}: the browser spoke {script['protocol']}")
    if server.name == "serow":
        verdict.figure(text)
        verdict.compare_time(script["finished"] < MOST * picture_["finished"], f"{server.label}: the script was not done long before "
                                                                              "the picture")


def table(rows: list, signals: dict[str, list[str]], link: Link, size: int) -> str:
    lines = [f"{version()}; {link.name}; {size / 1000:,.0f} KB each.", "",
             "| server | picture | script requested | response began | script done | picture done |",
             "| --- | --- | ---: | ---: | ---: | ---: |"]
    for server, hint, lanes in rows:
        script = lanes["script"]
        lines.append(f"| {server.label} | {hint} | {script['asked']:.2f} s | {script['answered']:.2f} s | {script['finished']:.1f} s | "
                     f"{lanes['picture']['finished']:.1f} s |")
    for hint, said in signals.items():
        lines += ["", f"Signals that the browser sent, {hint}:", "", "```text", *said, "```"]
    return "\n".join(lines)


def version() -> str:
    return subprocess.run(["chromium", "--version"], capture_output=True, text=True).stdout.partition(" built")[0].strip()
