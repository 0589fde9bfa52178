"""Applications of Python's frameworks, with Debian's packages."""

from __future__ import annotations

import hashlib
import json
import pathlib

from .application import PYTHON, Application, run
from .visitor import DIGEST, LARGE, Visitor, assert_equal


class Flask(Application):
    """Notes: sessions, forms, an upload, a file with ranges, two edits at the same time."""

    name, version, is_short = "flask", "2.2.2", True
    app = {"application": "shop:app", "interpreter": PYTHON, "processes": 2}
    route = {"max-body": "64M"}

    def use(self, visitor: Visitor) -> None:
        visitor.post("/notes", {"text": "x"}).expect(401)
        visitor.post("/login", {"user": "ann", "password": "wrong"}).expect(403)
        visitor.follow(visitor.post("/login", {"user": "änn", "password": "secret"})).expect(200, "Notes of änn", "logged in")
        note = visitor.follow(visitor.post("/notes", {"text": "büy milk & <b>"}))
        found = json.loads(note.expect(200).text)
        assert_equal(found, {"text": "büy milk & <b>", "version": 1, "url": visitor.url("/notes/1")})
        visitor.get("/?q=milk").expect(200, f'href="{visitor.prefix}/notes/1"')
        edits = [lambda other, text=text: other.post("/notes/1", {"text": text, "version": "1"}) for text in ("one", "two", "three")]
        assert_equal(sorted(page.status for page in visitor.at_once(*edits)), [200, 409, 409])
        found = json.loads(visitor.upload("/upload", "file", "film.bin", LARGE).expect(200).text)
        assert_equal(found, {"length": len(LARGE), "digest": DIGEST, "name": "film.bin"})
        body = visitor.get("/download", "--limit-rate", "40M").expect(200).body
        assert_equal(hashlib.sha256(body).hexdigest(), hashlib.sha256(b"0123456789abcdef" * 65536 * 20).hexdigest())
        assert_equal(visitor.get("/download", "--range", "16-31").body, b"0123456789abcdef")
        for _ in range(2):
            assert_equal(visitor.get("/generated").expect(200).body, b"x" * 1_000_000)
        assert_equal(visitor.get("/events").expect(200).text.count("data: "), 1000)
        visitor.follow(visitor.post("/logout", {})).expect(200, "Notes of nobody")


class FastApi(Application):
    """Messages: a start, JSON, uploads, a stream for a slow reader, a WebSocket."""

    name, version, is_short = "fastapi", "0.92.0", True
    # Starlette routes by the path without root_path only since version 0.33.
    prefix = ""
    app = {"application": "chat:app", "interpreter": PYTHON, "processes": 2}
    route = {"max-body": "64M"}

    def use(self, visitor: Visitor) -> None:
        found = json.loads(visitor.get("/").expect(200).text)
        assert_equal(found, {"ready": True, "docs": visitor.url("/docs")})
        visitor.get("/docs").expect(200, f"{visitor.prefix}/openapi.json")
        as_json = ("--header", "Content-Type: application/json")
        found = json.loads(visitor.send("POST", "/messages", '{"text": "grün"}', *as_json).expect(201).text)
        assert_equal(found, {"text": "GRÜN", "amount": 1})
        visitor.send("POST", "/messages", '{"amount": "many"}', *as_json).expect(422, "ield required")
        found = json.loads(visitor.upload("/upload", "file", "film.bin", LARGE).expect(200).text)
        assert_equal(found, {"length": len(LARGE), "digest": DIGEST, "name": "film.bin"})
        found = json.loads(visitor.send("POST", "/raw", LARGE).expect(200).text)
        assert_equal((found["length"], found["pieces"] > 1), (len(LARGE), True))
        assert_equal(visitor.get("/numbers", "--limit-rate", "4M").expect(200).text.count("data: "), 2000)
        visitor.get("/late").expect(418, "a teapot")
        with visitor.socket("/chat?name=ann", **{"Sec-WebSocket-Protocol": "other, chat"}) as socket:
            assert_equal(json.loads(socket.receive()), {"path": f"{visitor.prefix}/chat", "name": "ann"})
            for text in ("grün", "x" * 200_000, ""):
                socket.send(text)
                assert_equal(socket.receive(), text)
            assert_equal(socket.close(), 1000)


class Django(Application):
    """Its admin, with media."""

    name, version = "django", "3.2.25"
    app = {"application": "library.wsgi:application", "interpreter": PYTHON, "processes": 2}
    route = {"max-body": "64M"}
    static = "public"
    path = "/admin/login/"

    def prepare(self, work: pathlib.Path, prefix: str) -> None:
        super().prepare(work, prefix)
        manage = [PYTHON, "-m", "django"]
        settings = {"DJANGO_SETTINGS_MODULE": "library.settings", "PYTHONPATH": str(work), "DJANGO_SUPERUSER_PASSWORD": "secret"}
        for words in ("makemigrations library", "migrate", "collectstatic --no-input", "createsuperuser --no-input --username ann --email a@b.cc"):
            run([*manage, *words.split()], work, **settings)

    def use(self, visitor: Visitor) -> None:
        visitor.get("/admin").expect(301)
        page = visitor.follow(visitor.get("/admin/"))
        for link in page.expect(200).links:
            if link.endswith((".css", ".js")):
                visitor.get(link.removeprefix(visitor.prefix)).expect(200)
        form = page.fields | {"username": "ann", "password": "secret"}
        visitor.post("/admin/login/", form | {"csrfmiddlewaretoken": "x" * 64}).expect(403, "CSRF")
        visitor.follow(visitor.post("/admin/login/", form)).expect(200, "Site administration")
        form = visitor.get("/admin/library/book/add/").expect(200).fields
        added = visitor.upload("/admin/library/book/add/", "scan", "scan.bin", LARGE, form | {"title": "Änne & Co"})
        visitor.follow(added).expect(200, "was added successfully", "Änne &amp; Co")
        visitor.get("/admin/library/book/?q=nne").expect(200, "/admin/library/book/1/change/")
        assert_equal("/admin/library/book/1/change/" in visitor.get("/admin/library/book/?q=none").expect(200).text, False)
        assert_equal(hashlib.sha256(visitor.get("/media/scans/scan.bin").expect(200).body).hexdigest(), DIGEST)
        form = visitor.get("/admin/library/book/1/change/").expect(200, f"{visitor.prefix}/media/scans/scan.bin").fields
        edits = [lambda other, name=name: other.post("/admin/library/book/1/change/", form | {"title": name}) for name in ("One", "Two")]
        # SQLite may refuse one of two transactions that both want to write.
        assert_equal({302} <= {page.status for page in visitor.at_once(*edits)} <= {302, 500}, True)
        visitor.get("/admin/library/book/1/history/").expect(200, "Changed Title")
        form = visitor.get("/admin/library/book/1/delete/").expect(200).fields
        visitor.follow(visitor.post("/admin/library/book/1/delete/", form)).expect(200, "was deleted successfully")
        visitor.get("/admin/logout/").expect(200, "Logged out")
        visitor.get("/admin/library/book/").expect(302)
