"""Applications of Node."""

from __future__ import annotations

import base64
import json
import pathlib

from ..patience import wait_until
from .application import Application, node_modules
from .visitor import DIGEST, LARGE, Visitor, assert_equal


class Express(Application):
    """Notes: sessions, an upload, streams for a slow reader, an error."""

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


class Verdaccio(Application):
    """A registry: packages are published as JSON with the archive inside, and read again."""

    name, version = "verdaccio", "6.8.0"
    app = {"command": ["{home}/node_modules/.bin/verdaccio", "--config", "config.yaml", "--listen", "127.0.0.1:{port}"],
           "env": ["VERDACCIO_PUBLIC_URL={origin}"]}
    route = {"max-body": "64M"}
    path, has_replicas = "/-/ping", False
    # It knows its prefix in links only: the server in front takes it off.
    rewrites = True

    def install(self) -> None:
        node_modules(self.home, f"verdaccio@{self.version}", manifest='{"private": true, "overrides": {"node-fetch": "2.7.0"}}')

    def prepare(self, work: pathlib.Path, prefix: str) -> None:
        super().prepare(work, prefix)
        with (work / "config.yaml").open("a") as file:
            file.write(f"url_prefix: {prefix}/\n")

    def use(self, visitor: Visitor) -> None:
        as_json = ("--header", "Content-Type: application/json")
        user = {"name": "ann", "password": "secret secret", "email": "a@b.cc", "_id": "org.couchdb.user:ann", "type": "user", "roles": []}
        created = visitor.send("PUT", "/-/user/org.couchdb.user:ann", json.dumps(user), *as_json).expect(201)
        token = ("--header", f"Authorization: Bearer {json.loads(created.text)['token']}")
        archive = f"{visitor.origin}{visitor.prefix}/@ours/film/-/film-1.0.0.tgz"
        package = {"_id": "@ours/film", "name": "@ours/film", "dist-tags": {"latest": "1.0.0"},
                   "versions": {"1.0.0": {"name": "@ours/film", "version": "1.0.0", "dist": {"tarball": archive}}},
                   "_attachments": {"@ours/film-1.0.0.tgz": {"content_type": "application/octet-stream", "length": len(LARGE),
                                                             "data": base64.b64encode(LARGE).decode()}}}
        visitor.send("PUT", "/@ours%2ffilm", json.dumps(package), *as_json).expect(401)
        visitor.send("PUT", "/@ours%2ffilm", json.dumps(package), *as_json, *token).expect(201)
        found = json.loads(visitor.get("/@ours%2ffilm").expect(200).text)
        assert_equal(found["versions"]["1.0.0"]["dist"]["tarball"], archive)
        assert_equal(visitor.get("/@ours/film/-/film-1.0.0.tgz", "--limit-rate", "40M").expect(200).body == LARGE, True)
        page = visitor.get("/").expect(200)
        for link in page.links:
            if link.endswith((".js", ".css")):
                visitor.get(link.removeprefix(visitor.origin).removeprefix(visitor.prefix)).expect(200)


class NodeRed(Application):
    """Flows: an editor with a WebSocket for events, and an endpoint that a flow defines."""

    name, version = "node-red", "4.1.15"
    app = {"command": ["{home}/node_modules/.bin/node-red", "--userDir", "{work}", "--settings", "{work}/settings.js"],
           "env": ["ROOT={prefix}"], "check-path": "{prefix}/settings"}
    path, has_replicas = "/settings", False

    def install(self) -> None:
        node_modules(self.home, f"node-red@{self.version}")

    def use(self, visitor: Visitor) -> None:
        page = visitor.get("/").expect(200)
        for link in page.links:
            if link.endswith((".js", ".css")) and "://" not in link:
                visitor.get(f"/{link}").expect(200)
        flow = [{"id": "t", "type": "tab", "label": "Grüße"},
                {"id": "i", "type": "http in", "z": "t", "url": "/hello", "method": "get", "wires": [["f"]]},
                {"id": "f", "type": "function", "z": "t", "func": "msg.payload = 'Grüße ' + msg.req.query.name; return msg",
                 "outputs": 1, "wires": [["o", "d"]]},
                {"id": "o", "type": "http response", "z": "t", "wires": []},
                {"id": "d", "type": "debug", "z": "t", "active": True, "tosidebar": True, "complete": "payload", "targetType": "msg", "wires": []}]
        with visitor.socket("/comms") as socket:
            visitor.send("POST", "/flows", json.dumps(flow), "--header", "Content-Type: application/json").expect(204)
            socket.send(json.dumps({"subscribe": "debug"}))
            assert_equal(wait_for(visitor, "/api/hello?name=ann"), "Grüße ann")
            while "Grüße ann" not in (received := socket.receive()):
                assert_equal("topic" in received, True)
        visitor.get("/flows").expect(200, "/hello")


def wait_for(visitor: Visitor, path: str) -> str:
    """The flow starts after the response that accepts it."""
    text = ""

    def is_there() -> bool:
        nonlocal text
        page = visitor.get(path)
        text = page.text
        return page.status == 200

    wait_until(is_there)
    return text
