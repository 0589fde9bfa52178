"""Applications of Node."""

from __future__ import annotations

import json

from .application import Application
from .visitor import DIGEST, LARGE, Visitor, assert_equal


class Express(Application):
    name, version, is_short = "express", "4.18.2", True
    app = {"command": ["node", "server.js"], "env": ["NODE_PATH=/usr/share/nodejs:/usr/lib/nodejs", "ROOT={prefix}"], "processes": 2}
    route = {"max-body": "64M"}

    def use(self, visitor: Visitor) -> None:
        visitor.post("/login", {"user": "änn", "password": "wrong"}).expect(403, "wrong")
        page = visitor.follow(visitor.post("/login", {"user": "änn", "password": "secret"}))
        page.expect(200, "Notes of änn", f'href="{visitor.prefix}/"')
        found = json.loads(visitor.send("PUT", "/upload", LARGE).expect(200).text)
        assert_equal(found, {"length": len(LARGE), "digest": DIGEST})
        found = json.loads(visitor.get("/page/gr%C3%BCn%2Fblau").text)
        assert_equal(found, {"name": "grün/blau", "host": f"127.0.0.1:{visitor.port}", "ip": "127.0.0.1", "protocol": "http"})
        assert_equal(visitor.get("/events", "--limit-rate", "4M").expect(200).text.count("data: "), 2000)
        visitor.get("/dies").expect(500)
        visitor.get("/none").expect(404)
        visitor.follow(visitor.post("/logout", {})).expect(200, "Notes of nobody")
