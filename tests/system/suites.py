"""Data of other projects' suites, which is not a part of this one: `SEROW_SUITES` names the folder that holds it."""

from __future__ import annotations

import os
import pathlib

from .server import REPOSITORY
from .verdict import Verdict


def find(name: str, verdict: Verdict) -> pathlib.Path | None:
    """Where it is. Where it is not, that is said, and what does not need it is tested."""
    path = pathlib.Path(os.environ.get("SEROW_SUITES", REPOSITORY / "../shared/suites"), name)
    if path.exists():
        return path
    verdict.figure(f"NOT RUN: {path} is not there; SEROW_SUITES names its folder")
    return None


def seeds_of_our_own(target: str) -> list[bytes]:
    """Those of a fuzz target in fuzz/seeds."""
    return [path.read_bytes() for path in sorted((REPOSITORY / "fuzz/seeds" / target).iterdir())]
