"""Requests for files that nobody may see, and for scripts that nobody may run, in all spellings."""

from __future__ import annotations

import collections
import fnmatch
import pathlib
import urllib.parse

from .application import Application, Expectation, Place
from .visitor import Visitor

# In Debian's packages, PHP runs these at most; a server that sends them shows source code.
SCRIPTS = {".php", ".phtml", ".phar", ".inc"}
FILES_OF_A_KIND = 5


def spellings(path: str) -> tuple[str, ...]:
    """A path as an attacker writes it."""
    quoted = urllib.parse.quote(path)
    first, slash, rest = quoted[1:].partition("/")
    return (quoted, f"/%{ord(quoted[1]):02x}{quoted[2:]}", f"/{quoted}", f"/.{quoted}", f"/x/..{quoted}", f"/{first}//{rest}" if slash else quoted,
            f"/{first}%2F{rest}" if slash else quoted, f"/{first}%5C{rest}" if slash else quoted, f"{quoted}/", f"{quoted}/x", f"{quoted}/x.php",
            f"{quoted}%00.png", f"{quoted}%20", f"{quoted}.", f"{quoted}::$DATA", f"{quoted};x.png", f"{quoted}?x.png", f"{quoted}%3Fx.png", f"{quoted}~")


def refuse(expect: Expectation, visitor: Visitor, application: Application, place: Place) -> None:
    """The files that are hidden are, in all spellings; every other script runs only if it is an entry point."""
    root = place.site / application.root
    for pattern in application.hidden:
        files = sorted(path for path in root.glob(pattern.lstrip("/")) if path.is_file() and path.stat().st_size)
        if not expect.holds(bool(files), f"there is no {pattern}"):
            continue
        content = files[0].read_bytes()
        for target in spellings(f"/{files[0].relative_to(root)}"):
            answer = visitor.get(target)
            is_shown = content[:200] in answer.body or content[-200:] in answer.body
            # The application may have a page for a path that is not there.
            is_refused = answer.status in (301, 302, 303, 400, 403, 404) or (application.has_front_controller and not is_shown)
            expect.holds(is_refused and not is_shown, f"hidden {target}: {answer.status} {answer.text[:100]!r}")
        plain = visitor.get(urllib.parse.quote(f"/{files[0].relative_to(root)}"))
        expect.holds(plain.status in (403, 404), f"hidden {files[0].relative_to(root)}: {plain.status} {plain.text[:100]!r}")


def show(expect: Expectation, visitor: Visitor, application: Application, place: Place) -> None:
    """The files that a browser needs are sent as they are."""
    root = place.site / application.root
    for pattern in application.public:
        file = min((path for path in root.glob(pattern.lstrip("/")) if path.is_file()), default=None)
        if expect.holds(file is not None, f"there is no {pattern}"):
            answer = visitor.get(urllib.parse.quote(f"/{file.relative_to(root)}"))
            expect(f"public {file.relative_to(root)}", answer, 200, answer.body == file.read_bytes())


def sweep(expect: Expectation, visitor: Visitor, application: Application, place: Place) -> set[str]:
    """Requests every script, and of each folder some files of each ending: which of these kinds are sent."""
    root, sent, seen = place.site / application.root, set(), collections.Counter()
    connection = visitor.kept()
    for path in sorted(path for path in root.rglob("*") if path.is_file()):
        name = f"/{path.relative_to(root)}"
        is_script = path.suffix.lower() in SCRIPTS
        if is_script and (not application.entry_points or any(fnmatch.fnmatchcase(name, entry) for entry in application.entry_points)) \
                and not any(fnmatch.fnmatchcase(name, other) for other in application.no_scripts):
            continue
        kind = f"/{pathlib.PurePath(name).parts[1] if len(pathlib.PurePath(name).parts) > 2 else ''} {path.suffix}"
        seen[kind] += 1
        if not is_script and seen[kind] > FILES_OF_A_KIND:
            continue
        connection.request("GET", urllib.parse.quote(name))
        response = connection.getresponse()
        body = response.read()
        if is_script:
            expect.holds(response.status in (403, 404), f"{name}: {response.status} {body[:100]!r}")
        elif response.status == 200 and response.headers.get("X-Powered-By") is None:
            sent.add(kind)
    connection.close()
    return sent
