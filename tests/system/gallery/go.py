"""Programs in Go."""

from __future__ import annotations

import base64
import contextlib
import functools
import getpass
import hashlib
import json
import pathlib
import tempfile
import urllib.parse

from .application import SOURCES, Application, debian, installed, run
from .visitor import DIGEST, LARGE, Lost, Page, Visitor, assert_equal


class Prometheus(Application):
    """A program that knows its prefix. A reload runs two copies in one folder: Debian's version makes no lock file there."""

    name, version = "prometheus", "2.42.0"
    app = {"command": ["prometheus", "--config.file=prometheus.yml", "--storage.tsdb.path=metrics",
                       "--web.listen-address=127.0.0.1:{port}", "--web.external-url=http://127.0.0.1{prefix}/",
                       "--web.route-prefix={prefix}/"], "check-path": "{prefix}/-/ready"}
    path, has_replicas = "/-/ready", False

    def install(self) -> None:
        debian("prometheus", self.version)

    def use(self, visitor: Visitor) -> None:
        visitor.follow(visitor.get("/"))
        # Debian's package has the classic interface only.
        page = visitor.get("/classic/graph").expect(200)
        for link in page.links:
            if link.endswith((".js", ".css")) or ".js?" in link:
                visitor.get(link.removeprefix(visitor.prefix)).expect(200)
        text = visitor.post("/api/v1/query", {"query": "vector(6) * 7"}).expect(200).text
        assert_equal(json.loads(text)["data"]["result"][0]["value"][1], "42")
        visitor.post("/api/v1/query", {"query": "("}).expect(400, "bad_data")
        visitor.get("/metrics").expect(200, "prometheus_build_info")


