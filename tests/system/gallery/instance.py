"""An application that runs: by `serow app` with options, or by `serow run` with a settings file."""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
import re
import signal

from ..polling import wait_until
from ..server import Server, free_port, program
from .application import Application
from .visitor import Lost, Visitor

SETTINGS = """listen = "127.0.0.1:{port}"
{root}
{store}[[site]]
{static}[[site.route]]
path = {paths}
{lines}
"""
STATIC = """[[site.route]]
path = "{prefix}/*"
files = {{ root = "{root}", strip-prefix = true, missing = "next" }}
"""
REWRITE = """[[site.route]]
path = "{prefix}/*"
rewrite = "/*"
"""


class Instance:
    def __init__(self, application: Application, work: pathlib.Path, *, by_settings: bool) -> None:
        self.application, self.work, self.by_settings = application, work, by_settings
        self.prefix = application.prefix if by_settings else ""
        work.mkdir(parents=True)
        application.prepare(work, self.prefix)
        self.port = free_port()
        self.server = Server(["env", "-C", work, *(self.settings() if by_settings else self.options())], self.port)

    def __enter__(self) -> "Instance":
        with contextlib.ExitStack() as stack:
            stack.enter_context(self.application.beside(self.work))
            stack.enter_context(self.server)
            self.wait()
            self.stack = stack.pop_all()
        return self

    def wait(self) -> None:
        with self.visitor() as visitor:
            last = ""

            def is_loaded() -> bool:
                nonlocal last
                if not self.server.is_running():
                    return True
                try:
                    page = visitor.get(self.application.path)
                    last = f"{page.status} {page.text[:300]}"
                    return page.status not in (502, 503, 504)
                except Lost as lost:
                    last = str(lost)
                    return False

            wait_until(is_loaded, 120.0, 0.1)
            if not self.server.is_running() or not last.startswith(str(self.application.status)):
                raise Lost(f"{self.application.name} is not ready: {last}\n{self.server.said()[-3000:]}")

    def __exit__(self, *rest) -> None:
        self.stack.__exit__(*rest)

    def filled(self, value):
        if isinstance(value, list):
            return [self.filled(item) for item in value]
        if isinstance(value, str):
            for name, text in (("home", self.application.home), ("work", self.work), ("prefix", self.prefix), ("origin", f"http://127.0.0.1:{self.port}")):
                value = value.replace(f"{{{name}}}", str(text))
        return value

    def options(self) -> list[str]:
        words, last = (["--static", self.application.static] if self.application.static else []), []
        for key, value in {**self.application.app, **self.application.route}.items():
            value = self.filled(value)
            if key == "application":
                last = [value]
            elif key == "command":
                last = ["--", *value]
            elif value is True:
                words.append(f"--{key}")
            else:
                words += [word for item in (value if isinstance(value, list) else [value]) for word in (f"--{key}", str(item))]
        return [program("serow").resolve(), "app", "--listen", f"127.0.0.1:{self.port}", *words, *last]

    def settings(self) -> list[str]:
        app = dict(self.application.app)
        if self.prefix and "command" not in app:
            app["root-path"] = self.prefix
        table = ", ".join(f"{key} = {json.dumps(self.filled(value))}" for key, value in app.items())
        lines = [f"{key} = {json.dumps(value)}" for key, value in self.application.route.items()]
        lines += [*map(self.filled, self.application.around), f"app = {{ {table} }}"]
        file = self.work / "serow.toml"
        store = '[cache]\nmemory = "64M"\n' if any(line.startswith("cache") for line in lines) else ""
        folder = self.application.static
        static = STATIC.format(prefix=self.prefix, root=folder) if folder else ""
        paths = [self.prefix, f"{self.prefix}/*"] if self.prefix else "/*"
        if self.application.rewrites:
            static, paths = REWRITE.format(prefix=self.prefix), "/*"
        file.write_text(SETTINGS.format(root=self.application.root, static=static, port=self.port, paths=json.dumps(paths),
                                        lines="\n".join(lines), store=store))
        return [program("serow").resolve(), "run", "-c", file]

    def visitor(self, **options) -> Visitor:
        return Visitor(self.port, self.prefix, credentials=self.credentials, **options)

    @property
    def credentials(self) -> str:
        return self.application.credentials if self.by_settings else ""

    def said(self) -> str:
        return self.server.said()

    def workers(self) -> set[int]:
        """The processes that handle requests: workers, or copies of a program."""
        found = descendants(self.server.pid)
        if "command" not in self.application.app:
            return {pid for pid in found if re.match(r"serow[^\0]*: worker", words(pid))}
        servers = {self.server.pid} | {pid for pid in found if os.path.basename(words(pid).split("\0")[0]) == "serow"}
        return {pid for pid in found if pid not in servers and parent(pid) in servers}

    def reload(self) -> None:
        self.server.process.send_signal(signal.SIGHUP)


def descendants(pid: int) -> set[int]:
    parents = {int(name): parent(int(name)) for name in os.listdir("/proc") if name.isdigit()}
    found, new = set(), {pid}
    while new:
        new = {child for child, above in parents.items() if above in new} - found
        found |= new
    return found


def parent(pid: int) -> int:
    with contextlib.suppress(OSError, IndexError, ValueError):
        return int(pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    return 0


def words(pid: int) -> str:
    with contextlib.suppress(OSError):
        return pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace")
    return ""
