"""The files that the ten configurations serve."""

from __future__ import annotations

import gzip
import os
import pathlib
import random

# Whole seconds, long ago: the date as both servers send it.
MODIFIED = 1_000_000_000
PAGE = "<!DOCTYPE html>\n<title>{0}</title>\n<h1>{0}</h1>\n"
STYLE = "".join(f".rule-{number} {{ margin: {number}px; }}\n" for number in range(120))
SCRIPT = "".join(f"export function f{number}() {{ return {number}; }}\n" for number in range(120))
PICTURE = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9">' + "<path d='M0 0h9v9z'/>" * 90 + "</svg>\n"


def page(title: str) -> str:
    return PAGE.format(title)


def noise(length: int) -> bytes:
    return random.Random(length).randbytes(length)


FILES: dict[str, str | bytes] = {
    # Static sites, and the folder `public` of applications.
    "public/index.html": page("Home") + "<p>hello</p>\n" * 200,
    "public/about.html": page("About"),
    "public/404.html": page("Not here"),
    "public/500.html": page("Sorry"),
    "public/robots.txt": "User-agent: *\nAllow: /\n",
    "public/favicon.ico": noise(318),
    "public/feed.xml": "<?xml version='1.0'?>\n<rss version='2.0'/>\n",
    "public/data.json": '{"items": [' + ", ".join(map(str, range(500))) + "]}\n",
    "public/docs/index.html": page("Docs"),
    "public/docs/a b.html": page("Space"),
    "public/docs/ü.html": page("Umlaut"),
    "public/docs/100%.html": page("Percent"),
    "public/docs/guide/index.html": page("Guide"),
    "public/empty/note.txt": "a folder without an index\n",
    "public/assets/app.css": STYLE,
    "public/assets/app.js": SCRIPT,
    "public/assets/logo.svg": PICTURE,
    "public/assets/font.woff2": noise(900),
    "public/images/photo.jpg": noise(10_000),
    "public/.htaccess": "Deny from all\n",
    "public/.git/config": "[core]\n",
    "public/.well-known/security.txt": "Contact: mailto:security@example.com\n",
    # A single-page application.
    "spa/index.html": page("App"),
    "spa/assets/index-4f2a.js": SCRIPT,
    "spa/assets/index-4f2a.css": STYLE,
    "spa/favicon.svg": PICTURE,
    "spa/manifest.webmanifest": '{"name": "App"}\n',
    "spa/help/index.html": page("Help"),
    # Django: collected files, and files that users uploaded.
    "static/admin/css/base.css": STYLE,
    "static/admin/js/core.js": SCRIPT,
    "static/logo.svg": PICTURE,
    "static/favicon.ico": noise(318),
    "media/photo.jpg": noise(10_000),
    "media/2024/report.pdf": noise(4_000),
    "media/page.html": page("Uploaded"),
    # WordPress-like uploads and themes.
    "wp/wp-content/themes/x/style.css": STYLE,
    "wp/wp-content/uploads/2024/05/photo.jpg": noise(10_000),
    "wp/wp-includes/js/jquery.js": SCRIPT,
    "wp/wp-config.php": "<?php // secrets\n",
    "wp/readme.html": page("Readme"),
    "wp/robots.txt": "User-agent: *\n",
    # Downloads.
    "downloads/notes.txt": "".join(f"line {number}\n" for number in range(2000)),
    "downloads/film.mp4": noise(100_000),
    "downloads/song.mp3": noise(20_000),
    "downloads/releases/tool-1.0.tar.gz": noise(30_000),
    "downloads/releases/tool-1.0.zip": noise(30_000),
    "downloads/releases/SHA256SUMS": "0123  tool-1.0.tar.gz\n",
    "downloads/private/key.pem": "secret\n",
    "downloads/data.csv": "a,b\n" * 1000,
    # Error pages.
    "errors/404.html": page("No such page"),
    "errors/50x.html": page("Down"),
    "errors/404.json": '{"error": "not found"}\n',
    "errors/429.json": '{"error": "too many requests"}\n',
    "errors/5xx.json": '{"error": "unavailable"}\n',
}


def write(folder: pathlib.Path) -> None:
    for name, content in FILES.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    style = folder / "public/assets/app.css"
    style.with_name("app.css.gz").write_bytes(gzip.compress(style.read_bytes(), mtime=0))
    for path in [*folder.rglob("*"), folder]:
        os.utime(path, (MODIFIED, MODIFIED))
