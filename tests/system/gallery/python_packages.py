"""Applications from PyPI, each in a virtual environment of its own."""

from __future__ import annotations

import base64
import hashlib
import json
import pathlib
import shutil

from ..server import program
from .application import SOURCES, Application, run, virtual_environment
from .browser import browse
from .python_frameworks import FastApi
from .visitor import DIGEST, LARGE, Visitor, assert_equal


class Packaged(Application):
    """From PyPI, with these requirements beside its own package."""

    package = ""
    requirements: tuple[str, ...] = ()

    def install(self) -> None:
        virtual_environment(self.home, f"{self.package or self.name}=={self.version}", *self.requirements)


class Radicale(Packaged):
    """Calendars: WebDAV's methods, its own password file, and a web interface below SCRIPT_NAME."""

    name, version = "radicale", "3.9.0"
    app = {"application": "radicale:application", "interpreter": "{home}/bin/python", "processes": 2,
           "env": ["RADICALE_CONFIG={work}/radicale.conf"]}
    path = "/.web/"

    def prepare(self, work: pathlib.Path, prefix: str) -> None:
        (work / "users").write_text("ann:secret\nbob:other\n")
        (work / "radicale.conf").write_text(f"[auth]\ntype = htpasswd\nhtpasswd_filename = {work}/users\nhtpasswd_encryption = plain\n"
                                            f"delay = 0\n[storage]\nfilesystem_folder = {work}/collections\n")

    def use(self, visitor: Visitor) -> None:
        ann = ("--user", "ann:secret")
        visitor.get("/ann/").expect(401)
        visitor.get("/ann/", "--user", "bob:other").expect(403)
        assert_equal("PROPFIND" in visitor.request("/", "--request", "OPTIONS").headers.get("allow", ""), True)
        calendar = ('<?xml version="1.0"?><C:mkcalendar xmlns="DAV:" xmlns:C="urn:ietf:params:xml:ns:caldav"><set><prop>'
                    "<displayname>Büro</displayname></prop></set></C:mkcalendar>")
        visitor.send("MKCALENDAR", "/ann/work/", calendar, *ann).expect(201)
        event = "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:x\r\nBEGIN:VEVENT\r\nUID:{0}\r\nDTSTAMP:20260101T000000Z\r\n" \
                "DTSTART:20260101T100000Z\r\nSUMMARY:Träffen {0}\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n"
        puts = [lambda other, name=f"e{number}": other.send("PUT", f"/ann/work/{name}.ics", event.format(name), *ann,
                                                              "--header", "Content-Type: text/calendar") for number in range(6)]
        assert_equal([page.status for page in visitor.at_once(*puts)], [201] * 6)
        tag = visitor.get("/ann/work/e1.ics", *ann).expect(200, "SUMMARY:Träffen e1").headers["etag"]
        edits = [lambda other, text=text: other.send("PUT", "/ann/work/e1.ics", event.format("e1").replace("100000Z", text), *ann, "--header",
                                                     f"If-Match: {tag}") for text in ("110000Z", "120000Z")]
        assert_equal(sorted(page.status for page in visitor.at_once(*edits)), [204, 412])
        listing = '<?xml version="1.0"?><propfind xmlns="DAV:"><prop><displayname/><getetag/></prop></propfind>'
        found = visitor.send("PROPFIND", "/ann/work/", listing, *ann, "--header", "Depth: 1").expect(207, "Büro")
        assert_equal(found.text.count(f"<href>{visitor.prefix}/ann/work/e"), 6)
        report = ('<C:calendar-query xmlns="DAV:" xmlns:C="urn:ietf:params:xml:ns:caldav"><prop><C:calendar-data/></prop>'
                  '<C:filter><C:comp-filter name="VCALENDAR"/></C:filter></C:calendar-query>')
        visitor.send("REPORT", "/ann/work/", report, *ann, "--header", "Depth: 1").expect(207, "Träffen e5")
        visitor.request("/ann/work/e0.ics", "--request", "DELETE", *ann).expect(200)
        visitor.get("/ann/work/e0.ics", *ann).expect(404)


