"""Whole applications on SQLite, and the servers that usually run them."""

from __future__ import annotations

import contextlib
import os
import pathlib
import sqlite3
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from . import front, machine
from .process import Broken
from .tree import Stack, started

WORKERS = 2
SEED_SECONDS = 120
# Debian's, which has the packages.
PYTHON = "/usr/bin/python3"
# For everybody the same, so that a cookie of one server is good for the other.
SECRET = "0123456789abcdef" * 8


@dataclass(frozen=True)
class Place:
    """Where one server of a site is started: a folder of its own, with a database of its own."""

    folder: pathlib.Path

    @property
    def socket(self) -> pathlib.Path:
        return self.folder / "server.sock"

    @property
    def database(self) -> pathlib.Path:
        return self.folder / "database"

    @property
    def settings(self) -> pathlib.Path:
        """A file for the server's settings."""
        return self.folder / "settings"

    def environment(self) -> dict[str, str]:
        return {"DATABASE": str(self.database), "SECRET": SECRET, "RACK_ENV": "production", "PLACK_ENV": "deployment",
                "MOJO_MODE": "production", "MOJO_CONFIG": str(self.settings), "PYTHONPYCACHEPREFIX": str(self.folder.parent / "python")}


@dataclass(frozen=True)
class Peer:
    """A server that usually runs such a site. `command` may write its settings first."""

    name: str
    package: str
    command: Callable[[Place], list[str]]
    # Whether nginx keeps connections to it: those of one process that keep theirs let others wait for it until time is up.
    keeps: bool = False


@dataclass(frozen=True)
class Form:
    """A form that visitors send: its page, its target, the fields that they fill in, and an SQL query for the total
    that the submissions add up to."""

    page: str
    target: str
    fields: dict[str, str]
    total: str


@dataclass(frozen=True)
class Site:
    name: str
    title: str
    packages: tuple[str, ...]
    seed: tuple[str, ...]
    # Arguments of `serow app`.
    serow: tuple[str, ...]
    # By their weights; the first is asked until the server is there.
    pages: tuple[tuple[int, str], ...]
    form: Form
    peers: tuple[Peer, ...]

    @property
    def folder(self) -> pathlib.Path:
        return machine.BENCH / "applications" / self.name

    def total(self, database: pathlib.Path) -> int:
        with contextlib.closing(sqlite3.connect(database)) as connection:
            return connection.execute(self.form.total).fetchone()[0]

    def fill(self, place: Place) -> None:
        """Makes the database."""
        place.folder.mkdir(parents=True)
        place.settings.write_text("{}")
        try:
            subprocess.run(self.seed, cwd=self.folder, env=os.environ | place.environment(), check=True, capture_output=True, text=True,
                           timeout=SEED_SECONDS)
        except (OSError, subprocess.SubprocessError) as error:
            told = getattr(error, "stderr", None) or str(error)
            raise Broken(f"{' '.join(self.seed)}: {told.strip()[-300:]}") from error


@contextlib.contextmanager
def serow(program: pathlib.Path, site: Site, place: Place) -> Iterator[Stack]:
    place.settings.write_text("{}")
    command = [program, "app", *site.serow, "--listen", f"unix:{place.socket}", "--processes", str(WORKERS), "--workers", "1"]
    with started(command, place.socket, place.folder, site.folder, site.pages[0][1], place.environment()) as process:
        yield Stack("Serow", place.socket, [process], [process])


@contextlib.contextmanager
def peer(kind: Peer, site: Site, place: Place) -> Iterator[Stack]:
    """A peer behind nginx."""
    place.settings.write_text("{}")
    target = site.pages[0][1]
    with started(kind.command(place), place.socket, place.folder, site.folder, target, place.environment()) as process:
        with front.nginx(place.socket, place.folder, kind.keeps, target) as (seen, nginx):
            yield Stack(kind.name, seen, [process, nginx], [process])


def unicorn(place: Place) -> list[str]:
    place.settings.write_text(f"worker_processes {WORKERS}\nlisten '{place.socket}', backlog: 1024\npreload_app true\n")
    return ["unicorn", "-E", "production", "-c", str(place.settings), "config.ru"]


def puma(threads: str) -> Callable[[Place], list[str]]:
    return lambda place: ["puma", "-e", "production", "-w", str(WORKERS), "-t", threads, "-b", f"unix://{place.socket}", "--silent",
                          "--preload", "config.ru"]


def hypnotoad(place: Place) -> list[str]:
    # A worker of its own accord leaves after 10,000 connections.
    place.settings.write_text(f"{{hypnotoad => {{listen => ['http+unix://{str(place.socket).replace('/', '%2F')}'], workers => {WORKERS}, "
                              f"accepts => 0, pid_file => '{place.folder}/hypnotoad.pid'}}}}")
    return ["hypnotoad", "-f", "app.psgi"]


def starman(place: Place) -> list[str]:
    return ["starman", "--workers", str(WORKERS), "--listen", str(place.socket), "--max-requests", "1000000000", "-E", "deployment",
            "--preload-app", "app.psgi"]


def gunicorn(place: Place) -> list[str]:
    return ["/usr/bin/gunicorn", "--workers", str(WORKERS), "--bind", f"unix:{place.socket}", "--log-level", "error", "mysite.wsgi"]


SITES = (
    Site("notes", "Sinatra", ("ruby-sinatra", "ruby-sqlite3"), ("ruby", "seed.rb"), ("config.ru",),
         ((4, "/"), (1, "/?page=7"), (1, "/notes/17"), (1, "/notes/180"), (1, "/notes/391"), (2, "/notes.json")),
         Form("/", "/notes", {"title": "A new note", "body": "Rain & <letters>."}, "SELECT count(*) FROM notes"),
         (Peer("Puma", "puma", puma("1:1")), Peer("Puma, 5 threads", "puma", puma("5:5")), Peer("Unicorn", "unicorn", unicorn))),
    Site("journal", "Mojolicious", ("libmojolicious-perl", "libdbd-sqlite3-perl"), ("perl", "seed.pl"), ("app.psgi",),
         ((4, "/"), (1, "/?page=7"), (1, "/entries/17"), (1, "/entries/180"), (1, "/entries/391"), (2, "/entries.json")),
         Form("/", "/entries", {"title": "A new day", "body": "Clouds & <pebbles>."}, "SELECT count(*) FROM entries"),
         (Peer("hypnotoad", "libmojolicious-perl", hypnotoad, keeps=True), Peer("Starman", "starman", starman))),
    Site("polls", "Django", ("python3-django",), (PYTHON, "seed.py"), ("mysite.wsgi:application", "--interpreter", PYTHON),
         ((4, "/polls/"), (1, "/polls/17/"), (1, "/polls/180/"), (1, "/polls/291/"), (1, "/polls/17/results/"),
          (2, "/polls/291/results/")),
         Form("/polls/17/", "/polls/17/vote/", {"choice": "66"}, "SELECT sum(votes) FROM polls_choice"),
         (Peer("gunicorn", "gunicorn", gunicorn),)),
)


def missing() -> list[str]:
    wanted = {name for site in SITES for name in (*site.packages, *(peer.package for peer in site.peers))}
    return sorted(name for name in wanted if not machine.package_version(name))
