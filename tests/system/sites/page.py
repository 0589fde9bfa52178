"""The page of the documentation: how many responses are the same, and why the others differ."""

from __future__ import annotations

import subprocess

from ..server import REPOSITORY
from .differences import Difference
from .run import nginx

PAGE = REPOSITORY / "docs/measurements/from-nginx.md"
BEGIN, END = "<!-- measured: sites -->", "<!-- end -->"
TITLES = {
    "balancer": "several upstreams, weights, a backup, header fields",
    "django": "Django: `/static/` and `/media/` by `alias`, gunicorn",
    "downloads": "downloads: listings, ranges, compression, allowed methods",
    "express": "Express behind a proxy, with WebSockets",
    "gateway": "API gateway: maps, captures, CORS, errors as JSON",
    "rails": "Rails: `public` first, then the application",
    "redirects": "from http to https, from www to the bare domain, several servers",
    "spa": "single-page application with an API",
    "static": "static site with caching and an error page",
    "wordpress": "permalinks and rewrites in front of an HTTP server",
}


def nginx_version() -> str:
    """As in `nginx 1.22.1`."""
    said = subprocess.run([nginx(), "-v"], capture_output=True, text=True).stderr
    return " ".join(said.partition("version: ")[2].split("/")[:2]).strip()


class Table:
    def __init__(self) -> None:
        # Of each configuration: its requests, and how many responses are the same.
        self.rows: dict[str, tuple[int, int]] = {}

    def add(self, name: str, requests: int, equal: int) -> None:
        self.rows[name] = (requests, equal)

    def requests(self) -> int:
        return sum(requests for requests, _ in self.rows.values())

    def equal(self) -> int:
        return sum(equal for _, equal in self.rows.values())

    def text(self, known: list[Difference]) -> str:
        lines = [f"Compared with {nginx_version()}.", "", "| configuration | what it has | requests | same response |", "| --- | --- | ---: | ---: |"]
        for name, (requests, equal) in self.rows.items():
            lines.append(f"| [{name}](../../tests/system/sites/{name}) | {TITLES[name]} | {requests} | {equal} |")
        lines.append(f"| | | {self.requests()} | {self.equal()} |")
        lines += ["", "| difference | Serow | nginx | responses | reason |", "| --- | --- | --- | ---: | --- |"]
        for known_one in known:
            ours, theirs = (value.replace("|", "\\|").replace("*", "…") for value in (known_one.ours, known_one.nginx))
            lines.append(f"| {known_one.name} | {ours} | {theirs} | {known_one.count} | {known_one.why} |")
        return "\n".join(["", *lines, ""])

    def is_current(self, known: list[Difference]) -> bool:
        """Whether the page has these tables, or those of another version of nginx."""
        if PAGE.exists() and f"Compared with {nginx_version()}." not in PAGE.read_text():
            return True
        return PAGE.exists() and PAGE.read_text() == self.whole(known)

    def write(self, known: list[Difference]) -> None:
        PAGE.write_text(self.whole(known))

    def whole(self, known: list[Difference]) -> str:
        """The page with these tables in the place of the earlier ones."""
        before, _, rest = PAGE.read_text().partition(BEGIN)
        return f"{before}{BEGIN}\n{self.text(known)}\n{END}{rest.partition(END)[2]}"