class Datasette(Packaged):
    """Tables of SQLite over ASGI, with search, JSON and a streamed CSV."""

    name, version, requirements = "datasette", "0.65.5", ("setuptools==80.9.0",)
    app = {"application": "serve:app", "interpreter": "{home}/bin/python", "processes": 2, "env": ["BASE_URL={prefix}/"]}

    def use(self, visitor: Visitor) -> None:
        visitor.get("/").expect(200, f'href="{visitor.prefix}/library"')
        page = visitor.get("/library/books?_search=tree&_sort=title").expect(200)
        for link in page.links:
            if link.endswith((".css", ".js")) and link.startswith("/"):
                visitor.get(link.removeprefix(visitor.prefix)).expect(200)
        found = json.loads(visitor.get("/library/books.json?_size=10&title__contains=gr%C3%BCn").expect(200).text)
        assert_equal(len(found["rows"]), 10)
        assert_equal(visitor.get("/library/books.csv?_stream=on&_size=max").expect(200).text.count("\n"), 20_001)
        sql = "/library.json?sql=select+count(*)+as+n+from+books&_shape=array"
        assert_equal(json.loads(visitor.get(sql).expect(200).text), [{"n": 20_000}])
        visitor.get("/library/none").expect(404)


class FastApiNew(FastApi, Packaged):
    """As Debian's, with a root path: new versions of Starlette take it from the path."""

    name, version, requirements = "fastapi-new", "0.163.2", ("python-multipart==0.0.20",)
    package, is_short = "fastapi", False
    app = {"application": "chat:app", "interpreter": "{home}/bin/python", "processes": 2}
    prefix = Application.prefix

    def prepare(self, work: pathlib.Path, prefix: str) -> None:
        shutil.copytree(SOURCES / "fastapi", work, dirs_exist_ok=True)

    def use(self, visitor: Visitor) -> None:
        super().use(visitor)
        # A message of 100,000 letters, compressed by browser and server.
        text = "document.getElementById('said').textContent"
        said = browse(visitor.url("/page"), ("wait", text), ("value", text))[1]
        assert_equal(said.split(";")[0], "100000 permessage-deflate")


class Litestar(Packaged):
    """Lifespan, events, a WebSocket and an upload."""

    name, version, requirements = "litestar", "2.25.0", ("python-multipart==0.0.20",)
    app = {"application": "api:app", "interpreter": "{home}/bin/python", "processes": 2}
    route = {"max-body": "64M"}

    def use(self, visitor: Visitor) -> None:
        assert_equal(json.loads(visitor.get("/").expect(200).text), {"ready": True, "prefix": visitor.prefix})
        found = json.loads(visitor.upload("/upload", "data", "film.bin", LARGE).expect(201).text)
        assert_equal(found, {"length": len(LARGE), "digest": DIGEST})
        events = visitor.get("/events").expect(200)
        assert_equal(events.text.count("data: "), 200)
        visitor.get("/typed/abc").expect(404)
        visitor.get("/schema/openapi.json").expect(200, "/upload")
        with visitor.socket("/echo") as socket:
            for size in (0, 10, 100_000):
                socket.send(json.dumps({"text": "ü" * size}))
                assert_equal(json.loads(socket.receive()), {"echo": "ü" * size})
            assert_equal(socket.close(), 1000)


class Trac(Packaged):
    """A wiki and tickets: forms with tokens, attachments, and logins by the server's password file (REMOTE_USER)."""

    name, version, package, requirements = "trac", "1.6", "Trac", ("setuptools==80.9.0",)
    app = {"application": "trac.web.main:dispatch_request", "interpreter": "{home}/bin/python", "processes": 2,
           "env": ["TRAC_ENV={work}/project", "PYTHON_EGG_CACHE={work}/eggs"]}
    path, credentials = "/wiki", "ann:secret"
    around = (*Application.around, 'basic = { file = "users" }')

    def prepare(self, work: pathlib.Path, prefix: str) -> None:
        (work / "users").write_text(run([program("serow"), "password", "--hash", "bcrypt", "ann"], given="secret\n"))
        admin = self.home / "bin/trac-admin"
        run([admin, work / "project", "initenv", "Project", "sqlite:db/trac.db"])
        run([admin, work / "project", "permission", "add", "anonymous", "TRAC_ADMIN"])

    def use(self, visitor: Visitor) -> None:
        page = visitor.get("/wiki").expect(200, "Welcome to Trac")
        for link in page.links:
            if link.endswith((".css", ".js")) and link.startswith("/"):
                visitor.get(link.removeprefix(visitor.prefix)).expect(200)
        if visitor.credentials:
            visitor.follow(visitor.get("/login", "--header", f"Referer: {visitor.url('/wiki')}")).expect(200, "logged in as", "ann")
        token = visitor.get("/newticket").expect(200).fields["__FORM_TOKEN"]
        form = {"__FORM_TOKEN": token, "field_summary": "Größe & Farbe", "field_type": "defect", "submit": "Create ticket",
                "field_description": "falsch"}
        visitor.post("/newticket", form | {"__FORM_TOKEN": "x"}).expect(400)
        created = visitor.post("/newticket", form)
        visitor.get(created.headers["location"]).expect(200, "Größe &amp; Farbe")
        visitor.get("/search?q=Farbe&ticket=on").expect(200, f"{visitor.prefix}/ticket/1")
        attached = visitor.upload("/attachment/ticket/1/?action=new", "attachment", "note.bin", LARGE[:200_000],
                                  {"__FORM_TOKEN": token, "action": "new", "realm": "ticket", "id": "1"})
        assert_equal(attached.status, 303)
        assert_equal(visitor.get("/raw-attachment/ticket/1/note.bin").expect(200).body, LARGE[:200_000])
        edit = {"__FORM_TOKEN": token, "action": "edit", "version": "0", "save": "Submit changes", "text": "= Title"}
        edits = [lambda other, name=name: other.post("/wiki/Page", edit | {"text": f"= {name}"}) for name in ("One", "Two")]
        assert_equal(303 in {page.status for page in visitor.at_once(*edits)}, True)
        visitor.get("/wiki/Page?action=history").expect(200, visitor.credentials.partition(":")[0])


