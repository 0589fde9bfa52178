"""Polls until a condition holds. Limits count the pauses between attempts, not the clock: a machine that stands still
meanwhile, or is busy, takes nothing off them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

# Far longer than any condition takes that comes to hold at all.
SECONDS = 30.0


def attempts(seconds: float = SECONDS, pause: float = 0.02) -> Iterator[None]:
    """Yields once per attempt, with pauses between attempts that amount to so many seconds."""
    for _ in range(max(1, round(seconds / pause))):
        yield
        time.sleep(pause)


def wait_until(is_so: Callable[[], object], seconds: float = SECONDS, pause: float = 0.02) -> bool:
    """Whether the condition held in time."""
    return any(is_so() for _ in attempts(seconds, pause)) or bool(is_so())
