"""Applications of Node."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import json
import pathlib
import shutil

from ..polling import wait_until
from .application import SOURCES, Application, node_modules, run
from .browser import browse
from .visitor import DIGEST, LARGE, Page, Visitor, assert_equal


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


class Next(Application):
    """Notes by pages that React renders on the server, by Server Actions and by routes of an API; from a standalone build, which
    has its prefix inside."""

    name, version = "next", "16.4.6"
    app = {"command": ["node", "server.js"], "env": ["HOSTNAME=127.0.0.1"]}
    route = {"max-body": "64M"}
    # One copy: a note is in the memory of it.
    path, has_replicas = "/about", False

    def install(self) -> None:
        modules = self.home / "modules"
        node_modules(modules, f"next@{self.version}", "react@19.3.1", "react-dom@19.3.1")
        for name, root in (("plain", ""), ("below", self.prefix)):
            if (self.home / name).exists():
                continue
            shutil.copytree(SOURCES / self.name, modules, dirs_exist_ok=True)
            run(["npx", "next", "build"], modules, ROOT=root, NEXT_TELEMETRY_DISABLED="1")
            # As Next's guide has it: the server of a standalone build delivers what is in this folder.
            shutil.copytree(modules / ".next/static", modules / ".next/standalone/.next/static", dirs_exist_ok=True)
            (modules / ".next/standalone").rename(self.home / name)

    def prepare(self, work: pathlib.Path, prefix: str) -> None:
        shutil.copytree(self.home / ("below" if prefix else "plain"), work, dirs_exist_ok=True, symlinks=True)

    def use(self, visitor: Visitor) -> None:
        as_json = ("--header", "Content-Type: application/json")
        page = visitor.get("/" if not visitor.prefix else "").expect(200, "Notes of", "nobody")
        scripts = [link for link in page.links if link.endswith((".js", ".css"))]
        assert_equal(bool(scripts), True)
        for link in scripts:
            visitor.get(link.removeprefix(visitor.prefix)).expect(200)
        visitor.send("POST", "/api/notes", "{}", *as_json).expect(401)
        visitor.send("POST", "/api/login", json.dumps({"user": "änn", "password": "wrong"}), *as_json).expect(403)
        visitor.send("POST", "/api/login", json.dumps({"user": "änn", "password": "secret"}), *as_json).expect(200)
        note = json.loads(visitor.send("POST", "/api/notes", json.dumps({"title": "Töne"}), *as_json).expect(201).text)
        assert_equal((note["title"], note["version"]), ("Töne", 1))
        edits = visitor.at_once(*(lambda twin, title=title: edit(twin, note["id"], title) for title in ("one", "two")))
        assert_equal(sorted(page.status for page in edits), [200, 409])
        assert_equal(len(json.loads(visitor.get("/api/notes?q=none").text)), 0)
        found = json.loads(visitor.send("PUT", "/api/upload", LARGE).expect(200).text)
        assert_equal(found, {"length": len(LARGE), "digest": DIGEST})
        film = visitor.get("/api/film", "--limit-rate", "40M").expect(200).body
        assert_equal(hashlib.sha256(film).hexdigest(), hashlib.sha256(b"0123456789abcdef" * 65536 * 20).hexdigest())
        assert_equal(visitor.get("/api/events?count=2000", "--limit-rate", "4M").expect(200).text.count("data: "), 2000)
        found = json.loads(visitor.get("/api/words/gr%C3%BCn%2Fblau").expect(200).text)
        assert_equal(found, {"name": "grün/blau", "host": f"127.0.0.1:{visitor.port}", "for": "127.0.0.1", "protocol": "http"})
        # A link of the page loads this instead of a page; without its digest in the query, Next redirects.
        place = visitor.get("/about", "--header", "RSC: 1").expect(307).headers["location"]
        visitor.get(place.removeprefix(visitor.prefix), "--header", "RSC: 1").expect(200, "Grüße")
        visitor.get("/none").expect(404)
        self.act(visitor)

    def act(self, visitor: Visitor) -> None:
        """Chromium: Server Actions with a login and a file of 20 MB, and a link that is followed without a page load."""
        fill = "document.querySelector('#log-in [name=user]').value = 'ben'; document.querySelector('#log-in [name=password]').value = 'secret'"
        attach = ("(() => { const files = new DataTransfer(); files.items.add(new File([new Uint8Array(20000000).fill(120)], 'film.bin'));"
                  " document.querySelector('#keep [name=film]').files = files.files; document.querySelector('#keep [name=title]').value = 'Bilder' })()")
        browse(visitor.url(""), ("value", "document.querySelector('#counter').click()"),
               ("wait", "(document.querySelector('#counter').click(), /counted [1-9]/.test(document.querySelector('#counter').innerText))"),
               ("value", fill), ("value", "document.querySelector('#log-in button').click()"), ("wait", "document.body.innerText.includes('Notes of ben')"),
               ("value", attach), ("value", "document.querySelector('#keep button').click()"),
               ("wait", f"document.querySelector('#notes').innerText.includes('{hashlib.sha256(b'x' * 20_000_000).hexdigest()}')"),
               ("value", "window.stays = true; document.querySelector('a').click()"), ("wait", "window.stays && !!document.querySelector('#about')"))

    @contextlib.contextmanager
    def across(self, visitor: Visitor):
        yield
        visitor.get("" if visitor.prefix else "/").expect(200, "Notes of", "änn")


def edit(visitor: Visitor, number: int, title: str) -> Page:
    content = json.dumps({"id": number, "version": 1, "title": title})
    return visitor.send("PUT", "/api/notes", content, "--header", "Content-Type: application/json")


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
