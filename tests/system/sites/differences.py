"""The differences that are meant: `differences.toml`, each with its reason."""

from __future__ import annotations

import dataclasses
import fnmatch
import pathlib
import re
import tomllib

from .requests import Request

FILE = pathlib.Path(__file__).with_name("differences.toml")


@dataclasses.dataclass
class Difference:
    """Covers a part of the responses to some requests, where both are as expected."""

    name: str
    part: str
    why: str
    # Patterns of names of configurations.
    sites: list[str] = dataclasses.field(default_factory=lambda: ["*"])
    # A regular expression that is found in the line of the request.
    request: str = ""
    # Patterns of the values.
    ours: str = "*"
    nginx: str = "*"
    # The statuses of Serow's responses; all if there are none.
    statuses: list[int] = dataclasses.field(default_factory=list)
    # Whether it is in so many responses that it says nothing about a request.
    everywhere: bool = False
    count: int = 0

    def covers(self, site: str, request: Request, status: int, part: str, values: tuple[str, str]) -> bool:
        one, other = values
        return (any(fnmatch.fnmatchcase(site, pattern) for pattern in self.sites)
                and (not self.statuses or status in self.statuses) and matches(part, self.part) and matches(one, self.ours) and matches(other, self.nginx)
                and re.search(self.request, request.line) is not None)


def matches(value: str, pattern: str) -> bool:
    """Whether a value matches a pattern, of which only the star means something."""
    return re.fullmatch(".*".join(map(re.escape, pattern.split("*"))), value, re.S) is not None


def read() -> list[Difference]:
    return [Difference(**entry) for entry in tomllib.loads(FILE.read_text())["difference"]]
