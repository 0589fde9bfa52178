"""Libraries that a test imports: its options come first, so that `--help` needs none of them."""

from __future__ import annotations

import argparse
import pathlib
import subprocess
import sys

INSTALL = pathlib.Path(__file__).resolve().parent.parent / "install"


def options(test: str, parser: argparse.ArgumentParser) -> argparse.Namespace:
    """The options of a test; ends the program with a message where a package is missing that it needs."""
    parsed = parser.parse_args()
    if subprocess.run([INSTALL, "--check", test]).returncode != 0:
        sys.exit(1)
    return parsed
