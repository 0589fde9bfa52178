"""A framework's application with a folder `public`: behind nginx, by `serow app --static`, and by a settings file."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import pathlib
import shutil

from ..server import Server, free_port, program
from ..sites import fixture
from ..sites.run import PATHS, START, nginx

HERE = pathlib.Path(__file__).parent
PUBLIC = {"robots.txt": "User-agent: *\n", "assets/app.css": fixture.STYLE, "assets/app.js": fixture.SCRIPT, "assets/photo.jpg": fixture.noise(10_000),
          "help/index.html": fixture.page("Help")}
NODE = "NODE_PATH=/usr/share/nodejs:/usr/lib/nodejs"
# As Rails' and Django's guides have it; a folder has a page where it has an index.
NGINX = START + """
events {}
http {
    """ + PATHS + """
    include /etc/nginx/mime.types;
    server {
        listen 127.0.0.1:@PORT@;
        root @WORK@/public;
        client_max_body_size 10m;
        try_files $uri $uri/index.html @app;
        location @app {
            proxy_pass http://127.0.0.1:@APP@;
            proxy_set_header Host $http_host;
            proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
            proxy_set_header X-Forwarded-Proto $scheme;
        }
    }
}
"""
SETTINGS = """listen = "127.0.0.1:{port}"
[[site]]
[[site.route]]
path = "/*"
files = {{ root = "public", missing = "next" }}
[[site.route]]
path = "/*"
app = {{ {app} }}
"""


@dataclasses.dataclass(frozen=True)
class Framework:
    name: str
    # The program that nginx passes requests to; it gets the port.
    behind_nginx: list[str]
    # `app` in a settings file, and the same on a command line.
    settings: str
    options: list[str]


FRAMEWORKS = (
    Framework("rails", ["puma", "--quiet", "--environment", "production", "--bind", "tcp://127.0.0.1:{port}", "config.ru"],
              'application = "config.ru", env = ["RAILS_ENV=production"]', ["config.ru", "--env", "RAILS_ENV=production"]),
    Framework("django", ["/usr/bin/python3", "serve.py", "{port}"],
              'application = "site_wsgi:application", interface = "wsgi", interpreter = "/usr/bin/python3"',
              ["site_wsgi:application", "--interface", "wsgi", "--interpreter", "/usr/bin/python3"]),
    Framework("express", ["env", NODE, "PORT={port}", "node", "server.js"],
              f'command = ["node", "server.js"], env = ["{NODE}"]', ["--env", NODE, "--", "node", "server.js"]),
)


class Sites:
    """The servers of a framework, which run while the `with` block does: nginx, and Serow in two ways."""

    def __init__(self, framework: Framework, folder: pathlib.Path) -> None:
        self.framework = framework
        self.work = folder / framework.name
        self.stack = contextlib.ExitStack()

    def __enter__(self) -> "Sites":
        shutil.copytree(HERE / self.framework.name, self.work, ignore=shutil.ignore_patterns("__pycache__"))
        for name, content in PUBLIC.items():
            path = self.work / "public" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content if isinstance(content, bytes) else content.encode())
        for path in [*self.work.rglob("*"), self.work]:
            os.utime(path, (fixture.MODIFIED, fixture.MODIFIED))
        with contextlib.ExitStack() as stack:
            app, port = free_port(), free_port()
            command = [word.format(port=app) for word in self.framework.behind_nginx]
            stack.enter_context(Server(["env", "-C", self.work, "RAILS_ENV=production", *command], app))
            text = NGINX.replace("@PORT@", str(port)).replace("@APP@", str(app)).replace("@WORK@", str(self.work))
            (self.work / "nginx.conf").write_text(text)
            self.theirs = stack.enter_context(Server([nginx(), "-p", self.work, "-c", self.work / "nginx.conf"], port))
            self.ours = {"settings": stack.enter_context(self.by_settings()), "--static": stack.enter_context(self.by_options())}
            self.ports = {server.port: "PORT" for server in (self.theirs, *self.ours.values())} | {app: "APP"}
            self.stack = stack.pop_all()
        return self

    def __exit__(self, *_) -> None:
        self.stack.close()

    def by_settings(self) -> Server:
        port = free_port()
        file = self.work / "serow.toml"
        file.write_text(SETTINGS.format(port=port, app=self.framework.settings))
        return Server([program("serow"), "run", "-c", file], port)

    def by_options(self) -> Server:
        port = free_port()
        options = ["--static", "public", "--listen", f"127.0.0.1:{port}", "--access-log", "off"]
        return Server(["env", "-C", self.work, program("serow"), "app", *options, *self.framework.options], port)
