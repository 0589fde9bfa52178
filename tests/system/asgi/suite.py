"""Daphne's suite: where it comes from, and what has to stand in the place of Daphne itself for it."""

from __future__ import annotations

import contextlib
import os
import pathlib
import subprocess
import sys
import tarfile
import tempfile
import types
import unittest
from collections.abc import Iterator

from ..server import target
from . import client, instances
from .servers import Servers

# Hypothesis writes what it works out once for all, by default where it is started.
os.environ.setdefault("HYPOTHESIS_STORAGE_DIRECTORY", str(target() / "suites/hypothesis"))

import hypothesis

HERE = pathlib.Path(__file__).parent
MODULES = ("test_http_request", "test_http_response", "test_websocket")
# Of what hypothesis makes up for one case; Daphne's own number is 5 or 2, each with a server of its own.
EXAMPLES = {False: 20, True: 200}
# RFC 9110 §5.5: obs-text is allowed, though not liked.
OBS_TEXT = b"\x85"


class Unavailable(Exception):
    """The suite cannot be had."""


def fetch() -> pathlib.Path:
    """The folder of the suite, which is fetched if it is not there yet."""
    requirement = (HERE / "requirements.txt").read_text().split()[0]
    folder = target() / "suites" / requirement.replace("==", "-")
    if folder.exists():
        return folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent) as place:
        command = ["python3", "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary=daphne", "--require-hashes",
                   f"--requirement={HERE / 'requirements.txt'}", f"--dest={place}"]
        fetched = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if fetched.returncode != 0:
            raise Unavailable(f"{requirement} cannot be fetched: {' '.join(command)}: {fetched.stdout.strip()[-300:]}")
        with tarfile.open(next(pathlib.Path(place).glob("*.tar.gz"))) as archive:
            archive.extractall(place)
        (pathlib.Path(place) / folder.name).rename(folder)
    return folder


def load(folder: pathlib.Path, servers: Servers, *, at_random: bool) -> dict[str, unittest.TestCase]:
    """The cases by name. What they import of Daphne is ours."""
    instances.SERVERS = servers
    sys.modules["daphne"] = types.ModuleType("daphne")
    sys.modules["daphne.testing"] = instances
    sys.path.insert(0, str(folder / "tests"))
    import http_base
    import http_strategies

    http_base.HTTPConnection = client.Connection
    # Its target is a host with a port (RFC 9112 §3.2.3), and the suite has a path for all methods.
    http_strategies.HTTP_METHODS.remove("CONNECT")
    with making_up(EXAMPLES[at_random], at_random):
        modules = [__import__(name) for name in MODULES]
    injection = modules[-1].TestHeaderValueInjection
    injection.INVALID_BYTES = tuple(byte for byte in injection.INVALID_BYTES if byte != OBS_TEXT)
    loader = unittest.TestLoader()
    return {".".join(case.id().split(".")[-3:]): case
            for module in modules for group in loader.loadTestsFromModule(module) for case in group}


@contextlib.contextmanager
def making_up(examples: int, at_random: bool) -> Iterator[None]:
    """Has cases that are defined meanwhile made up of as many examples, always the same ones unless they are to be random."""
    settings = hypothesis.settings
    hypothesis.settings = lambda max_examples, deadline: settings(
        max_examples=examples, deadline=None, derandomize=not at_random, database=None)
    yield
    hypothesis.settings = settings
