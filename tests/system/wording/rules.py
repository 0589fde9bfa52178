"""The rules: what each finds, where, what to write instead, and its exceptions."""

from __future__ import annotations

import dataclasses
import fnmatch
import functools
import pathlib
import re
import tomllib

from .sources import Texts

FILE = pathlib.Path(__file__).with_name("rules.toml")
KEYS = {"write", "text", "comments", "names", "identifier", "types", "files", "example", "paths", "except"}
OF_FILE = " (name of the file)"
# The words of a name: `HTTP`, `Door`, `settings`, `MAX`.
WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")


@dataclasses.dataclass(frozen=True)
class Finding:
    path: str
    line: int
    column: int
    found: str
    write: str

    def __str__(self) -> str:
        return f'{self.path}:{self.line}:{self.column}: "{self.found}": write {self.write}'


@dataclasses.dataclass(frozen=True)
class Exemption:
    """Where a rule does not apply: within a text that matches, or to a name; in some paths or everywhere."""

    reason: str
    text: re.Pattern[str] | None
    names: re.Pattern[str] | None
    paths: tuple[str, ...]

    def concerns(self, path: str) -> bool:
        return matches(path, self.paths)


@dataclasses.dataclass(frozen=True)
class Rule:
    write: str
    # A text that it finds: the tests prove that it does.
    example: str
    text: re.Pattern[str] | None
    comments: re.Pattern[str] | None
    names: re.Pattern[str] | None
    identifier: re.Pattern[str] | None
    types: re.Pattern[str] | None
    files: re.Pattern[str] | None
    paths: tuple[str, ...]
    exceptions: tuple[Exemption, ...]

    def findings(self, path: str, texts: Texts) -> list[Finding]:
        if not matches(path, self.paths):
            return []
        exceptions = [each for each in self.exceptions if each.concerns(path)]
        if any(not each.text and not each.names for each in exceptions):
            return []
        spots = [*self.in_texts(texts, exceptions), *self.in_names(texts, exceptions)]
        found = [Finding(path, *texts.position(offset), " ".join(what.split()), self.write) for offset, what in spots]
        return [*self.in_file_name(path, exceptions), *found]

    def in_texts(self, texts: Texts, exceptions: list[Exemption]) -> list[tuple[int, str]]:
        spots = []
        searches = [(self.text, prose) for prose in texts.prose] + [(self.comments, prose) for prose in texts.comments]
        for pattern, prose in searches:
            hits = list(pattern.finditer(prose.text)) if pattern else []
            covers = [each.text for each in exceptions if each.text] if hits else []
            spans = [cover.span() for allowed in covers for cover in allowed.finditer(prose.text)]
            spots += [(prose.origin(hit.start()), hit.group()) for hit in hits
                      if not any(first <= hit.start() and hit.end() <= last for first, last in spans)]
        return spots

    def in_names(self, texts: Texts, exceptions: list[Exemption]) -> list[tuple[int, str]]:
        types = texts.types if self.types else []
        spots = [spot for spot in texts.names if self.is_about(spot[1])] if self.names or self.identifier else []
        spots += [spot for spot in types if self.types.fullmatch(spot[1])]
        return [(offset, name) for offset, name in spots if not excepted(name, exceptions)]

    def is_about(self, name: str) -> bool:
        if self.identifier and self.identifier.search(name):
            return True
        return bool(self.names) and any(map(self.names.fullmatch, words(name)))

    def in_file_name(self, path: str, exceptions: list[Exemption]) -> list[Finding]:
        """The last two parts, so that a folder is found with each of its files."""
        for part in pathlib.PurePath(path).with_suffix("").parts[-2:]:
            about = self.files and self.files.fullmatch(part) or self.names and self.is_about(part)
            if about and not excepted(part, exceptions):
                return [Finding(path, 1, 1, part, self.write + OF_FILE)]
        return []


@functools.cache
def words(name: str) -> tuple[str, ...]:
    return tuple(word.lower() for word in WORD.findall(name))


def excepted(name: str, exceptions: list[Exemption]) -> bool:
    return any(each.names and each.names.fullmatch(name) for each in exceptions)


def matches(path: str, patterns: tuple[str, ...]) -> bool:
    return not patterns or any(fnmatch.fnmatchcase(path, pattern) for pattern in patterns)


def compiled(pattern: str | None, flags: int = 0) -> re.Pattern[str] | None:
    """A space in the pattern is any whitespace, line ends included."""
    return re.compile(pattern.replace(" ", r"\s+"), flags) if pattern else None


def rule(table: dict) -> Rule:
    if unknown := table.keys() - KEYS:
        raise ValueError(f"{FILE.name}: unknown keys {', '.join(sorted(unknown))} in {table}")
    exceptions = []
    for each in table.get("except", []):
        exceptions.append(Exemption(each["reason"], compiled(each.get("text"), re.IGNORECASE),
                                     compiled(each.get("names")), tuple(each.get("paths", []))))
    patterns = [compiled(table.get("text"), re.IGNORECASE), compiled(table.get("comments")),
                *(compiled(table.get(key)) for key in ("names", "identifier", "types", "files"))]
    return Rule(table["write"], table["example"], *patterns, tuple(table.get("paths", [])), tuple(exceptions))


def load(text: str | None = None) -> tuple[list[Rule], list[str]]:
    """The rules, and the paths that are not checked."""
    settings = tomllib.loads(FILE.read_text() if text is None else text)
    return [rule(table) for table in settings["rule"]], [each["path"] for each in settings.get("unchecked", [])]
