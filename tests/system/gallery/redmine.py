"""Redmine, from Debian's package: a large application of Rails with a `Gemfile`."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import os
import pathlib
import shutil

from .application import SOURCES, run
from .ruby import Unpacked
from .visitor import DIGEST, LARGE, Page, Visitor, assert_equal


class Redmine(Unpacked):
    """Issues with attachments, a wiki, searches, and exports to CSV and PDF."""

    name, version = "redmine", "5.0.4"
    packages = ("redmine", "redmine-sqlite")
    route = {"max-body": "64M"}
    static = "public"
    # The page that costs least.
    path = "/robots.txt"

    @property
    def environment(self) -> dict[str, str]:
        return super().environment | {"BUNDLE_WITHOUT": "test"}

    def install(self) -> None:
        super().install()
        ready = self.home / "ready"
        if ready.exists():
            return
        tree = self.home / "tree"
        shutil.rmtree(tree, ignore_errors=True)
        shutil.copytree(self.home / "usr/share/redmine", tree, symlinks=True)
        # These lead to folders of the machine, which an installation by root would make.
        for link in ("Gemfile.lock", "instances", "config/database.yml"):
            (tree / link).unlink()
        for link in filter(pathlib.Path.is_symlink, (tree / "public").rglob("*")):
            place = os.path.normpath(pathlib.Path("/usr/share/redmine", link.parent.relative_to(tree), link.readlink()))
            unpacked_file = self.home / place.lstrip("/")
            link.unlink()
            shutil.copy(unpacked_file if unpacked_file.exists() else place, link)
        shutil.copytree(SOURCES / self.name, tree, dirs_exist_ok=True)
        for folder in ("tmp", "log", "files"):
            (tree / "instances/default" / folder).mkdir()
        gems = (tree / "Gemfile").read_text()
        (tree / "Gemfile").write_text(gems.replace("/usr/share/redmine/{config,instances/*/config}", "#{__dir__}/instances/default/config"))
        for command in (("db:migrate",), ("runner", "seed.rb")):
            run(["bundle", "exec", "ruby", "bin/rails", *command], tree, **self.environment)
        ready.touch()

    def prepare(self, work: pathlib.Path, prefix: str) -> None:
        super().prepare(work, prefix)
        shutil.copytree(self.home / "tree", work, dirs_exist_ok=True, symlinks=True)

    def use(self, visitor: Visitor) -> None:
        form = visitor.get("/login").expect(200).fields
        visitor.post("/login", form | {"username": "admin", "password": "wrong"}).expect(200, "Invalid user or password")
        visitor.follow(visitor.post("/login", form | {"username": "admin", "password": "secret secret"})).expect(200, "My page")
        page = visitor.get("/projects/films").expect(200, "Films")
        for link in page.links:
            if ".js" in link or ".css" in link:
                visitor.get(link.removeprefix(visitor.prefix)).expect(200)
        self.report(visitor)
        edits = visitor.at_once(*(functools.partial(edit, subject=subject, version=1) for subject in ("one", "two")))
        # With SQLite, the database may be locked for one of them.
        assert_equal(sorted(page.status for page in edits) in ([204, 422], [204, 500]), True)
        edit(visitor, subject="three", version=1).expect(422)
        edit(visitor, subject="three", version=2).expect(204)
        token = visitor.get("/projects/films/wiki/Tonspur/edit").expect(200).fields["authenticity_token"]
        wiki = {"_method": "put", "authenticity_token": token, "content[text]": "h1. Töne\n\n* Grüße"}
        visitor.follow(visitor.post("/projects/films/wiki/Tonspur", wiki)).expect(200, "Grüße")
        for path, part in (("/issues.csv", "three"), ("/projects/films/activity.atom", "<feed")):
            visitor.get(path).expect(200, part)
        assert_equal(visitor.get("/issues/1.pdf").expect(200).body[:5], b"%PDF-")
        visitor.get("/issues/2").expect(404)

    def report(self, visitor: Visitor) -> None:
        """An issue with a film of 20 MB, found by a search, and read by somebody with a slow line."""
        token = visitor.get("/projects/films/issues/new").expect(200).fields["authenticity_token"]
        values = {"authenticity_token": token, "issue[tracker_id]": "1", "issue[subject]": "Töne & Bilder", "issue[status_id]": "1",
                  "issue[priority_id]": "2", "issue[description]": "x"}
        created = visitor.upload("/projects/films/issues", "attachments[1][file]", "film.bin", LARGE, values)
        visitor.follow(created).expect(200, "Töne &amp; Bilder", "film.bin")
        film = visitor.get("/attachments/download/1/film.bin", "--limit-rate", "40M").expect(200).body
        assert_equal(hashlib.sha256(film).hexdigest(), DIGEST)
        visitor.get("/search?q=Bilder", "--location").expect(200, "Bilder")

    @contextlib.contextmanager
    def across(self, visitor: Visitor):
        yield
        visitor.get("/issues/1").expect(200, "Logged in as")


def edit(visitor: Visitor, *, subject: str, version: int) -> Page:
    content = json.dumps({"issue": {"subject": subject, "lock_version": version}})
    return visitor.send("PUT", "/issues/1.json", content, "--user", "admin:secret secret", "--header", "Content-Type: application/json")
