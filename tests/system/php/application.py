"""A PHP application: where it comes from, which scripts it runs, which of its files nobody may see, and how a person uses it."""

from __future__ import annotations

import contextlib
import dataclasses
import fnmatch
import os
import pathlib
import re
import shutil
import subprocess
from collections.abc import Callable

from ..gallery.application import CACHE, unpacked
from ..server import Server
from ..verdict import Verdict
from .visitor import Answer, Visitor

HERE = pathlib.Path(__file__).parent
PASSWORD = "correct horse battery staple"


@dataclasses.dataclass(slots=True)
class Place:
    """The folders of a run, and the port of the server."""

    folder: pathlib.Path
    home: pathlib.Path
    port: int
    # With HTTP/2 and HTTP/3, a certificate that is its own authority.
    certificate: pathlib.Path | None = None
    server: Server | None = None
    # Make the server reload the application, or end and start again.
    reload: Callable[[], None] = lambda: None
    restart: Callable[[], None] = lambda: None
    # The socket of MariaDB, where the application wants a database.
    database: pathlib.Path | None = None

    @property
    def site(self) -> pathlib.Path:
        return self.folder / "site"

    @property
    def origin(self) -> str:
        return f"{'https' if self.certificate else 'http'}://127.0.0.1:{self.port}"


class Expectation:
    """Notes answers that are not as expected."""

    def __init__(self, verdict: Verdict, name: str) -> None:
        self.verdict, self.name = verdict, name

    def __call__(self, what: str, answer: Answer, status: int, holds: bool = True) -> Answer:
        self.holds(answer.status == status and holds, f"{what}: {answer.status} {answer.location} {answer.text[:300]!r}")
        return answer

    def holds(self, holds: bool, miss: str) -> bool:
        return self.verdict.check(holds, f"{self.name}: {miss}")


class Application:
    name: str
    version: str
    # Where the packages are unpacked, if other tests of the application share it.
    archive = ""
    # That visitors use: http1, http2 or http3.
    protocol = "http1"
    # Debian's packages.
    packages: tuple[str, ...]
    # The way in which it is served: app, settings or servers.
    serving = "app"
    # In the short form.
    is_short = False
    has_database = False
    # The folder of its files in a package, and the folder of the site that is the root.
    source: str
    root = ""
    # Expected of Serow's preset: the scripts that run (all, if none is named), folders in which none runs, and whether a script
    # answers for paths that are not there.
    entry_points: tuple[str, ...] = ()
    no_scripts: tuple[str, ...] = ()
    has_front_controller = True
    # With a cache: parts of the names of cookies whose owners have pages of their own.
    cookies: tuple[str, ...] = ()
    # Files of the site (patterns) that nobody may see or run. Each pattern has a file.
    hidden: tuple[str, ...] = ()
    # Files (patterns) that a browser needs.
    public: tuple[str, ...] = ()

    @property
    def home(self) -> pathlib.Path:
        return CACHE / (self.archive or self.name)

    def fetch(self) -> None:
        unpacked(self.home, *self.packages)
        # Packages find each other by relative paths, and some are installed already.
        libraries = pathlib.Path("usr/share/php")
        (self.home / libraries).mkdir(exist_ok=True)
        subprocess.run(["cp", "-rn", f"/{libraries}/.", self.home / libraries], check=True)

    # Parts (patterns) that a run does without.
    without: tuple[str, ...] = ()

    def prepare(self, place: Place) -> None:
        """Puts the site into its folder."""
        copy(place.home, self.source, place.site, self.without)

    def beside(self, place: Place) -> contextlib.AbstractContextManager:
        """Runs while the server does: a program that the application needs, other than a database."""
        return contextlib.nullcontext()

    def install(self, expect: Expectation, visitor: Visitor, place: Place) -> None:
        """By the application's own installer."""

    def use(self, expect: Expectation, visitor: Visitor, place: Place) -> None:
        raise NotImplementedError


def copy(home: pathlib.Path, source: str, site: pathlib.Path, without: tuple[str, ...] = ()) -> None:
    """The files of a package, with the files of other packages in the place of links to them, and paths of these in its
    scripts."""
    links, pairs = [], [(home / source.lstrip("/"), site)]
    while pairs:
        for origin, copied in pairs:
            skipped = [word for pattern in without for word in ("--exclude", f"./{pattern}")] if copied == site else []
            transfer(origin, copied, skipped)
        links = [path for path in site.rglob("*") if path.is_symlink()]
        pairs = []
        for link in links:
            # As it would be in an installed package: `home` is the root of the file system.
            place = pathlib.Path(os.path.normpath(pathlib.Path(source, link.relative_to(site).parent, link.readlink())))
            found = next((path for path in (home / place.relative_to("/"), place) if path.exists()), None)
            link.unlink()
            if found and not any(fnmatch.fnmatchcase(str(link.relative_to(site)), pattern) for pattern in without):
                pairs.append((found, link))
    for script in (path for path in site.rglob("*") if path.suffix in (".php", ".inc") and path.is_file()):
        text = script.read_bytes()
        if b"/usr/share/" in text:
            script.write_bytes(re.sub(rb"(?<=['\"])(?:/usr/share/[\w./-]+)", lambda found: moved(home, found.group()), text))


def transfer(origin: pathlib.Path, copied: pathlib.Path, skipped: list[str]) -> None:
    if not origin.is_dir():
        shutil.copyfile(origin, copied)
        return
    copied.mkdir()
    with subprocess.Popen(["tar", "-C", origin, *skipped, "-c", "."], stdout=subprocess.PIPE) as packed:
        subprocess.run(["tar", "-C", copied, "-x"], stdin=packed.stdout, check=True)


def moved(home: pathlib.Path, path: bytes) -> bytes:
    there = home / path.decode().lstrip("/")
    return str(there).encode() if there.exists() or there.parent.is_dir() else path
