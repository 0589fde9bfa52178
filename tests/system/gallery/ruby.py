"""Applications of Ruby's frameworks, with Debian's packages."""

from __future__ import annotations

import hashlib
import json

from .application import Application
from .visitor import DIGEST, LARGE, Visitor, assert_equal


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
