"""Applications of Ruby's frameworks, with Debian's packages."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import pathlib
import subprocess

from ..polling import wait_until
from .application import Application, run, unpacked
from .browser import browse
from .visitor import DIGEST, LARGE, Page, Visitor, assert_equal


class Sinatra(Application):
    """Notes: sessions, an upload, streams for a slow reader, an error."""

    name, version, is_short = "sinatra", "3.0.5", True
    app = {"application": "config.ru", "processes": 2}
    route = {"max-body": "64M"}

    def use(self, visitor: Visitor) -> None:
        visitor.post("/login", {"user": "änn", "password": "wrong"}).expect(403, "wrong")
        page = visitor.follow(visitor.post("/login", {"user": "änn", "password": "secret"}))
        page.expect(200, "Notes of änn", f'href="{visitor.url("/")}"')
        found = json.loads(visitor.upload("/upload", "file", "film.bin", LARGE).expect(200).text)
        assert_equal(found, {"length": len(LARGE), "digest": DIGEST, "name": "film.bin"})
        assert_equal(json.loads(visitor.get("/page/gr%C3%BCn").text), {"name": "grün"})
        body = visitor.get("/download", "--limit-rate", "40M").expect(200).body
        assert_equal(hashlib.sha256(body).hexdigest(), hashlib.sha256(b"0123456789abcdef" * 65536 * 20).hexdigest())
        assert_equal(visitor.get("/download", "--range", "16-31").expect(206).body, b"0123456789abcdef")
        assert_equal(visitor.get("/streamed").expect(200).text, "".join(f"{number:04}\n" * 200 for number in range(500)))
        for _ in range(2):
            visitor.get("/tagged").expect(200, "tagged")
        visitor.get("/tagged", "--header", 'If-None-Match: "one"').expect(304)
        visitor.get("/dies").expect(500, "sorry")
        visitor.follow(visitor.post("/logout", {})).expect(200, "Notes of nobody")


class Unpacked(Application):
    """An application with gems from Debian's packages, which are in a folder of their own."""

    packages: tuple[str, ...]
    # The prefix of this run.
    below = ""

    def prepare(self, work: pathlib.Path, prefix: str) -> None:
        super().prepare(work, prefix)
        self.below = prefix

    def install(self) -> None:
        unpacked(self.home, *self.packages)

    @property
    def environment(self) -> dict[str, str]:
        gems, libraries = self.home / "usr/share/rubygems-integration", "usr/lib/x86_64-linux-gnu"
        return {"GEM_PATH": f"{gem_path()}:{gems}/all:{gems}/3.1.0:{self.home}/{libraries}/rubygems-integration/3.1.0",
                "RUBYLIB": f"{self.home}/usr/lib/ruby/vendor_ruby:{self.home}/{libraries}/ruby/vendor_ruby/3.1.0",
                "LD_LIBRARY_PATH": str(self.home / libraries), "RAILS_ENV": "production"}

    @property
    def app(self) -> dict[str, object]:
        # For the URLs that Rails makes outside a request.
        variables = self.environment | ({"RAILS_RELATIVE_URL_ROOT": self.below} if self.below else {})
        return {"application": "config.ru", "processes": 2, "env": [f"{name}={value}" for name, value in variables.items()]}


@functools.cache
def gem_path() -> str:
    return run(["gem", "env", "gempath"]).strip()


