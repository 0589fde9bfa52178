"""From rounds to figures: medians, and ratios taken within each round."""

from __future__ import annotations

import statistics
from dataclasses import dataclass

from . import works


@dataclass(frozen=True)
class Ratio:
    median: float
    low: float
    high: float
    # Whose cost stands below the line.
    reference: str


class Figures:
    """The cells of one run of the matrix, by name."""

    def __init__(self, result: dict):
        self.metric: str = result["metric"]
        self.cells = {(cell["work"], cell["transport"], cell["connections"], cell["server"]): cell
                      for cell in result["cells"]}

    def cell(self, work: str, transport: str, connections: int, server: str) -> dict | None:
        return self.cells.get((work, transport, connections, server))

    def failed(self, *key) -> str | None:
        """A cell in which any round failed has no figure."""
        cell = self.cell(*key)
        return cell["error"] if cell else None

    def median(self, key: tuple, value: str) -> float | None:
        cell = self.cell(*key)
        if not cell or cell["error"] or not cell["rounds"]:
            return None
        values = [each[value] for each in cell["rounds"] if value in each]
        return statistics.median(values) if values else None

    def cost(self, *key) -> float | None:
        """Cycles, or nanoseconds of processor time where nothing counts cycles."""
        return self.median(key, self.metric)

    def reference(self, work: str, transport: str, connections: int) -> str | None:
        costs = {name: self.cost(work, transport, connections, name) for name in works.work(work).references}
        there = {name: cost for name, cost in costs.items() if cost}
        return min(there, key=there.get) if there else None

    def ratio(self, work: str, transport: str, connections: int, server: str, reference: str | None = None,
              value: str | None = None) -> Ratio | None:
        reference = reference or self.reference(work, transport, connections)
        value = value or self.metric
        if not reference:
            return None
        above, below = self.cell(work, transport, connections, server), self.cell(work, transport, connections, reference)
        if not above or not below or above["error"] or below["error"]:
            return None
        values = [a[value] / b[value] for a, b in zip(above["rounds"], below["rounds"]) if b[value]]
        if not values:
            return None
        return Ratio(statistics.median(values), min(values), max(values), reference)
