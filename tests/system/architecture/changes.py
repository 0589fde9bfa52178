"""The tests that a change needs, from changes.toml."""

from __future__ import annotations

import pathlib
import shlex
import tomllib

FILE = pathlib.Path(__file__).with_name("changes.toml")


def read() -> list[dict]:
    return tomllib.loads(FILE.read_text())["change"]


def faults(repository: pathlib.Path, changes: list[dict]) -> list[str]:
    """Paths and programs that do not exist, and crates without a test."""
    found = []
    for change in changes:
        found += [f"{FILE.name}: no {path}" for path in change.get("in", []) if not any(repository.glob(path))]
        for command in change["run"]:
            words = [word for word in shlex.split(command) if "=" not in word]
            if "/" in words[0] and not (repository / words[0]).exists():
                found.append(f"{FILE.name}: no {words[0]}")
    named = {path for change in changes for path in change.get("in", [])}
    crates = {f"crates/{path.parent.name}" for path in repository.glob("crates/*/Cargo.toml")}
    return found + [f"{FILE.name}: no line says which tests a change in {crate} needs" for crate in sorted(crates - named)]


def table(changes: list[dict]) -> str:
    lines = ["| change in | run | minutes |", "| --- | --- | ---: |"]
    for change in changes:
        subjects = [*(f"`{path}`" for path in change.get("in", [])), *change.get("about", [])]
        commands = ", ".join(f"`{command}`" for command in change["run"])
        lines.append(f"| {', '.join(subjects)} | {commands} | {change.get('minutes', '–')} |")
    return "\n".join(lines) + "\n"
