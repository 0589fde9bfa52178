"""Runs each application as it is served, and what all of them have in common."""

from __future__ import annotations

import contextlib
import imaplib
import pathlib
import subprocess
import sys
import tempfile
import traceback

from ..gallery.application import Missing
from ..gallery.visitor import Unexpected
from ..server import Broken, free_port
from ..verdict import Verdict
from . import secrets
from .application import Application, Expectation, Place
from .services import mariadb
from .serving import BehindServers, ServedByApp, ServedBySettings
from .visitor import Curl, Visitor

SERVING = {"app": ServedByApp, "settings": ServedBySettings, "servers": BehindServers}


def run(application: Application, verdict: Verdict) -> None:
    """Installs the application and uses it."""
    with tempfile.TemporaryDirectory(prefix=f"php-{application.name}-", ignore_cleanup_errors=True) as name, contextlib.ExitStack() as stack:
        place = Place(pathlib.Path(name), application.home, free_port())
        try:
            within(stack, application, place, verdict)
        except (Missing, Unexpected, Broken, OSError, imaplib.IMAP4.error, LookupError, ValueError) as error:
            module = sys.modules[type(application).__module__].__file__
            line = next((frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == module), 0)
            verdict.check(False, f"{application.name}: line {line}: {type(error).__name__}: {error}")
        if place.server:
            verdict.check(place.server.is_running() and not place.server.panics(), f"{application.name}: {place.server.said()[-500:]}")
            if verdict.misses:
                verdict.say(f"the end of the error log:\n{place.server.said()[-1500:]}")


def within(stack: contextlib.ExitStack, application: Application, place: Place, verdict: Verdict) -> None:
    expect = Expectation(verdict, application.name)
    if application.protocol != "http1":
        place.certificate = certify(place.folder)
    if application.has_database:
        place.database = stack.enter_context(mariadb(place.folder))
    application.prepare(place)
    stack.enter_context(application.beside(place))
    serving = SERVING[application.serving](application, place)
    place.server = stack.enter_context(serving.serve())
    place.reload, place.restart = serving.reload, serving.restart
    visitor = Visitor(place.origin) if place.certificate is None else Curl(place.origin, application.protocol, place.certificate)
    stack.callback(visitor.close)
    application.install(expect, visitor, place)
    application.use(expect, visitor, place)
    stranger = visitor.stranger()
    stack.callback(stranger.close)
    secrets.refuse(expect, stranger, application, place)
    secrets.show(expect, stranger, application, place)
    if not place.certificate:
        sent = secrets.sweep(expect, stranger, application, place)
        verdict.say(f"{application.name}: kinds of files that are sent: {', '.join(sorted(sent))}")


def certify(folder: pathlib.Path) -> pathlib.Path:
    """A certificate that is its own authority, and its key, in one file."""
    certificate, key = folder / "certificate.pem", folder / "key.pem"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", key, "-out", certificate,
                    "-days", "30", "-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"], check=True, capture_output=True)
    with certificate.open("a") as file:
        file.write(key.read_text())
    return certificate
