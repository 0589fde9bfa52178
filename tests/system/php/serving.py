"""How an application is served: one class for each way, which the tests exchange."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator

from ..server import Server, program
from .application import Application, Place
from .services import fpm

SETTINGS = """listen = "127.0.0.1:{port}"
{extra}
[[site]]
{denied}[[site.route]]
path = "/*"
{around}php = {{ {php} }}
"""
DENIED = """[[site.route]]
path = {paths}
respond = {{ status = 404 }}
"""
CHILDREN = 4


class BehindServers:
    """A settings file, and a php-fpm that the test starts."""

    def __init__(self, application: Application, place: Place, *, extra: str = "", around: str = "") -> None:
        self.application, self.place, self.extra, self.around = application, place, extra, around

    def settings(self, address: str) -> str:
        application = self.application
        php = {"root": str(self.place.site / application.root), "servers": f"{address},max={CHILDREN}"}
        if application.entry_points:
            php["entry-points"] = application.entry_points
        if application.no_scripts:
            php["no-scripts"] = application.no_scripts
        if application.front_controller is not None:
            php["front-controller"] = application.front_controller
        table = ", ".join(f"{key} = {json.dumps(value)}" for key, value in php.items())
        denied = DENIED.format(paths=json.dumps(application.denied)) if application.denied else ""
        return SETTINGS.format(port=self.place.port, denied=denied, php=table, extra=self.extra, around=self.around)

    @contextlib.contextmanager
    def serve(self) -> Iterator[Server]:
        folder = self.place.folder
        with fpm(folder, CHILDREN, include=self.place.home / "usr/share/php") as address:
            file = folder / "serow.toml"
            file.write_text(self.settings(address))
            with Server([program("serow"), "run", "-c", file], self.place.port) as server:
                yield server
