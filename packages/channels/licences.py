"""The licences of the crates in the binary, of the C libraries in them, and of the libraries of Rust and C."""

from __future__ import annotations

import html
import pathlib
import re

from . import project
from .crates import Crate, crates
from .error import ChannelError

# Files with terms or notices. Libraries in C are in folders of the crates that build them.
NAME = re.compile(r"(LICEN[CS]E|COPYING|COPYRIGHT|NOTICE|UNLICENSE)([-._].*)?(\.(md|txt|html))?", re.IGNORECASE)
# Folders in which crates have libraries in C that the binary contains: aws-lc-sys, mimalloc, zstd, LuaJIT, zlib.
MAX_DEPTH = 4
# Folders that do not go into the binary.
SKIPPED = ("test", "tests", "benches", "examples", "doc", "docs", "contrib", "programs", "util", "third_party")
RULE = "=" * 78


def third_party() -> bytes:
    """The text of all licences, each once, with the crates that have it."""
    terms: dict[str, list[str]] = {}
    without = []
    for crate in crates():
        if crate.is_ours:
            continue
        files = texts(crate.folder)
        for path in files:
            text = path.read_text(errors="replace").strip().replace("\r\n", "\n")
            place = path.relative_to(crate.folder)
            terms.setdefault(text, []).append(f"{crate.id}: {place}")
        if not files:
            without.append(crate)
    for text, name in system_libraries().items():
        terms.setdefault(text, []).append(name)
    parts = [HEAD, "\n".join(map(row, (crate for crate in crates() if not crate.is_ours)))]
    if without:
        authors = "\n".join(f"{crate.id}: {', '.join(crate.authors)}" for crate in without)
        parts.append(f"Without a file of their own:\n\n{authors}")
    for text, places in sorted(terms.items(), key=lambda pair: pair[1][0]):
        parts.append(f"{RULE}\n" + "\n".join(places) + f"\n{RULE}\n\n{text}")
    return ("\n\n".join(parts) + "\n").encode()


def texts(folder: pathlib.Path) -> list[pathlib.Path]:
    """The files with licences in a crate's folder."""
    found = []
    for path in sorted(folder.rglob("*")):
        place = path.relative_to(folder)
        if len(place.parts) > MAX_DEPTH or any(part in SKIPPED for part in place.parts[:-1]):
            continue
        if NAME.fullmatch(path.name) and path.is_file() and path.suffix not in (".rs", ".c", ".h", ".py", ".go"):
            found.append(path)
    return found


def system_libraries() -> dict[str, str]:
    """The licences of musl, which is in packages/static, and of Rust's library, which its toolchain contains."""
    musl = (project.SOURCES / "static" / "musl.txt").read_text().strip()
    root = pathlib.Path(project.run(["rustc", "--print", "sysroot"], cwd=project.ROOT).strip())
    notices = root / "share" / "doc" / "rust" / "COPYRIGHT-library.html"
    if not notices.exists():
        raise ChannelError(f"{notices} is missing; install Rust with rustup")
    return {musl: "musl", plain(notices.read_text()): "Rust's standard library"}


def plain(page: str) -> str:
    """The text of an HTML page."""
    page = re.sub(r"<head>.*?</head>|<[^>]*>", "", page, flags=re.DOTALL)
    return re.sub(r"\n\s*\n+", "\n\n", html.unescape(page)).strip()


def row(crate: Crate) -> str:
    """A line of the list of crates."""
    return f"{crate.id:40} {crate.licence}"


HEAD = """Licences of third parties
=========================

The program serow contains the following crates and libraries, under these licences."""
