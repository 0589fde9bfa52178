"""How an application is served: one class for each way, which the tests exchange. Serow's presets say what runs and what is
hidden."""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
import shutil
import signal
import subprocess
from collections.abc import Iterator

from ..polling import wait_until
from ..server import Broken, Server, program
from .application import Application, Place
from .services import fpm

SETTINGS = """listen = "127.0.0.1:{port}"
{more}
[[site]]
"""
# Pages of visitors with cookies of their own are not for others; all others are the same for everybody.
OWN = """[[site.route]]
path = "/*"
when = {{ header = {{ Cookie = {patterns} }} }}
php = {php}
"""
ROUTE = """[[site.route]]
path = "/*"
{cache}php = {php}
"""
CACHE = """[cache]
memory = "64M"
purge-from = "127.0.0.1"
"""
CHILDREN = 4
# As which Serow and PHP run if the tests run as root.
USER = "www-data"


class ServedByApp:
    """`serow app DIR`, and nothing else."""

    def __init__(self, application: Application, place: Place) -> None:
        self.application, self.place = application, place
        # Packages are not installed but unpacked: PHP's include_path of Debian names /usr/share/php.
        self.include = f".:{place.home}/usr/share/php:/usr/share/php"

    @contextlib.contextmanager
    def serve(self) -> Iterator[Server]:
        place = self.place
        command = [program("serow"), "app", place.site, "--listen", f"127.0.0.1:{place.port}", "--ini", f"include_path={self.include}"]
        if place.certificate:
            command += ["--tls", f"{place.certificate},{place.certificate}"]
        with Server(command, place.port, wrap=["env", f"TMPDIR={temporary(place)}", *as_user()]) as server:
            yield server

    def reload(self) -> None:
        """Returns when new requests go to a new php-fpm."""
        server = self.place.server
        before = server.said().count(RELOADED)
        server.process.send_signal(signal.SIGHUP)
        if not wait_until(lambda: server.said().count(RELOADED) > before):
            raise Broken(f"it is not reloaded: {server.said()[-500:]}")

    def restart(self) -> None:
        self.place.server.__exit__()
        self.place.server.__enter__()


class ServedBySettings(ServedByApp):
    """A settings file, by which Serow starts php-fpm."""

    @property
    def file(self) -> pathlib.Path:
        return self.place.folder / "serow.toml"

    def php(self) -> dict:
        return {"root": str(self.place.site / self.application.root), "ini": {"include_path": self.include}}

    def write(self, php: dict) -> None:
        application, place = self.application, self.place
        table = inline(php)
        more = [f'user = "{USER}"'] if os.getuid() == 0 else []
        more += [f'tls = "{place.certificate},{place.certificate}"'] if place.certificate else []
        more += [CACHE] if application.cookies else []
        own = OWN.format(patterns=json.dumps([f"*{name}*" for name in application.cookies]), php=table) if application.cookies else ""
        cache = 'cache = { default-ttl = { "200" = "10m" } }\n' if application.cookies else ""
        self.file.write_text(SETTINGS.format(port=place.port, more="\n".join(more)) + own + ROUTE.format(cache=cache, php=table))

    @contextlib.contextmanager
    def serve(self) -> Iterator[Server]:
        self.write(self.php())
        with Server([program("serow"), "run", "-c", self.file], self.place.port, wrap=["env", f"TMPDIR={temporary(self.place)}"]) as server:
            yield server

    def reload(self) -> None:
        subprocess.run([program("serow"), "reload", "-c", self.file], check=True, capture_output=True)


class BehindServers(ServedBySettings):
    """A settings file, and a php-fpm that the test starts."""

    address = ""

    def php(self) -> dict:
        return {"root": str(self.place.site / self.application.root), "servers": f"{self.address},max={CHILDREN}"}

    @contextlib.contextmanager
    def serve(self) -> Iterator[Server]:
        user = USER if os.getuid() == 0 else ""
        with fpm(self.place.folder, CHILDREN, self.place.home / "usr/share/php", user) as self.address, super().serve() as server:
            yield server


# The line that `serow app` prints when new requests go to the new php-fpm.
RELOADED = "The application is reloaded"


def inline(value: object) -> str:
    """A value as TOML has it in a line."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {inline(each)}" for key, each in value.items()) + " }"
    return json.dumps(value)


def temporary(place: Place) -> pathlib.Path:
    """The folder for temporary files; all folders are those of the user as which PHP runs."""
    folder = place.folder / "temporary"
    folder.mkdir()
    if os.getuid() == 0:
        place.folder.chmod(0o755)
        for path in (place.folder, folder):
            shutil.chown(path, USER, USER)
        subprocess.run(["chown", "-R", f"{USER}:{USER}", place.site], check=True)
    return folder


def as_user() -> list[str]:
    """The command before another that makes it run as that user."""
    return ["setpriv", "--reuid", USER, "--regid", USER, "--clear-groups"] if os.getuid() == 0 else []
