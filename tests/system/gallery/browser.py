"""Chromium at a page of an application."""

from __future__ import annotations

import json
import subprocess
import sys

from ..server import REPOSITORY
from .visitor import Unexpected


def browse(url: str, *orders: tuple[str, str]) -> list:
    """Opens the page and follows orders: to wait until an expression of JavaScript is true, or to evaluate one."""
    lines = [json.dumps(["first", *order]) for order in (("open", url), *orders)]
    done = subprocess.run([sys.executable, "-m", "system.login.browser"], cwd=REPOSITORY / "tests", input="\n".join(lines) + "\n",
                          capture_output=True, text=True)
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    for answer in answers:
        if "error" in answer:
            raise Unexpected(f"{url} in Chromium: {answer['error'][:500]}")
    if len(answers) != len(lines):
        raise Unexpected(f"{url} in Chromium: {done.stderr[-500:]}")
    return [answer["found"] for answer in answers[1:]]
