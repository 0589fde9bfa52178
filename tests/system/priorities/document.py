"""docs/measurements/priorities.md and http3.md: what stands between the markers is measured and replaced, everything else is kept."""

from __future__ import annotations

import datetime
import pathlib
import platform
import re
import subprocess
import sys

from ..server import REPOSITORY
from . import loss, servers, tables
from .tile import Run

FILE = REPOSITORY / "docs/measurements/priorities.md"
HTTP3 = REPOSITORY / "docs/measurements/http3.md"
PICTURES = REPOSITORY / "docs/measurements/priorities"


def replaced(document: str, name: str, content: str) -> str:
    """Puts the content between its markers; a document without them gets it at its end."""
    begin, end = f"<!-- measured: {name} -->", f"<!-- end of {name} -->"
    enclosed = f"{begin}\n\n{content}\n\n{end}"
    pattern = re.compile(re.escape(begin) + ".*?" + re.escape(end), re.DOTALL)
    if pattern.search(document):
        return pattern.sub(lambda _: enclosed, document, count=1)
    return f"{document.rstrip()}\n\n{enclosed}\n"


def section(name: str) -> str:
    """The present text of a section of the page."""
    return FILE.read_text().partition(f"<!-- measured: {name} -->")[2].partition(f"<!-- end of {name} -->")[0].strip()


def put(file: pathlib.Path = FILE, **sections: str) -> None:
    document = file.read_text()
    for name, content in sections.items():
        document = replaced(document, name, content)
    file.write_text(document)
    print(f"wrote {file.relative_to(REPOSITORY)}", file=sys.stderr)


def write_runs(runs: list[Run]) -> None:
    put(tile=tables.markdown(runs), servers=of_servers(runs), machine=machine(), pictures=pictures(runs))


def write_http3(runs: list[Run], lossy: list[Run]) -> None:
    """Of the usual link and sizes."""
    put(HTTP3, priorities=tables.of_moments(runs), lossy=loss.markdown(lossy))


def pictures(runs: list[Run]) -> str:
    """A picture for each server over TLS, first of the busy connection."""
    PICTURES.mkdir(exist_ok=True)
    drawn = sorted((run for run in runs if run.tls), key=lambda run: -run.after)
    lines = []
    for run in drawn:
        name = f"{run.server}-{run.after:g}s.svg"
        (PICTURES / name).write_text(run.drawing)
        lines.append(f"![{tables.of(run).label}, script requested after {run.after:g} s: bytes over time](priorities/{name})")
    return "\n\n".join(lines)


def of_servers(runs: list[Run]) -> str:
    names = dict.fromkeys(run.server for run in runs)
    lines = ["| server | version | signals sent to it | settings |", "| --- | --- | --- | --- |"]
    for server in servers.SERVERS:
        if server.name in names:
            lines.append(f"| {server.label} | {servers.version(server)} | {server.signals} | {server.note or 'defaults'} |")
    return "\n".join(lines)


def machine() -> str:
    processor = next((line.partition(":")[2].strip() for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines()
                      if line.startswith("model name")), "?")
    count = pathlib.Path("/proc/cpuinfo").read_text().count("processor\t")
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=REPOSITORY, capture_output=True, text=True).stdout
    return (f"{processor}, {count} cores, Linux {platform.release().split('-')[0]}, {datetime.date.today()}, commit "
            f"{commit.strip() or '?'}; congestion control cubic at both ends.")
