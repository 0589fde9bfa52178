"""Applications of Perl's frameworks, with Debian's packages."""

from __future__ import annotations

import json

from .application import Application
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
