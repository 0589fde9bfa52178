"""The figures of alternating rounds, as they stand in a table."""

from __future__ import annotations

import statistics


def microseconds(times: list[float]) -> str:
    """The median of nanoseconds."""
    return f"{statistics.median(times) / 1000:.2f}"


def ratio(ours: list[float], theirs: list[float]) -> str:
    """The median of the ratios within each round, and their range."""
    ratios = [one / other for one, other in zip(ours, theirs)]
    return f"{statistics.median(ratios):.2f} ({min(ratios):.2f}–{max(ratios):.2f})"
