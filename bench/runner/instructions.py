"""User instructions per request, counted by callgrind: exact and repeatable on any machine."""

from __future__ import annotations

import pathlib
import re
import shutil
import tempfile

from . import load, servers, store
from .matrix import matches, say
from .process import Broken, Running
from .works import WORKS, Work

CONNECTIONS = (1, 64)
# The difference of a run with this many requests and one with twice as many leaves out start, accept and end.
REQUESTS = 4_000
# Its cost is the kernel's; the few user instructions per piece show with fewer requests as well.
REQUESTS_LARGE = 200
# callgrind answers some 2,000 requests a second.
PATIENCE = 120.0


def measure(run: store.Run, only: tuple[str, ...], transport: str = "tcp") -> dict:
    if not shutil.which("valgrind"):
        raise load.Failed("valgrind is not installed")
    rows = []
    for work in WORKS:
        for name in work.servers:
            server = servers.server(name)
            for connections in CONNECTIONS:
                label = f"{work.name}/{transport}/{connections}/{name}"
                if server.program not in run.programs or not matches(label, only):
                    continue
                row = {"work": work.name, "server": name, "connections": connections, "error": None}
                try:
                    row["instructions"] = per_request(run, server, work, transport, connections)
                    say(f"{label}: {row['instructions']:,.0f} user instructions")
                except (Broken, load.Failed, OSError) as error:
                    row["error"] = str(error)
                    say(f"{label}: {error}")
                rows.append(row)
    return {"rows": rows}


def per_request(run: store.Run, server: servers.Server, work: Work, transport: str, connections: int) -> float:
    requests = REQUESTS_LARGE if len(work.body) >= load.COUNTED_IN_BYTES else REQUESTS
    few, many = (counted(run, server, work, transport, connections, number) for number in (requests, 2 * requests))
    return (many - few) / requests


def counted(run: store.Run, server: servers.Server, work: Work, transport: str, connections: int,
            requests: int) -> int:
    """The instructions of a whole life: start, so many requests, end."""
    with tempfile.TemporaryDirectory(prefix="serow-bench-") as folder:
        tool = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={folder}/profile.%p"]
        with Running(server, work, transport, run.programs[server.program], run.folder, tool) as running:
            with load.Own(run.programs["load"], running, connections, requests=requests, patience=PATIENCE) as own:
                own.count()
        return sum(total(profile.read_text()) for profile in pathlib.Path(folder).iterdir())


def total(profile: str) -> int:
    """The instructions in one of callgrind's files."""
    found = re.search(r"^(?:totals|summary): (\d+)", profile, re.MULTILINE)
    if not found:
        raise load.Failed("callgrind wrote no total")
    return int(found.group(1))
