"""Runs each application as it is served, and what all of them have in common."""

from __future__ import annotations

import contextlib
import pathlib
import subprocess
import tempfile
import traceback

from ..gallery.visitor import Unexpected
from ..server import Broken, free_port
from ..verdict import Verdict
from . import secrets
from .application import Application, Expectation, Place
from .services import mariadb
from .serving import BehindServers
from .visitor import Curl, Visitor


def run(application: Application, verdict: Verdict, serving: type = BehindServers) -> None:
    expect = Expectation(verdict, application.name)
    with tempfile.TemporaryDirectory(prefix=f"php-{application.name}-", ignore_cleanup_errors=True) as name, contextlib.ExitStack() as stack:
        folder = pathlib.Path(name)
        place = Place(folder, application.home, free_port())
        if application.protocol != "http1":
            place.certificate = certify(folder)
        if application.has_database:
            place.database = stack.enter_context(mariadb(folder))
        application.prepare(place)
        stack.enter_context(application.beside(place))
        place.server = server = stack.enter_context(serving(application, place).serve())
        visitor = Visitor(place.origin) if place.certificate is None else Curl(place.origin, application.protocol, place.certificate)
        stack.callback(visitor.close)
        try:
            application.install(expect, visitor, place)
            application.use(expect, visitor, place)
            with contextlib.closing(visitor.stranger()) as stranger:
                secrets.refuse(expect, stranger, application, place)
            sent = {} if place.certificate else secrets.sweep(expect, Visitor(place.origin), application, place)
            verdict.say(f"{application.name}: files that are sent: {', '.join(f'{kind} {count}' for kind, count in sorted(sent.items()))}")
        except (Unexpected, Broken, OSError, LookupError, ValueError) as error:
            where = traceback.extract_tb(error.__traceback__)
            line = next((frame.lineno for frame in where if pathlib.Path(frame.filename).name.startswith(application.name)), 0)
            verdict.check(False, f"{application.name}: line {line}: {type(error).__name__}: {error}")
        verdict.check(server.is_running() and not server.panics(), f"{application.name}: {server.said()[-500:]}")
        if expect.verdict.misses:
            verdict.say(server.said()[-1500:])


def certify(folder: pathlib.Path) -> pathlib.Path:
    """A certificate that is its own authority, and its key, in one file."""
    certificate, key = folder / "certificate.pem", folder / "key.pem"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", key, "-out", certificate,
                    "-days", "30", "-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"], check=True, capture_output=True)
    with certificate.open("a") as file:
        file.write(key.read_text())
    return certificate