class WsgiDav(Packaged):
    """Files over WebDAV, with its own passwords and large uploads."""

    name, version, package = "wsgidav", "4.4.0", "WsgiDAV"
    app = {"application": "share:app", "interpreter": "{home}/bin/python", "processes": 2, "threads": 4}
    route = {"max-body": "64M"}
    path = "/public/"
    # It finds the Destination of a MOVE only without a prefix, in any server.
    prefix = ""

    def use(self, visitor: Visitor) -> None:
        ann = ("--user", "ann:secret")
        visitor.get("/private/").expect(401)
        visitor.send("PUT", "/private/film.bin", LARGE, *ann).expect(201)
        body = visitor.get("/private/film.bin", *ann, "--limit-rate", "40M").expect(200).body
        assert_equal(hashlib.sha256(body).hexdigest(), DIGEST)
        assert_equal(visitor.get("/private/film.bin", *ann, "--range", "10-19").expect(206).body, LARGE[10:20])
        visitor.request("/private/dir", "--request", "MKCOL", *ann).expect(201)
        move = ("--request", "MOVE", "--header", f"Destination: {visitor.url('/private/dir/gr%C3%BCn.bin')}")
        visitor.request("/private/film.bin", *move, *ann).expect(201)
        listed = visitor.request("/private/dir/", "--request", "PROPFIND", "--header", "Depth: 1", *ann)
        listed.expect(207, f"{visitor.prefix}/private/dir/gr%C3%BCn.bin")
        visitor.request("/private/dir", "--request", "DELETE", *ann).expect(204)


class Dash(Packaged):
    """A page of components, with callbacks in JSON; a Flask application inside."""

    name, version = "dash", "4.4.1"
    app = {"application": "board:server", "interpreter": "{home}/bin/python", "processes": 2, "env": ["PREFIX={prefix}/"]}

    def use(self, visitor: Visitor) -> None:
        page = visitor.get("/").expect(200, "_dash-config")
        for link in page.links:
            if link.startswith("/"):
                visitor.get(link.removeprefix(visitor.prefix)).expect(200)
        visitor.get("/_dash-layout").expect(200, '"text"')
        call = {"output": "output.children", "outputs": {"id": "output", "property": "children"}, "changedPropIds": ["text.value"],
                "inputs": [{"id": "text", "property": "value", "value": "grün"}]}
        answer = visitor.send("POST", "/_dash-update-component", json.dumps(call), "--header", "Content-Type: application/json")
        assert_equal(json.loads(answer.expect(200).text)["response"]["output"]["children"], "GRÜN")


