"""Daphne's suite: what stands in the place of Daphne itself for it, and its cases."""

from __future__ import annotations

import contextlib
import functools
import os
import pathlib
import sys
import types
import unittest
from collections.abc import Callable, Iterator

from ..server import target
from . import client, instances
from .servers import Servers

# Hypothesis writes what it works out once for all, by default where it is started.
os.environ.setdefault("HYPOTHESIS_STORAGE_DIRECTORY", str(target() / "suites/hypothesis"))

import hypothesis

MODULES = ("test_http_request", "test_http_response", "test_websocket")
# Of what hypothesis makes up for one case; Daphne's own number is 5 or 2, each with a server of its own.
EXAMPLES = {False: 20, True: 200}
SECONDS = 10.0
# RFC 9110 §5.5: obs-text is allowed, though not liked.
OBS_TEXT = b"\x85"


def load(folder: pathlib.Path, servers: Servers, *, at_random: bool) -> dict[str, Callable[[], list[str]]]:
    """The cases by name; each returns its failures. The modules that they import from Daphne are ours."""
    instances.SERVERS = servers
    sys.modules["daphne"] = types.ModuleType("daphne")
    sys.modules["daphne.testing"] = instances
    sys.path.insert(0, str(folder / "tests"))
    import http_base
    import http_strategies

    http_base.HTTPConnection = client.Connection
    give_time(http_base.DaphneTestCase)
    # Its target is a host with a port (RFC 9112 §3.2.3), and the suite has a path for all methods.
    http_strategies.HTTP_METHODS.remove("CONNECT")
    with making_up(EXAMPLES[at_random], at_random):
        modules = [__import__(name) for name in MODULES]
    injection = modules[-1].TestHeaderValueInjection
    injection.INVALID_BYTES = tuple(byte for byte in injection.INVALID_BYTES if byte != OBS_TEXT)
    loader = unittest.TestLoader()
    cases = [case for module in modules for group in loader.loadTestsFromModule(module) for case in group]
    return {f"daphne.{case.id()}": lambda case=case: run(case) for case in cases}


def run(case: unittest.TestCase) -> list[str]:
    result = unittest.TestResult()
    case.run(result)
    return [text for _, text in (*result.failures, *result.errors)]


def give_time(case: type) -> None:
    """A busy machine may take longer for an answer than the second that the suite waits for one."""
    for name in ("run_daphne_http", "run_daphne_raw", "websocket_handshake", "receive_from_socket"):
        setattr(case, name, functools.partialmethod(getattr(case, name), timeout=SECONDS))


@contextlib.contextmanager
def making_up(examples: int, at_random: bool) -> Iterator[None]:
    """Has cases that are defined meanwhile made up of as many examples, always the same ones unless they are to be random."""
    settings = hypothesis.settings
    hypothesis.settings = lambda max_examples, deadline: settings(
        max_examples=examples, deadline=None, derandomize=not at_random, database=None)
    yield
    hypothesis.settings = settings
