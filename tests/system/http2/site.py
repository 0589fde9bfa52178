"""A folder that clients ask for, and what the server wrote of it."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import pathlib
import struct
import time
import zlib

from ..server import Server

PAGE = """\
<!doctype html>
<title>waiting</title>
<link rel="stylesheet" href="/style.css">
<script src="/script.js"></script>
<img id="image" src="/image.png" alt="">
<script>
addEventListener("load", async () => {
  const got = await (await fetch("/data.json")).json();
  const entries = [...performance.getEntriesByType("navigation"), ...performance.getEntriesByType("resource")];
  const protocols = Object.fromEntries(entries.map(entry => [new URL(entry.name).pathname, entry.nextHopProtocol]));
  const said = {
    protocols, script: window.scripted, data: got.data, image: document.getElementById("image").naturalWidth,
    style: getComputedStyle(document.body).color,
  };
  await fetch("/said?" + encodeURIComponent(JSON.stringify(said)));
  document.title = "done " + JSON.stringify(said);
});
</script>
<p>Hello!</p>
"""
LARGE = 3_000_000


def make(folder: pathlib.Path) -> None:
    (folder / "index.html").write_text(PAGE)
    (folder / "style.css").write_text("body { color: rgb(1, 2, 3) }\n")
    (folder / "script.js").write_text("window.scripted = true;\n")
    (folder / "data.json").write_text('{"data": 42}\n')
    (folder / "image.png").write_bytes(picture(20, 10))
    (folder / "large").write_bytes(content(LARGE))


def content(length: int) -> bytes:
    return b"".join(struct.pack(">Q", number * 0x9E3779B97F4A7C15 % (1 << 64)) for number in range(length // 8 + 1))[:length]


def picture(width: int, height: int) -> bytes:
    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    rows = (b"\0" + b"\x80\x40\x20" * width) * height
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


@dataclasses.dataclass(frozen=True)
class Line:
    """Of the access log, what is compared."""

    method: str
    target: str
    version: str
    status: int
    bytes: int


class Log:
    """The server's access log, in JSON, in a file."""

    def __init__(self, path: pathlib.Path) -> None:
        self.path, self.place = path, 0

    def lines(self, count: int, seconds: float = 5.0) -> list[Line]:
        """Those since the last call; so many are waited for."""
        until = time.monotonic() + seconds
        while True:
            with open(self.path, "rb") as file:
                file.seek(self.place)
                text = file.read()
            whole = text[:text.rfind(b"\n") + 1]
            found = [parse(line) for line in whole.splitlines()]
            if len(found) >= count or time.monotonic() > until:
                self.place += len(whole)
                return found
            time.sleep(0.02)


def parse(line: bytes) -> Line:
    entry = json.loads(line)
    return Line(entry["method"], entry["target"], entry["version"], entry["status"], entry["bytes"])


@contextlib.contextmanager
def served(folder: pathlib.Path, log: pathlib.Path, *options: str):
    """`serow files` over the folder, with its access log."""
    with open(log, "wb") as output:
        with Server.files(folder, "--access-log", "-", "--access-log-format", "json", *options, stdout=output.fileno()) as server:
            yield server, Log(log)
