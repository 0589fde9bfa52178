"""docs/measurements/proxy.md: the table of faults is measured and replaced, everything else is kept."""

from __future__ import annotations

import datetime
import os
import platform

from ..priorities.document import replaced
from ..server import REPOSITORY, Server
from . import proxies
from .account import Row
from .faults import FAULTS
from .store import Rows

FILE = REPOSITORY / "docs/measurements/proxy.md"
# The load that one fault, its proxy and its clients make by themselves.
BUSY = 3.0


def write(found: Rows) -> None:
    """Puts the table between its markers; a page without them gets it at its end."""
    document = FILE.read_text() if FILE.exists() else "# The reverse proxy\n"
    FILE.write_text(replaced(document, "faults", table(found)))
    print(f"wrote {FILE.relative_to(REPOSITORY)}")


def table(found: Rows) -> str:
    names = list(found)
    lines = ["| one of three servers is | " + " | ".join(names) + " |", "| --- |" + " --- |" * len(names)]
    for fault in FAULTS:
        rows = [found[name].get(fault.name) for name in names]
        lines.append(f"| {fault.name} | " + " | ".join(cell(row) if row else "" for row in rows) + " |")
    least = min(row.gets + row.posts for rows in found.values() for row in rows.values())
    notes = [f"- {kind.name} {kind.version()}: {proxies.NOTES[kind.name]}" for kind in kinds(names)]
    return "\n".join([*lines, "", f"{least:,} requests or more per cell. {machine()}", "", *notes])


def cell(row: Row) -> str:
    said = [f"{row.gets_failed:,} GET", f"{row.posts_failed:,} POST"]
    if row.cut:
        said.append(f"{row.cut / (row.gets + row.posts):.1%} truncated")
    if row.needless:
        said.append(f"**{row.needless:,} POST failed needlessly**")
    if row.twice:
        said.append(f"**{row.twice:,} POST executed twice**")
    if row.wrong:
        said.append(f"**{row.wrong:,} wrong**")
    return f"{', '.join(said)}; {row.longest:.1f} s"


def kinds(names: list[str]) -> list[type[Server]]:
    return [kind for kind in (proxies.Serow, *proxies.PEERS) if kind.name in names]


def machine() -> str:
    load = os.getloadavg()[2]
    busy = f", with other work on the machine (load {load:.0f})" if load > BUSY else ""
    return f"{os.cpu_count()} cores for all processes{busy}; Linux {platform.release().split('-')[0]}, {datetime.date.today()}."
