"""Projects as their frameworks' tutorials begin them, with Debian's packages."""

from __future__ import annotations

import pathlib
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Project:
    """Files, or a program that creates them; what `serow init` finds, and what its first page contains."""

    name: str
    found: str
    page: str
    files: dict[str, str] = field(default_factory=dict)
    prepare: Callable[[pathlib.Path], None] | None = None
    is_application: bool = True

    def create(self, folder: pathlib.Path) -> None:
        for name, text in self.files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        if self.prepare:
            self.prepare(folder)


def django(folder: pathlib.Path) -> None:
    """`django-admin startproject`, whose own start page is shown while DEBUG is on."""
    subprocess.run(["/usr/bin/python3", "-m", "django", "startproject", "shop", str(folder)], check=True)
    python(folder)


def python(folder: pathlib.Path) -> None:
    """Debian's Python has Debian's frameworks, whichever Python comes first in PATH."""
    (folder / "bin").mkdir()
    (folder / "bin/python3").symlink_to("/usr/bin/python3")


def npm(folder: pathlib.Path) -> None:
    """The installed npm, or as much of one as a start script needs: Debian's npm brings hundreds of packages."""
    if shutil.which("npm"):
        return
    (folder / "bin").mkdir()
    script = folder / "bin/npm"
    script.write_text('#!/bin/sh\n[ "$1" = start ] && exec node -e \'const { scripts } = require("./package.json"); '
                      'require("child_process").spawn(scripts.start, { shell: true, stdio: "inherit" })\'\n')
    script.chmod(0o755)


SINATRA = """\
require 'sinatra'
get('/') { 'Hello from Sinatra' }
run Sinatra::Application
"""
PLACK = """\
use Plack::Builder;
builder { enable 'ContentLength'; sub { [200, ['Content-Type' => 'text/plain'], ['Hello from Plack']] } };
"""
FLASK = """\
from flask import Flask

app = Flask(__name__)


@app.route("/")
def index():
    return "Hello from Flask"
"""
FASTAPI = """\
from fastapi import FastAPI

app = FastAPI()


@app.get("/")
def index():
    return {"hello": "from FastAPI"}
"""
EXPRESS = """\
const express = require('express')
const app = express()
app.get('/', (request, response) => response.send('Hello from Express'))
app.listen(process.env.PORT || 3000)
"""
PACKAGE = '{"name": "hello", "scripts": {"start": "node server.js"}}\n'
WSGIREF = """\
import os
from wsgiref.simple_server import make_server


def hello(environ, start_response):
    start_response("200 OK", [("Content-Type", "text/plain")])
    return [b"Hello from wsgiref"]


make_server("127.0.0.1", int(os.environ["PORT"]), hello).serve_forever()
"""

PROJECTS = (
    Project("static site", "a static site (index.html)", "Hello", {"index.html": "<h1>Hello</h1>"}, is_application=False),
    Project("built site", "a static site (dist/index.html)", "built",
            {"index.html": "source", "dist/index.html": "built", "package.json": '{"scripts": {"start": "vite"}}'},
            is_application=False),
    Project("other files", "the files of this folder", "notes.txt", {"notes.txt": "a"}, is_application=False),
    Project("Sinatra", "a Rack application (config.ru)", "Hello from Sinatra", {"config.ru": SINATRA, "public/a.css": ""}),
    Project("Plack", "a PSGI application (app.psgi)", "Hello from Plack", {"app.psgi": PLACK}),
    Project("Django", "a Django application (manage.py)", "The install worked successfully", prepare=django),
    Project("Flask", "a Python application (app.py)", "Hello from Flask", {"app.py": FLASK}, python),
    Project("FastAPI", "a Python application (main.py)", "from FastAPI", {"main.py": FASTAPI}, python),
    Project("Express", "a Node.js application (package.json)", "Hello from Express",
            {"package.json": PACKAGE, "server.js": EXPRESS}, npm),
    Project("Procfile", "an application with the process web (Procfile)", "Hello from wsgiref",
            {"Procfile": "web: /usr/bin/python3 hello.py\n", "hello.py": WSGIREF}),
)
