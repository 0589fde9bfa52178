"""How an application is served: one class for each way, which the tests exchange."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator

from ..server import Server, program
from .application import Application, Place
from .services import fpm

SETTINGS = """listen = "127.0.0.1:{port}"
log-level = "warn"
{root}
[[site]]
"""
DENIED = """[[site.route]]
path = {paths}
respond = {{ status = 404 }}
"""
# Pages of visitors with cookies of their own are not for others; all others are the same for everybody.
OWN = """[[site.route]]
path = "/*"
when = {{ header = {{ Cookie = {patterns} }} }}
php = {{ {php} }}
"""
ROUTE = """[[site.route]]
path = "/*"
{cache}php = {{ {php} }}
"""
CACHE = """[cache]
memory = "64M"
purge-from = "127.0.0.1"
"""
CHILDREN = 4


class BehindServers:
    """A settings file, and a php-fpm that the test starts."""

    def __init__(self, application: Application, place: Place) -> None:
        self.application, self.place = application, place

    def settings(self, address: str) -> str:
        application, place = self.application, self.place
        php = {"root": str(place.site / application.root), "servers": f"{address},max={CHILDREN}"}
        if application.entry_points:
            php["entry-points"] = application.entry_points
        if application.no_scripts:
            php["no-scripts"] = application.no_scripts
        if application.front_controller is not None:
            php["front-controller"] = application.front_controller
        table = ", ".join(f"{key} = {json.dumps(value)}" for key, value in php.items())
        tls = f'tls = "{place.certificate},{place.certificate}"\n' if place.certificate else ""
        parts = [SETTINGS.format(port=place.port, root=tls + (CACHE if application.cookies else ""))]
        if application.denied:
            parts.append(DENIED.format(paths=json.dumps(application.denied)))
        if application.cookies:
            parts.append(OWN.format(patterns=json.dumps([f"*{name}*" for name in application.cookies]), php=table))
        cache = 'cache = { default-ttl = { "200" = "10m" } }\n' if application.cookies else ""
        return "".join([*parts, ROUTE.format(cache=cache, php=table)])

    @contextlib.contextmanager
    def serve(self) -> Iterator[Server]:
        folder = self.place.folder
        with fpm(folder, CHILDREN, include=self.place.home / "usr/share/php") as address:
            file = folder / "serow.toml"
            file.write_text(self.settings(address))
            with Server([program("serow"), "run", "-c", file], self.place.port) as server:
                yield server
