"""The rule of docs/php.md, "Which script runs", written from its text: the expected response to each path."""

from __future__ import annotations

import functools
import os
import pathlib
import re
import stat
from typing import NamedTuple

WITHHELD = re.compile(rb"\.(php|phtml|phar|inc|phps|env|pem|key)$", re.I)
COPIES = re.compile(rb"(~|\.bak|\.gz)$")


class Rule(NamedTuple):
    """Settings of a folder of scripts."""

    entry_points: tuple[str, ...] | None = None
    no_scripts: tuple[str, ...] = ()
    front_controller: str | None = "index.php"
    index: tuple[str, ...] = ("index.php", "index.html")
    symlinks: str = "within"
    root_in_php: str | None = None


class Expected(NamedTuple):
    """A response: a status and, where it is 200, the script that ran or the file that was sent; else the Location."""

    status: int
    content: bytes = b""


class Model:
    def __init__(self, site: pathlib.Path, rule: Rule) -> None:
        self.site, self.rule = os.fsencode(site.resolve()), rule
        # The folder does not change.
        self.find = functools.lru_cache(100_000)(self.find_uncached)

    def expect(self, method: str, path: bytes) -> Expected:
        names = [name for name in path.split(b"/") if name]
        decoded = [decode(name) for name in names]
        if any(name is None or b"\0" in name or climbs(name) for name in decoded):
            return Expected(400)
        is_folder = path.endswith(b"/")
        for count, name in enumerate(decoded, 1):
            if name.endswith(b".php") and name != b".php" and self.kind(decoded[:count]) == "script":
                if is_hidden(decoded[:count]) or not self.allows(decoded[:count]):
                    return Expected(404)
                return self.run(decoded[:count], decode(path_info(path, count)))
        if is_hidden(decoded):
            return Expected(404)
        kind = self.kind(decoded)
        is_read = method == "GET"
        if kind == "folder" and (index := self.index_of(decoded)) and (is_read or is_folder and index.endswith(b".php")):
            if not is_folder:
                return Expected(301, b"/" + b"/".join(decoded) + b"/")
            return self.run([*decoded, index], None) if index.endswith(b".php") else self.send([*decoded, index])
        if kind in ("file", "script") and not is_folder and is_read and not is_withheld(decoded[-1]):
            return self.send(decoded)
        if front := self.rule.front_controller:
            return self.run([os.fsencode(front)], None)
        return Expected(405 if kind in ("file", "script") and not is_read else 404)

    def index_of(self, folder: list[bytes]) -> bytes | None:
        for name in map(os.fsencode, self.rule.index):
            kind = self.kind([*folder, name])
            if kind == "script" and self.allows([*folder, name]) or kind == "file" and not is_withheld(name):
                return name
        return None

    def allows(self, names: list[bytes]) -> bool:
        own = b"/" + b"/".join(names)
        real = self.find(tuple(names))[1]
        shown = [own, *([real[len(self.site):]] if real.startswith(self.site + b"/") else [])]
        if any(fits(pattern.lower(), path.lower()) for pattern in self.rule.no_scripts for path in shown):
            return False
        return self.rule.entry_points is None or any(fits(pattern, own) for pattern in self.rule.entry_points)

    def run(self, names: list[bytes], info: bytes | None) -> Expected:
        script, real = b"/" + b"/".join(names), self.find(tuple(names))[1]
        content = re.search(rb"SOURCE:(.*?) \*/", pathlib.Path(os.fsdecode(real)).read_bytes()).group(1)
        root = os.fsencode(self.rule.root_in_php) if self.rule.root_in_php else self.site
        filename = root + script if self.rule.root_in_php else real
        return Expected(200, b"\0".join([b"RAN", content, script, b"-" if info is None else info, filename, root]))

    def send(self, names: list[bytes]) -> Expected:
        return Expected(200, pathlib.Path(os.fsdecode(self.find(tuple(names))[1])).read_bytes())

    def kind(self, names: list[bytes]) -> str | None:
        """Whether a script, another file or a folder is there, as a visitor may reach it."""
        return self.find(tuple(names))[0]

    def find_uncached(self, names: tuple[bytes, ...]) -> tuple[str | None, bytes]:
        if any(b"/" in name or b"\\" in name or name == b"." for name in names):
            return None, b""
        place = self.walk(self.site, list(names), 0)
        if place is None:
            return None, b""
        mode = os.stat(place).st_mode
        if stat.S_ISDIR(mode):
            return "folder", place
        if not stat.S_ISREG(mode):
            return None, place
        # A link that is named as a script does not make one of an image.
        return ("script" if names[-1].endswith(b".php") and place.endswith(b".php") else "file"), place

    def walk(self, place: bytes, names: list[bytes], followed: int) -> bytes | None:
        """Where a path ends, followed name by name."""
        while names:
            name, *names = names
            if name == b"..":
                if place == self.site and self.rule.symlinks not in ("all", "owner"):
                    return None
                place = os.path.dirname(place)
                continue
            if name in (b".", b""):
                continue
            reached = b"/" + name if place == b"/" else place + b"/" + name
            try:
                found = os.lstat(reached)
            except OSError:
                return None
            if not stat.S_ISLNK(found.st_mode):
                place = reached
                continue
            target = os.readlink(reached)
            choice = self.rule.symlinks
            if choice == "none" or followed > 40 or choice == "within" and target.startswith(b"/"):
                return None
            start = b"/" if target.startswith(b"/") else place
            ended = self.walk(start, target.split(b"/"), followed + 1)
            if ended is None or choice == "owner" and os.stat(ended).st_uid != found.st_uid:
                return None
            place = ended
        return place


def decode(text: bytes | None) -> bytes | None:
    """Decoded once; nothing for a broken encoding."""
    if text is None or re.search(rb"%(?![0-9A-Fa-f]{2})", text):
        return None
    return re.sub(rb"%(..)", lambda found: bytes([int(found[1], 16)]), text)


def path_info(path: bytes, count: int) -> bytes | None:
    """The part of a path behind so many names, with one slash before it."""
    rest = re.sub(rb"^(?:/+[^/]+){%d}" % count, b"", path)
    return re.sub(rb"^/+", b"/", rest) if rest else None


def climbs(name: bytes) -> bool:
    return any(part == b".." or part.startswith(b"..;") for part in re.split(rb"[/\\]", name))


def is_hidden(names: list[bytes]) -> bool:
    return any(name.startswith(b".") and name != b".well-known" for name in names)


def is_withheld(name: bytes) -> bool:
    while COPIES.search(name):
        name = COPIES.sub(b"", name)
    return bool(WITHHELD.search(name))


def fits(pattern: str, path: bytes) -> bool:
    return bool(re.fullmatch(re.escape(os.fsencode(pattern)).replace(rb"\*", b".*"), path, re.S))
