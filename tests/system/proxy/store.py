"""Earlier measurements of faults, so that some can be measured again without the others."""

from __future__ import annotations

import dataclasses
import json

from ..server import target
from .account import Row

# Of each proxy, by its name, the row of each fault, by its name.
Rows = dict[str, dict[str, Row]]


def merged(found: Rows) -> Rows:
    """These rows and those of the last time that they do not replace; stores them."""
    file = target() / "proxy-faults.json"
    stored = json.loads(file.read_text()) if file.exists() else {}
    rows = {proxy: {fault: Row(**row) for fault, row in rows.items()} for proxy, rows in stored.items()}
    for proxy, new in found.items():
        rows[proxy] = rows.get(proxy, {}) | new
    file.write_text(json.dumps({proxy: {fault: dataclasses.asdict(row) for fault, row in each.items()} for proxy, each in rows.items()}))
    return rows
