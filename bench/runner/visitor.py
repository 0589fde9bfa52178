"""A visitor of a site: keeps cookies, fills in forms, and tells whether two servers answer alike."""

from __future__ import annotations

import gzip
import http.client
import itertools
import pathlib
import re
import socket
import urllib.parse
from dataclasses import dataclass

from . import browser
from .process import Broken
from .sites import Site

LIMIT = 20.0
FORM = "application/x-www-form-urlencoded"
# A token against forged forms is another in each form, whatever its name.
TOKEN = re.compile(r'<input type="hidden" name="(authenticity_token|csrf_token|csrfmiddlewaretoken)" value="([^"]*)"|'
                   r'<input name="(csrf_token)" type="hidden" value="([^"]*)"')


@dataclass(frozen=True)
class Answer:
    """The parts of a response that must be the same from every server."""

    target: str
    status: int
    fields: dict[str, str]
    body: str


class Connection(http.client.HTTPConnection):
    """To a unix socket."""

    def __init__(self, path: pathlib.Path) -> None:
        super().__init__("localhost", timeout=LIMIT)
        self.path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(LIMIT)
        self.sock.connect(str(self.path))


class Visitor:
    def __init__(self, path: pathlib.Path) -> None:
        self.path = path
        self.cookies: dict[str, str] = {}

    def ask(self, target: str, fields: dict[str, str] | None = None) -> Answer:
        """One request on a connection of its own; with fields it is a POST."""
        connection = Connection(self.path)
        # A session is bound to the browser that it began with.
        sent = dict(field.split(": ", 1) for field in browser.FIELDS) | {"Connection": "close", "Cookie": self.cookie()}
        body = None
        if fields is not None:
            body, sent["Content-Type"] = urllib.parse.urlencode(fields), FORM
        try:
            connection.request("POST" if fields is not None else "GET", target, body, sent)
            response = connection.getresponse()
            content = response.read()
            text = (gzip.decompress(content) if response.headers.get("Content-Encoding") == "gzip" else content).decode()
        except (OSError, EOFError, http.client.HTTPException, UnicodeDecodeError) as error:
            raise Broken(f"{target}: {error}") from error
        finally:
            connection.close()
        for cookie in response.headers.get_all("Set-Cookie", []):
            name, _, value = cookie.partition(";")[0].partition("=")
            self.cookies[name] = value
        told = {name: response.headers.get(name, "") for name in ("Content-Type", "Content-Encoding", "Location")}
        return Answer(target, response.status, told, text)

    def cookie(self) -> str:
        return "; ".join(f"{name}={value}" for name, value in self.cookies.items())

    def filled(self, site: Site) -> dict[str, str]:
        """The form of the site with the token that it has for this visitor."""
        return site.form.fields | token(self.ask(site.form.page).body)


def token(page: str) -> dict[str, str]:
    found = TOKEN.search(page)
    if not found:
        raise Broken("a form without a token against forged ones")
    name, value = (group for group in found.groups() if group is not None)
    return {name: value}


def without_tokens(page: str) -> str:
    return TOKEN.sub("", page)


def visit(path: pathlib.Path, site: Site) -> list[Answer]:
    """All that a visitor sees: every page, one that is not there, a form refused and accepted, and where that leads."""
    visitor = Visitor(path)
    answers = [visitor.ask(target) for _, target in site.pages]
    answers.append(visitor.ask("/nothing/here"))
    answers.append(visitor.ask(site.form.target, site.form.fields))
    accepted = visitor.ask(site.form.target, visitor.filled(site))
    wanted = [200] * len(site.pages) + [404, 403]
    for answer, status in zip(answers, wanted):
        if answer.status != status:
            raise Broken(f"{answer.target}: {answer.status} in the place of {status}")
    if accepted.status not in (302, 303):
        raise Broken(f"{accepted.target}: {accepted.status} in the place of a redirect")
    return [*answers, accepted, visitor.ask(urllib.parse.urlsplit(accepted.fields["Location"]).path)]


def difference(ours: list[Answer], theirs: list[Answer]) -> str | None:
    """The first thing in which two servers differ."""
    for mine, other in zip(ours, theirs, strict=True):
        for what in ("target", "status", "fields"):
            if getattr(mine, what) != getattr(other, what):
                return f"{mine.target}: {what} {getattr(mine, what)} and {getattr(other, what)}"
        lines, others = (without_tokens(answer.body).splitlines() for answer in (mine, other))
        for line, another in itertools.zip_longest(lines, others, fillvalue=None):
            if line != another:
                return f"{mine.target}: {line!r} and {another!r}"
    return None