class Gitea(Application):
    """Repositories and issues; built from its module, which has no scripts for browsers: pages work without, as for a text browser."""

    name, version = "gitea", "1.26.0"
    module = "code.gitea.io/gitea"
    app = {"command": ["{home}/gitea", "--config", "{work}/app.ini", "web", "--port", "{port}"], "check-path": "/api/healthz",
           "env": ["GITEA_I_AM_BEING_UNSAFE_RUNNING_AS_ROOT=true"]}
    route = {"max-body": "64M"}
    path, has_replicas = "/api/healthz", False
    # As Gitea's guide has it: the server in front takes the prefix off.
    rewrites = True

    def install(self) -> None:
        if installed(self.home):
            return
        self.home.mkdir(parents=True, exist_ok=True)
        (self.home / "go.mod").write_text("module gallery\n")
        run(["go", "get", "-tool", f"{self.module}@v{self.version}"], self.home)
        # These hold for the module that is built, and not for one that is required.
        for line in (self.folder / "go.mod").read_text().splitlines():
            match line.partition("//")[0].split():
                case ["replace", old, "=>", new, version]:
                    run(["go", "mod", "edit", "-replace", f"{old}={new}@{version}"], self.home)
        run(["go", "build", "-mod=mod", "-tags", "sqlite sqlite_unlock_notify", "-o", "gitea", self.module], self.home)
        (self.home / "installed").touch()

    @property
    def folder(self) -> pathlib.Path:
        return pathlib.Path(run(["go", "list", "-m", "-f", "{{.Dir}}", self.module], self.home).strip())

    def prepare(self, work: pathlib.Path, prefix: str) -> None:
        text = (SOURCES / self.name / "app.ini").read_text()
        for name, value in (("WORK", work), ("PREFIX", prefix), ("STATIC", self.folder), ("USER", getpass.getuser())):
            text = text.replace(f"@{name}@", str(value))
        (work / "app.ini").write_text(text)
        program = [self.home / "gitea", "--config", work / "app.ini"]
        variables = {"GITEA_I_AM_BEING_UNSAFE_RUNNING_AS_ROOT": "true"}
        run([*program, "migrate"], work, **variables)
        run([*program, "admin", "user", "create", "--admin", "--username", "ann", "--password", PASSWORD, "--email", "a@b.cc",
             "--must-change-password=false"], work, **variables)

    def use(self, visitor: Visitor) -> None:
        visitor.post("/user/login", {"user_name": "ann", "password": "wrong"}).expect(200, "Username or password is incorrect")
        visitor.follow(visitor.post("/user/login", {"user_name": "ann", "password": PASSWORD})).expect(200, "ann")
        page = visitor.follow(visitor.post("/repo/create", {"uid": "1", "repo_name": "films", "auto_init": "on", "readme": "Default",
                                                            "default_branch": "main"})).expect(200, "films")
        assert_equal(f"{visitor.prefix}/ann/films/issues" in page.links, True)
        self.report(visitor)
        self.push(visitor)
        # The head and the first event of a stream that does not end.
        with contextlib.suppress(Lost):
            visitor.get("/user/events", "--max-time", "2")
        visitor.get("/ann/none").expect(404)

    def report(self, visitor: Visitor) -> None:
        """An issue with a film, a search, and two edits of one version of a file."""
        issues = "/api/v1/repos/ann/films/issues"
        issue = {"title": "Töne & Bilder", "body": "Grüße"}
        visitor.send("POST", issues, json.dumps(issue), *AS_JSON).expect(401)
        found = json.loads(visitor.send("POST", issues, json.dumps(issue), *AS_JSON, *USER).expect(201).text)
        assert_equal(found["html_url"], visitor.url("/ann/films/issues/1"))
        page = visitor.upload(f"{issues}/1/assets?name=film.bin", "attachment", "film.bin", LARGE, None, *USER).expect(201)
        # This URL has the host of `ROOT_URL`, whatever the request has.
        place = urllib.parse.urlsplit(json.loads(page.text)["browser_download_url"]).path.removeprefix(visitor.prefix)
        body = visitor.get(place, "--limit-rate", "40M").expect(200).body
        assert_equal(hashlib.sha256(body).hexdigest(), DIGEST)
        assert_equal(visitor.get(place, "--range", "1000-1999").expect(206).body, LARGE[1000:2000])
        visitor.get("/ann/films/issues?q=Bilder").expect(200, "Töne &amp; Bilder")
        assert_equal("Töne" in visitor.get("/ann/films/issues?q=nothing").expect(200).text, False)
        file = "/api/v1/repos/ann/films/contents/README.md"
        version = json.loads(visitor.get(file, *USER).expect(200).text)["sha"]
        edits = visitor.at_once(*(functools.partial(edit, place=file, version=version, text=text) for text in ("one", "two")))
        # Gitea refuses both where Git's lock meets them at the same time.
        assert_equal(sum(page.status == 200 for page in edits) <= 1, True)
        version = json.loads(visitor.get(file, *USER).expect(200).text)["sha"]
        edit(visitor, place=file, version=version, text="three").expect(200)
        edit(visitor, place=file, version=version, text="four").expect(422)

    def push(self, visitor: Visitor) -> None:
        """Clones, and pushes a commit with a film, by Git's protocol over HTTP/1.1."""
        address = visitor.url("/ann/films.git").replace("://", "://ann:secret%20secret@")
        with tempfile.TemporaryDirectory() as folder:
            tree = pathlib.Path(folder, "films")
            run(["git", "clone", "--quiet", address, tree])
            (tree / "film.bin").write_bytes(LARGE)
            run(["git", "add", "film.bin"], tree)
            run(["git", "-c", "user.name=ann", "-c", "user.email=a@b.cc", "commit", "--quiet", "--message", "A film"], tree)
            run(["git", "push", "--quiet"], tree)
        film = visitor.get("/ann/films/raw/branch/main/film.bin", "--limit-rate", "40M").expect(200).body
        assert_equal(hashlib.sha256(film).hexdigest(), DIGEST)

    @contextlib.contextmanager
    def across(self, visitor: Visitor):
        yield
        visitor.get("/ann/films/settings").expect(200)


PASSWORD = "secret secret"
USER = ("--user", f"ann:{PASSWORD}")
AS_JSON = ("--header", "Content-Type: application/json")


def edit(visitor: Visitor, *, place: str, version: str, text: str) -> Page:
    content = {"content": base64.b64encode(text.encode()).decode(), "sha": version, "message": text}
    return visitor.send("PUT", place, json.dumps(content), *AS_JSON, *USER)