class Rails(Unpacked):
    """Notes that several people edit: a database, files, a stream, and a channel of Action Cable, which two workers share by Redis."""

    name, version = "rails", "6.1.7.10"
    packages = ("ruby-rails", "ruby-sqlite3", "ruby-redis")
    route = {"max-body": "64M"}
    # A socket of the channel is open across the reload.
    root = 'reload-grace = "3s"'

    def prepare(self, work: pathlib.Path, prefix: str) -> None:
        super().prepare(work, prefix)
        run(["ruby", "schema.rb"], work, **self.environment)

    @contextlib.contextmanager
    def beside(self, work: pathlib.Path):
        redis = subprocess.Popen(["redis-server", "--port", "0", "--unixsocket", "redis.sock", "--save", ""], cwd=work, stdout=subprocess.DEVNULL)
        try:
            wait_until((work / "redis.sock").exists)
            yield
        finally:
            redis.terminate()
            redis.wait()

    def use(self, visitor: Visitor) -> None:
        form = visitor.get("/").expect(200, "Notes of nobody").fields
        visitor.post("/session", form | {"user": "änn", "password": "wrong"}).expect(403, "wrong")
        # Without the token of the form.
        visitor.post("/session", {"user": "änn", "password": "secret"}).expect(422)
        anonymous = visitor.twin()
        visitor.follow(visitor.post("/session", form | {"user": "änn", "password": "secret"})).expect(200, "Notes of änn")
        with Cable(visitor) as ours, Cable(visitor) as theirs:
            self.keep(visitor, ours, theirs)
            ours.say("x" * 200_000)
            assert_equal(len(theirs.receive()["said"]), 200_000)
            assert_equal(ours.close(), 1000)
        self.refuse(anonymous)
        events = visitor.get("/events?count=2000", "--limit-rate", "4M").expect(200).text
        assert_equal((events.count("event: count"), '"number":1999' in events), (2000, True))
        visitor.get("/dies").expect(500)
        visitor.get("/none").expect(404)
        self.watch(visitor)

    def keep(self, visitor: Visitor, ours: "Cable", theirs: "Cable") -> None:
        """A note with a film, which everybody hears of; two edits of it, one of which is too late."""
        form = visitor.get("/").fields
        created = visitor.upload("/notes", "film", "film.bin", LARGE, form | {"title": "Töne & Bilder", "text": "x"})
        for cable in (ours, theirs):
            assert_equal(cable.receive(), {"id": 1, "author": "änn", "title": "Töne & Bilder"})
        note = json.loads(visitor.follow(created).expect(200).text)
        assert_equal((note["title"], note["film"]["bytes"]), ("Töne & Bilder", len(LARGE)))
        film = visitor.follow(visitor.get("/notes/1/film"))
        body = visitor.follow(film).expect(200).body if film.status == 302 else film.expect(200).body
        assert_equal(hashlib.sha256(body).hexdigest(), DIGEST)
        place = film.headers["location"]
        assert_equal(visitor.get(place, "--limit-rate", "40M").expect(200).body == LARGE, True)
        assert_equal(visitor.get(place, "--range", "1000-1999").expect(206).body, LARGE[1000:2000])
        edits = visitor.at_once(*(functools.partial(edit, version=note["lock_version"], form=form, text=text) for text in ("one", "two")))
        assert_equal(sorted(page.status for page in edits), [204, 409])
        visitor.get("/?q=T%C3%B6ne").expect(200, "Töne &amp; Bilder")
        assert_equal("Töne" in visitor.get("/?q=nothing").expect(200).text, False)

    def refuse(self, anonymous: Visitor) -> None:
        """Somebody who is not logged in, and a page of another site."""
        with contextlib.closing(anonymous.socket("/cable", Origin=anonymous.origin, **PROTOCOL)) as socket:
            assert_equal(json.loads(socket.receive())["reason"], "unauthorized")

    def watch(self, visitor: Visitor) -> None:
        """Chromium sees what somebody else says, without a reload; it then subscribes as the person who has logged in there."""
        log_in = "document.querySelector('#user').value = 'ben'; document.querySelector('#password').value = 'secret'; document.forms[0].submit()"
        say = "channel.perform('say', {words: 'Grüße'})"
        browse(visitor.url("/"), ("value", log_in), ("wait", "document.body.innerText.includes('Notes of ben')"),
               ("wait", "!!document.body.dataset.connected"), ("value", say), ("wait", "document.querySelector('#notes').innerText.includes('Grüße')"))

    @contextlib.contextmanager
    def across(self, visitor: Visitor):
        with Cable(visitor) as before:
            before.say("before")
            assert_equal(before.receive()["said"], "before")
            yield
        visitor.get("/").expect(200, "Notes of änn")
        with Cable(visitor) as ours, Cable(visitor) as theirs:
            ours.say("behind")
            assert_equal(theirs.receive()["said"], "behind")


def edit(visitor: Visitor, *, version: int, form: dict[str, str], text: str) -> Page:
    values = {"_method": "patch", "authenticity_token": form["authenticity_token"], "text": text, "lock_version": str(version)}
    return visitor.post("/notes/1", values)


PROTOCOL = {"Sec-WebSocket-Protocol": "actioncable-v1-json, actioncable-unsupported"}
CHANNEL = json.dumps({"channel": "NotesChannel"})


class Cable:
    """A subscription to the channel, as Action Cable's script makes it."""

    def __init__(self, visitor: Visitor) -> None:
        self.socket = visitor.socket("/cable", Origin=visitor.origin, Cookie=visitor.cookies(), **PROTOCOL)
        assert_equal(self.message(), {"type": "welcome"})
        self.socket.send(json.dumps({"command": "subscribe", "identifier": CHANNEL}))
        assert_equal(self.message()["type"], "confirm_subscription")

    def __enter__(self) -> "Cable":
        return self

    def __exit__(self, *rest) -> None:
        self.socket.__exit__(*rest)

    def message(self) -> dict:
        while True:
            found = json.loads(self.socket.receive())
            if found.get("type") != "ping":
                return found

    def receive(self) -> dict:
        return self.message()["message"]

    def say(self, words: str) -> None:
        data = json.dumps({"action": "say", "words": words})
        self.socket.send(json.dumps({"command": "message", "identifier": CHANNEL, "data": data}))

    def close(self) -> int:
        return self.socket.close()
