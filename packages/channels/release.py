"""The changes that a new version makes to the files of the project."""

from __future__ import annotations

import datetime
import re
import tomllib

from . import project
from .error import ChannelError

# Semantic Versioning 2.0.0 without build metadata, which Debian and RubyGems have no place for.
NUMBER = r"(?:0|[1-9]\d*)"
WORD = rf"(?:[a-z]+|{NUMBER})"
VERSION = re.compile(rf"({NUMBER})\.({NUMBER})\.({NUMBER})(?:-({WORD}(?:\.{WORD})*))?")
# The lock files of all workspaces with crates of the project.
LOCKS = ("Cargo.lock", "fuzz/Cargo.lock")
CHANGELOG = "CHANGELOG.md"
# Keep a Changelog 1.1.0.
UNRELEASED = "## [Unreleased]"


def check(version: str) -> None:
    """Refuses a version that is malformed or not greater than the last, and a tree with changes."""
    old = project.version()
    if VERSION.fullmatch(version) is None:
        raise ChannelError(f"{version} is not a version such as 1.2.3 or 2.0.0-rc.1")
    released = run_git("tag", "--list", f"v{old}").strip() != ""
    if order(version) < order(old) or released and order(version) == order(old):
        raise ChannelError(f"{version} is not greater than {old}, the last version")
    changed = run_git("status", "--porcelain").splitlines()
    if changed:
        names = ", ".join(line[3:] for line in changed[:3])
        raise ChannelError(f"the tree has changes ({names}{', …' if len(changed) > 3 else ''}); commit them first")


def run_git(*arguments: str) -> str:
    """Runs git and returns its output."""
    return project.run(["git", *arguments], cwd=project.ROOT)


def order(version: str) -> tuple:
    """A key that orders versions as Semantic Versioning does (§11): 1.0.0-rc.1 comes before 1.0.0."""
    match = VERSION.fullmatch(version)
    if match is None:
        raise ChannelError(f"Cargo.toml contains a version that is not one: {version}")
    *numbers, before = match.groups()
    words = before.split(".") if before else []
    keys = tuple((0, int(word), "") if word.isdigit() else (1, 0, word) for word in words)
    return (*map(int, numbers), not words, keys)


def changes(version: str, date: datetime.date) -> dict[str, str]:
    """File -> its text with the new version. Recipes and all that packages contain are generated from these."""
    old = project.version()
    changed = {"Cargo.toml": manifest((project.ROOT / "Cargo.toml").read_text(), old, version)}
    for name in LOCKS:
        path = project.ROOT / name
        if path.exists():
            changed[name] = lock(path.read_text(), old, version)
    path = project.ROOT / CHANGELOG
    if not path.exists():
        raise ChannelError(f"{CHANGELOG} is missing; write it with a heading `{UNRELEASED}`")
    changed[CHANGELOG] = changelog(path.read_text(), version, date)
    return {name: text for name, text in changed.items() if text != (project.ROOT / name).read_text()}


def manifest(text: str, old: str, new: str) -> str:
    """The workspace's Cargo.toml: its version, and those of its crates where they depend on each other."""
    lines = []
    section = ""
    for line in text.splitlines(keepends=True):
        if line.startswith("["):
            section = line.strip()
        own = section == "[workspace.package]" and line.startswith("version =")
        if own or section == "[workspace.dependencies]" and re.match(r'serow[a-z0-9-]* = \{.*path = ', line):
            line = line.replace(f'version = "{old}"', f'version = "{new}"')
        lines.append(line)
    changed = "".join(lines)
    workspace = tomllib.loads(changed)["workspace"]
    ours = {name: entry for name, entry in workspace["dependencies"].items() if name.startswith("serow")}
    late = [name for name, entry in ours.items() if entry.get("version") != new]
    if workspace["package"]["version"] != new or late:
        where = ", ".join(late) or "workspace.package"
        raise ChannelError(f"Cargo.toml does not have the version {old} everywhere: {where}")
    return changed


def lock(text: str, old: str, new: str) -> str:
    """A lock file, in which the crates of the project have no source."""
    pattern = rf'(\[\[package\]\]\nname = "serow[a-z0-9-]*"\nversion = "){re.escape(old)}"(?!\nsource)'
    return re.sub(pattern, rf'\g<1>{new}"', text)


def changelog(text: str, version: str, date: datetime.date) -> str:
    """The changelog, in which what was unreleased becomes the version's."""
    if text.count(f"{UNRELEASED}\n") != 1:
        raise ChannelError(f"{CHANGELOG} does not have one heading `{UNRELEASED}`")
    rest = text.split(f"{UNRELEASED}\n", 1)[1]
    if not rest.split("\n## ", 1)[0].split("\n[", 1)[0].strip():
        raise ChannelError(f"{CHANGELOG} says nothing below `{UNRELEASED}`; describe the changes first")
    return text.replace(f"{UNRELEASED}\n", f"{UNRELEASED}\n\n## [{version}] - {date.isoformat()}\n", 1)
