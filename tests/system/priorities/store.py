"""Earlier measurements, so that one server can be measured again without the others."""

from __future__ import annotations

import dataclasses
import json

from ..server import target
from . import servers
from .tile import Figures, Run


def merged(runs: list[Run]) -> list[Run]:
    """These runs and those of the last time that they do not replace, in the order of the page; stores them."""
    file = target() / "priorities-runs.json"
    old = [read(stored) for stored in json.loads(file.read_text())] if file.exists() else []
    found = {key(run): run for run in [*old, *runs]}
    order = [server.name for server in servers.SERVERS]
    result = sorted(found.values(), key=lambda run: (run.link, run.size, run.after, not run.tls, order.index(run.server)))
    file.write_text(json.dumps([dataclasses.asdict(run) for run in result]))
    return result


def key(run: Run) -> tuple:
    return run.server, run.tls, run.link, run.size, run.after


def read(stored: dict) -> Run:
    return Run(**stored | {"figures": Figures(**stored["figures"])})