class Wagtail(Packaged):
    """A large Django package: an editor's interface, images, and pages that are published."""

    name, version = "wagtail", "8.0.1"
    app = {"application": "mysite.wsgi:application", "interpreter": "{home}/bin/python", "processes": 2,
           "env": ["DJANGO_SETTINGS_MODULE=mysite.settings.dev"]}
    route = {"max-body": "64M"}
    path = "/admin/login/"

    def prepare(self, work: pathlib.Path, prefix: str) -> None:
        run([self.home / "bin/wagtail", "start", "mysite", work], work)
        (work / "mysite/settings/local.py").write_text("ALLOWED_HOSTS = ['*']\nPASSWORD_HASHERS = "
                                                       "['django.contrib.auth.hashers.MD5PasswordHasher']\nDEBUG = False\n"
                                                       "STORAGES = {'default': {'BACKEND': 'django.core.files.storage.FileSystemStorage'},"
                                                       "'staticfiles': {'BACKEND': 'django.contrib.staticfiles.storage.StaticFilesStorage'}}\n")
        for words in ("migrate", "createsuperuser --no-input --username ann --email a@b.cc"):
            run([self.home / "bin/python", "manage.py", *words.split()], work, DJANGO_SUPERUSER_PASSWORD="secret")

    def use(self, visitor: Visitor) -> None:
        visitor.get("/").expect(200)
        form = visitor.follow(visitor.get("/admin/")).expect(200).fields
        visitor.follow(visitor.post("/admin/login/", form | {"username": "ann", "password": "secret"})).expect(200, "Dashboard")
        form = visitor.get("/admin/images/multiple/add/").expect(200).fields
        token = visitor.token("csrftoken")
        pixel = base64.b64decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==")
        sent = visitor.upload("/admin/images/multiple/add/", "files[]", "pixel.png", pixel, form | {"title": "Pixel"}, "--header",
                              "X-Requested-With: XMLHttpRequest", "--header", f"X-CSRFToken: {token}")
        assert_equal(json.loads(sent.expect(200).text)["success"], True)
        visitor.get("/admin/images/?q=Pixel").expect(200, "Pixel")
        visitor.get("/admin/pages/").expect(200, "Home")
        form = visitor.get("/admin/pages/3/edit/").expect(200).fields
        saved = visitor.post("/admin/pages/3/edit/", form | {"title": "Grüße", "slug": "home", "action-publish": "action-publish",
                                                             "comments-TOTAL_FORMS": "0", "comments-INITIAL_FORMS": "0"})
        visitor.follow(saved).expect(200, "Grüße")
        visitor.get("/").expect(200, "Grüße")


class JupyterLab(Packaged):
    """A program with WebSockets: a notebook's kernel computes; one copy, since kernels are its children."""

    name, version = "jupyterlab", "4.6.6"
    app = {"command": ["{home}/bin/jupyter", "lab", "--no-browser", "--allow-root", "--port={port}", "--ip=127.0.0.1",
                       "--ServerApp.base_url={prefix}/", "--IdentityProvider.token=secret", "--ServerApp.allow_remote_access=True"],
           "env": ["HOME={work}", "JUPYTER_PREFER_ENV_PATH=1"]}
    route = {"max-body": "64M"}
    path, has_replicas = "/login", False

    def use(self, visitor: Visitor) -> None:
        token = ("--header", "Authorization: token secret")
        visitor.get("/api/status").expect(403)
        page = visitor.get("/lab?token=secret").expect(200, "jupyter-config-data")
        for link in page.links:
            if link.startswith("/") and ".js" in link:
                visitor.get(link.removeprefix(visitor.prefix)).expect(200)
        content = base64.b64encode(LARGE).decode()
        file = {"type": "file", "format": "base64", "content": content}
        visitor.send("PUT", "/api/contents/film.bin", json.dumps(file), *token).expect(201)
        assert_equal(hashlib.sha256(visitor.get("/files/film.bin", *token).expect(200).body).hexdigest(), DIGEST)
        kernel = json.loads(visitor.send("POST", "/api/kernels", "{}", *token).expect(201).text)["id"]
        with visitor.socket(f"/api/kernels/{kernel}/channels?token=secret") as socket:
            header = {"msg_id": "1", "msg_type": "execute_request", "session": "s", "username": "ann", "version": "5.3"}
            socket.send(json.dumps({"header": header, "parent_header": {}, "metadata": {}, "channel": "shell",
                                    "content": {"code": "print(6 * 7, 'x' * 100000)", "silent": False}}))
            while True:
                message = json.loads(socket.receive())
                if message["msg_type"] == "stream":
                    assert_equal(message["content"]["text"].split()[0], "42")
                    break
        browse(visitor.url("/lab?token=secret"), ("wait", "!!document.querySelector('.jp-Launcher')"))
        visitor.request(f"/api/kernels/{kernel}", "--request", "DELETE", *token).expect(204)


class NiceGui(Packaged):
    """A page over Socket.IO: one worker, since a client's state is in its memory."""

    name, version = "nicegui", "3.18.0"
    app = {"application": "page:app", "interpreter": "{home}/bin/python", "processes": 1}
    has_replicas = False

    def use(self, visitor: Visitor) -> None:
        page = visitor.get("/").expect(200, "Grüße")
        for link in page.links:
            if link.startswith("/") and link.endswith((".css", ".js")):
                visitor.get(link.removeprefix(visitor.prefix)).expect(200)
        visitor.get("/_nicegui_ws/socket.io/?EIO=4&transport=polling").expect(200, '"sid"')
        browse(visitor.url("/"), ("wait", "document.body.innerText.includes('Grüße') && window.socket && window.socket.connected"),
               ("value", "document.querySelector('button').click()"), ("wait", "document.body.innerText.includes('counted')"))
