"""Results on disk: one file of JSON per subcommand, from which the document is written."""

from __future__ import annotations

import json
from dataclasses import dataclass

from . import machine

FOLDER = machine.BENCH / "results"


@dataclass(frozen=True)
class Run:
    """Settings that every subcommand needs."""

    programs: dict
    folder: object
    command: str
    # A run of a part, or a quick one: kept apart from the figures that the document shows.
    partial: bool


def save(name: str, run: Run, result: dict) -> None:
    FOLDER.mkdir(exist_ok=True)
    whole = {"about": machine.about(), "command": run.command, **result}
    file = FOLDER / f"{name}{'-partial' if run.partial else ''}.json"
    file.write_text(json.dumps(whole, indent=1) + "\n")


def load(name: str) -> dict | None:
    file = FOLDER / f"{name}.json"
    return json.loads(file.read_text()) if file.exists() else None
