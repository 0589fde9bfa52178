"""docs/measurements/apps.md: the table of faults is measured and replaced, everything else is kept."""

from __future__ import annotations

import collections

from ..priorities.document import replaced
from ..proxy.document import machine
from ..server import REPOSITORY
from .faults import FAULTS, Row

FILE = REPOSITORY / "docs/measurements/apps.md"
Found = dict[str, dict[str, tuple[Row, list[str]]]]


def write(found: Found) -> None:
    FILE.write_text(replaced(FILE.read_text(), "faults", table(found)))
    print(f"wrote {FILE.relative_to(REPOSITORY)}")


def table(found: Found) -> str:
    names = list(found)
    lines = ["| a worker | " + " | ".join(names) + " |", "| --- |" + " --- |" * len(names)]
    for fault in FAULTS:
        rows = [found[name].get(fault.name) for name in names]
        lines.append(f"| {fault.name} | " + " | ".join(cell(*row) if row else "–" for row in rows) + " |")
    least = min(row.gets + row.posts for rows in found.values() for row, _ in rows.values())
    return "\n".join([*lines, "", f"{least:,} requests or more per cell. {machine()}"])


def cell(row: Row, answers: list[str]) -> str:
    said = [f"{row.gets_failed:,} GET", f"{row.posts_failed:,} POST"]
    if row.twice:
        said.append(f"**{row.twice:,} POST executed twice**")
    if answers:
        said.append("failing request: " + ", ".join(sorted(collections.Counter(answer.split(":")[0] for answer in answers))))
    return f"{', '.join(said)}; {row.longest:.1f} s"
