"""Applications of Perl's frameworks, with Debian's packages."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import pathlib
import re
import shutil

from .application import SOURCES, Application, run, unpacked
from .visitor import DIGEST, LARGE, Visitor, assert_equal


class Mojolicious(Application):
    """Notes: sessions, an upload, streams for a slow reader, an error."""

    name, version, is_short = "mojolicious", "9.31", True
    app = {"application": "app.psgi", "processes": 2}
    route = {"max-body": "64M"}

    def use(self, visitor: Visitor) -> None:
        visitor.post("/login", {"user": "änn", "password": "wrong"}).expect(403, "wrong")
        page = visitor.follow(visitor.post("/login", {"user": "änn", "password": "secret"}))
        page.expect(200, "Notes of änn", "logged in", f'action="{visitor.prefix}/login"')
        found = json.loads(visitor.upload("/upload", "file", "film.bin", LARGE).expect(200).text)
        assert_equal(found, {"length": len(LARGE), "digest": DIGEST, "name": "film.bin"})
        chunks = "".join(f"{number:04}\n" * 200 for number in range(500))
        assert_equal(visitor.get("/chunks").expect(200).text, chunks)
        # Below SCRIPT_NAME, it decodes letters beyond ASCII twice, also in plackup.
        found = json.loads(visitor.get("/page/a%20%26").text)
        assert_equal((found["name"], found["url"].rstrip("/")), ("a &", visitor.url("")))
        visitor.get("/dies").expect(500)
        visitor.follow(visitor.post("/logout", {})).expect(200, "Notes of nobody")


class Dancer(Application):
    """Notes: sessions, an upload, streams for a slow reader, an error."""

    name, version, is_short = "dancer", "0.400001", True
    app = {"application": "app.psgi", "processes": 2}
    route = {"max-body": "64M"}

    def use(self, visitor: Visitor) -> None:
        visitor.post("/login", {"user": "änn", "password": "wrong"}).expect(403, "wrong")
        page = visitor.follow(visitor.post("/login", {"user": "änn", "password": "secret"}))
        page.expect(200, "Notes of änn", f'href="{visitor.url("/")}"')
        found = json.loads(visitor.upload("/upload", "file", "film.bin", LARGE).expect(200).text)
        assert_equal(found, {"length": len(LARGE), "digest": DIGEST, "name": "film.bin"})
        assert_equal(json.loads(visitor.get("/page/gr%C3%BCn").text), {"name": "grün"})
        assert_equal(visitor.get("/file", "--limit-rate", "20M").expect(200).body, b"0123456789" * 500_000)
        assert_equal(visitor.get("/streamed").expect(200).text, "".join(f"{number:04} " * 200 for number in range(1, 501)))
        visitor.get("/dies").expect(500)
        visitor.follow(visitor.post("/logout", {})).expect(200, "Notes of nobody")


class RequestTracker(Application):
    """Tickets with attachments, a search, and an interface for programs; its PSGI application is Debian's script."""

    name, version = "request-tracker", "5.0.3"
    route = {"max-body": "64M"}
    path = "/NoAuth/Login.html"

    @property
    def app(self) -> dict[str, object]:
        script = f"{self.home}/usr/share/request-tracker5/libexec/rt-server"
        variables = self.environment | {"RT_WORK": "{work}", "RT_ORIGIN": "{origin}", "RT_PATH": "{prefix}"}
        return {"application": script, "interface": "psgi", "processes": 2,
                "env": [f"{name}={value}" for name, value in variables.items()]}

    @property
    def environment(self) -> dict[str, str]:
        libraries = "usr/lib/x86_64-linux-gnu"
        folders = ("usr/share/request-tracker5/lib", "usr/share/perl5", f"{libraries}/perl5/5.36")
        return {"PERL5LIB": ":".join(str(self.home / folder) for folder in folders), "LD_LIBRARY_PATH": str(self.home / libraries),
                "RT_SITE_CONFIG": str(SOURCES / self.name / "RT_SiteConfig.pm"), "RT_SITE_CONFIG_DIR": os.devnull}

    def install(self) -> None:
        unpacked(self.home, "request-tracker5", "rt5-db-sqlite", "rt5-standalone", "dbconfig-no-thanks", "msmtp-mta")
        ready = self.home / "ready"
        if ready.exists():
            return
        # Debian's package writes the places of its files into these.
        setup = self.home / "usr/sbin/rt-setup-database-5"
        generated = self.home / "usr/share/request-tracker5/lib/RT/Generated.pm"
        for file in (generated, setup, self.home / "usr/share/request-tracker5/libexec/rt-server"):
            text = file.read_text().replace("/usr/share/request-tracker5", f"{self.home}/usr/share/request-tracker5")
            file.write_text(re.sub(r"'/var/(?:lib|cache)/request-tracker5(?:/(\w+))?'", r'"$ENV{RT_WORK}/\1"', text) if file == generated else text)
        run(["perl", setup, "--action", "init", "--dba", "none", "--dba-password", "none"], self.home, **self.environment,
            RT_WORK=str(self.home), RT_ORIGIN="http://127.0.0.1:80", RT_PATH="")
        ready.touch()

    def prepare(self, work: pathlib.Path, prefix: str) -> None:
        shutil.copy(self.home / "rt.db", work)
        for name in ("session_data", "mason_data"):
            (work / name).mkdir()

    def use(self, visitor: Visitor) -> None:
        here = ("--referer", visitor.url("/"))
        form = visitor.get("/").expect(200, "Login").fields
        visitor.post("/NoAuth/Login.html", form | {"user": "root", "pass": "wrong"}).expect(200, "Your username or password is incorrect")
        # Where the form has no `next`, RT shows it once more behind the login, also in `plackup`.
        visitor.post("/NoAuth/Login.html", form | {"user": "root", "pass": "password"}, *here)
        visitor.get("/", *here).expect(200, "RT at a glance")
        page = visitor.get("/").expect(200)
        for link in page.links:
            if link.endswith((".js", ".css")) and link.startswith("/"):
                visitor.get(link.removeprefix(visitor.prefix)).expect(200)
        # A page of another site has made this.
        visitor.post("/Ticket/Create.html", {"id": "new", "Queue": "1"}, "--referer", "http://elsewhere.example/").expect(200, "cross-site request forgery")
        values = {"id": "new", "Queue": "1", "Subject": "Töne & Bilder", "Content": "Grüße", "ContentType": "text/plain",
                  "Requestors": "ann@example.com", "Status": "new", "SubmitTicket": "Create"}
        created = visitor.upload("/Ticket/Create.html", "Attach", "film.bin", LARGE, values, *here)
        page = visitor.follow(created).expect(200, "Töne &#38; Bilder")
        # The page loads its history when it is shown.
        history = visitor.get("/Helpers/TicketHistory?id=1", *here).expect(200, "Grüße", "film.bin")
        film = next(link for link in page.links + history.links if "/Attachment/" in link and link.endswith("film.bin"))
        body = visitor.get(film.removeprefix(visitor.prefix), "--limit-rate", "40M").expect(200).body
        assert_equal(hashlib.sha256(body).hexdigest(), DIGEST)
        visitor.get("/Search/Simple.html?q=Bilder", "--location", *here).expect(200, "Töne &#38; Bilder")
        self.edit(visitor)

    def edit(self, visitor: Visitor) -> None:
        """Two edits of the same version, by the interface for programs."""
        user = ("--user", "root:password")
        # Compression makes the version a weak one, which matches no condition (RFC 9110 §13.1.1).
        page = visitor.get("/REST/2.0/ticket/1", "--header", "Accept-Encoding: identity", *user).expect(200)
        assert_equal(json.loads(page.text)["Subject"], "Töne & Bilder")
        fields = ("--header", "Content-Type: application/json", "--header", f"If-Match: {page.headers['etag']}")
        visitor.send("PUT", "/REST/2.0/ticket/1", '{"Subject": "one"}', *user, *fields).expect(200)
        # The version is of a second: the next edit is behind it.
        visitor.send("PUT", "/REST/2.0/ticket/1", '{"Subject": "two"}', *user, "--header", 'If-Match: "invalid"', *fields[:2]).expect(412)
        visitor.get("/REST/2.0/ticket/2", *user).expect(404)

    @contextlib.contextmanager
    def across(self, visitor: Visitor):
        yield
        visitor.get("/Ticket/Display.html?id=1", "--referer", visitor.url("/")).expect(200, "Logged in as", "Bilder")
