"""Small applications of Symfony's FrameworkBundle and of Laravel's framework, as their skeletons have them: all but `public` is
beside the root."""

from __future__ import annotations

import shutil
import urllib.parse

from ..gallery.browser import browse
from .application import Application, Expectation, Place
from .picture import picture
from .visitor import Visitor, multipart
from . import application

SOURCES = application.HERE / "sources"
KEY = "base64:MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE="


class Framework(Application):
    root = "public"
    entry_points = ("/index.php",)
    hidden = ("/.env", "/.git/config", "/other.php", "/uploads/evil.php", "/uploads/evil.phtml", "/storage/secret.inc")
    public = ("/**/*.svg", "/**/app.css")
    token_name = ""

    def prepare(self, place: Place) -> None:
        shutil.copytree(SOURCES / self.name, place.site)
        # Git has no empty folders.
        for name in self.folders:
            (place.site / name).mkdir(parents=True, exist_ok=True)
        (place.site / ".env").write_text(f"APP_KEY={KEY}\n")
        public = place.site / "public"
        for name in (".git", "storage", "uploads"):
            (public / name).mkdir(exist_ok=True)
        for name in (".env", ".git/config", "storage/secret.inc"):
            (public / name).write_text(f"a secret of {name}")
        for name in ("other.php", "uploads/evil.php", "uploads/evil.phtml"):
            (public / name).write_text("<?php echo 'ran ' . 'here';")

    def token(self, visitor: Visitor) -> dict[str, str]:
        """Against forged requests, where the framework has it."""
        page = visitor.get("/login")
        return {self.token_name: page.inputs.get(self.token_name, "")} if self.token_name else {}

    def use(self, expect: Expectation, visitor: Visitor, place: Place) -> None:
        answer = visitor.get("/")
        expect("the start page", answer, 200, "<h1>Start</h1>" in answer.text)
        for prefix in ("", "/index.php"):
            answer = visitor.get(f"{prefix}/hello/Gr%C3%BC%C3%9Fe?a=b%20c")
            expect(
                f"a route {prefix}",
                answer,
                200,
                "Hello Grüße" in answer.text and f"{place.origin}{prefix}/hello/Gr%C3%BC%C3%9Fe?a=b%20c" in answer.text,
            )
        expect("a route that is not there", visitor.get("/missing"), 404)
        expect("a script that is not there", visitor.get("/missing.php"), 404)
        expect("a private page, logged out", visitor.get("/private"), 403)
        expect("a wrong password", visitor.form("/login", user="ann", password="wrong", **self.token(visitor)), 401)
        answer = visitor.form("/login", user="ann", password="secret", **self.token(visitor))
        answer = visitor.follow(expect("the right password", answer, 302))
        expect("a private page", answer, 200, "Logged in as ann" in answer.text)
        content = picture(1_900_000)
        for chunked in (False, True):
            body, kind = multipart(self.token(visitor), "file", "a shot.png", content)
            answer = visitor.ask("POST", "/upload", body, chunked, Content_Type=kind)
            expect(f"an upload, chunked: {chunked}", answer, 201, answer.status == 201 and answer.json["size"] == len(content))
        answer = visitor.get("/uploads/a%20shot.png")
        expect("the upload as a file", answer, 200, answer.body == content)
        answer = visitor.get("/stream")
        expect("a stream", answer, 200, answer.text.count("\n") == 1000)
        answer = visitor.get("/file", Range="bytes=3-7")
        expect("a part of a file", answer, 206, answer.body == b"{ col")
        answer = visitor.ask("HEAD", "/")
        expect("HEAD", answer, 200, answer.body == b"")
        answer = visitor.get("/fails")
        expect("an error", answer, 500, "of the test" not in answer.text)
        for path in ("/../.env", "/..%2f.env", "/%2e%2e/.env", "/index.php/../../.env", "/uploads/../../.env", "/..;/.env"):
            answer = visitor.get(path)
            expect(path, answer, answer.status, answer.status in (400, 404) and KEY not in answer.text)
        self.more(expect, visitor, place)
        fill = "document.querySelector('[name=user]').value = 'ann'; document.querySelector('[name=password]').value = 'secret'; document.querySelector('button').click()"
        found = browse(
            f"{place.origin}/login",
            ("value", fill),
            ("wait", "document.body.innerText.includes('Logged in as ann')"),
            ("value", "getComputedStyle(document.querySelector('h1')).color"),
            ("errors",),
        )
        expect.holds(found[-2] == "rgb(0, 128, 0)" and not found[-1], f"in Chromium: {found[-2:]}")

    def more(self, expect: Expectation, visitor: Visitor, place: Place) -> None:
        """Only this framework's."""


class Symfony(Framework):
    name, version = "symfony", "5.4.53"
    packages = ("php-symfony-framework-bundle",)
    folders = ("var/sessions", "public/uploads")

    def more(self, expect: Expectation, visitor: Visitor, place: Place) -> None:
        target = f"/echo?{urllib.parse.urlencode({'a[b]': 'c d'})}"
        answer = visitor.ask(
            "PUT",
            target,
            b"x" * 100_000,
            True,
            X_Forwarded_Proto="https",
            X_Forwarded_For="192.0.2.1",
            Authorization="Basic YW5uOnNlY3JldA==",
        )
        expect(
            "a request, as it sees it",
            answer,
            200,
            answer.status == 200
            and answer.json
            == {
                "method": "PUT",
                "path": "/echo",
                "base": "",
                "query": {"a": {"b": "c d"}},
                "length": 100_000,
                "client": answer.json["client"],
                "secure": answer.json["secure"],
                "host": f"127.0.0.1:{place.port}",
                "user": "ann",
            },
        )


class Laravel(Framework):
    name, version = "laravel", "8.83.26"
    packages = ("php-laravel-framework",)
    folders = (
        "bootstrap/cache",
        "storage/framework/cache",
        "storage/framework/sessions",
        "storage/framework/views",
        "storage/logs",
        "public/uploads",
    )
    token_name = "_token"

    def more(self, expect: Expectation, visitor: Visitor, place: Place) -> None:
        expect("a form without its token", visitor.form("/login", user="ann", password="secret"), 419)
        answer = visitor.form("/login", user="ann", **self.token(visitor))
        expect("a form that is not complete", answer, 302)
