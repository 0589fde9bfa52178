"""The form for uploads in Chromium: files arrive, a name that exists is kept, and a page of another site cannot upload."""

from __future__ import annotations

import json
import pathlib
import subprocess
import sys

from system.server import Server
from system.verdict import Verdict

HERE = pathlib.Path(__file__).resolve().parents[2]


def run(verdict: Verdict, place: pathlib.Path, pictures: pathlib.Path | None) -> None:
    site, other, sources = place / "inbox", place / "other", place / "sources"
    for folder in (site, other, sources):
        folder.mkdir()
    (other / "index.html").write_text("<title>a page of another site</title>\n")
    contents = {"report 1.txt": b"report\n", "photo#2.jpg": bytes(range(256)) * 8000, "ü%41.txt": b"umlaut\n", "dropped.txt": b"dropped\n"}
    for name, content in contents.items():
        (sources / name).write_bytes(content)
    with Server.files(site, "--upload", "--quota", "10M") as server, Server.files(other) as stranger:
        # Another port is another origin, and of the same site: the strictest case for Sec-Fetch-Site.
        urls = [f"http://127.0.0.1:{server.port}/", f"http://localhost:{stranger.port}/"]
        found = visit(urls, [sources / name for name in contents], pictures)
        verdict.check(server.is_running() and not server.panics(), f"the server: {server.said()[-500:]}")
    stored = {path.name: path.read_bytes() for path in site.iterdir()}
    verdict.check("Choose files" in found["first"]["label"], f"the page shows no form: {found['first']}")
    verdict.check(found["first"]["font"] == "dashed", "the page has not its style")
    verdict.check([row[0] for row in found["uploaded"]["rows"]] == ["done"] * 3, f"uploads: {found['uploaded']['rows']}")
    verdict.check(sorted(found["uploaded"]["names"]) == sorted(contents.keys() - {"dropped.txt"}), f"the page lists {found['uploaded']['names']}")
    verdict.check(found["again"]["rows"][-1][::2] == ["failed", "There is a file of this name"], f"again: {found['again']['rows']}")
    verdict.check(found["both"]["rows"][-1][:2] == ["done", "report 1 (2).txt"], f"keep both: {found['both']['rows']}")
    verdict.check("dropped.txt" in found["dropped"]["names"], f"the page lists {found['dropped']['names']}")
    verdict.check(stored == contents | {"report 1 (2).txt": b"report\n"}, f"stored: {sorted(stored)}")
    verdict.check(not found["violations"], f"the page violates its own policy: {found['violations']}")
    verdict.figure(f"Chromium: {len(stored)} files by the form, and none of {len(found['attack'])} attempts of another site")


def visit(urls: list[str], files: list[pathlib.Path], pictures: pathlib.Path | None) -> dict:
    # A process of its own: the browser takes the descriptors 3 and 4.
    options = ["--pictures", str(pictures.resolve())] if pictures else []
    command = [sys.executable, "-m", "system.webdav.browser", *options, *urls, *map(str, files)]
    ran = subprocess.run(command, cwd=HERE, stdout=subprocess.PIPE, text=True, timeout=120)
    if ran.returncode != 0:
        raise RuntimeError("the browser failed")
    return json.loads(ran.stdout)
