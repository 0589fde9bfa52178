"""Runs each application as it is served, and what all of them have in common."""

from __future__ import annotations

import contextlib
import pathlib
import tempfile
import traceback

from ..gallery.visitor import Unexpected
from ..server import Broken, free_port
from ..verdict import Verdict
from . import secrets
from .application import Application, Expectation, Place
from .services import mariadb
from .serving import BehindServers
from .visitor import Visitor


def run(application: Application, verdict: Verdict, serving: type = BehindServers) -> None:
    expect = Expectation(verdict, application.name)
    with tempfile.TemporaryDirectory(prefix=f"php-{application.name}-", ignore_cleanup_errors=True) as name, contextlib.ExitStack() as stack:
        folder = pathlib.Path(name)
        place = Place(folder, application.home, free_port())
        if application.has_database:
            place.database = stack.enter_context(mariadb(folder))
        application.prepare(place)
        stack.enter_context(application.beside(place))
        server = stack.enter_context(serving(application, place).serve())
        visitor = Visitor(place.port)
        try:
            application.install(expect, visitor, place)
            application.use(expect, visitor, place)
            secrets.refuse(expect, Visitor(place.port), application, place)
            sent = secrets.sweep(expect, Visitor(place.port), application, place)
            verdict.say(f"{application.name}: files that are sent: {', '.join(f'{kind} {count}' for kind, count in sorted(sent.items()))}")
        except (Unexpected, Broken, OSError, LookupError, ValueError) as error:
            where = traceback.extract_tb(error.__traceback__)
            line = next((frame.lineno for frame in where if pathlib.Path(frame.filename).name.startswith(application.name)), 0)
            verdict.check(False, f"{application.name}: line {line}: {type(error).__name__}: {error}")
        verdict.check(server.is_running() and not server.panics(), f"{application.name}: {server.said()[-500:]}")
        if expect.verdict.misses:
            verdict.say(server.said()[-1500:])
