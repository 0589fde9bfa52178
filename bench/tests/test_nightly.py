"""Which tests bench/nightly runs, what it adds to the series, and what its table shows."""

import ast
import contextlib
import importlib.machinery
import importlib.util
import io
import json
import pathlib
import sys
import tempfile
import unittest
from unittest import mock

from runner import machine

TESTS = machine.ROOT / "tests"
# They import modules that compare times, and use other things in them.
IMPORTING = {"apps", "http3-clients"}


def loaded():
    loader = importlib.machinery.SourceFileLoader("nightly", str(machine.BENCH / "nightly"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    sys.dont_write_bytecode = True
    # dataclasses look their module up.
    sys.modules[loader.name] = module
    loader.exec_module(module)
    return module


NIGHTLY = loaded()
FAKE = """#!/usr/bin/env python3
import json, os, sys
if "--fails" in sys.argv:
    sys.exit(3)
late = ["it took 9 s"] if "--late" in sys.argv else []
found = {"test": "fake", "seconds": 1.5, "times": 2, "late": late, "misses": [], "figures": ["9 s"]}
with open(os.environ["SEROW_RECORD"], "a") as file:
    print(json.dumps(found), file=file)
sys.exit(len(late))
"""


def modules(path: pathlib.Path, seen: set[pathlib.Path]) -> set[pathlib.Path]:
    """The file of a test, and those of the modules that it imports, and they."""
    if path in seen:
        return seen
    seen.add(path)
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom):
            folder = path.parents[node.level - 1] if node.level else TESTS
            place = folder.joinpath(*(node.module or "").split("."))
            for found in (place.with_suffix(".py"), *(place / f"{name.name}.py" for name in node.names)):
                if found.is_file():
                    modules(found, seen)
    return seen


class Tests(unittest.TestCase):
    def test_all_tests_that_compare_times_are_measured(self):
        comparing = {path.name for path in TESTS.iterdir() if path.is_file() and path.read_bytes().startswith(b"#!/usr/bin/env python3")
                     and any(".compare_time(" in module.read_text() for module in modules(path, set()))}
        self.assertEqual(comparing - IMPORTING, {name.split()[0] for name in NIGHTLY.MEASURED})


class Run(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        for name, text in (("fake", FAKE), ("install", "#!/bin/sh\n")):
            (self.folder / name).write_text(text)
            (self.folder / name).chmod(0o755)
        self.series = self.folder / "results/nightly.jsonl"
        for what in (mock.patch.object(NIGHTLY, "TESTS", self.folder), mock.patch.object(NIGHTLY.store, "FOLDER", self.folder),
                     mock.patch.object(NIGHTLY.machine, "raise_open_files")):
            what.start()
            self.addCleanup(what.stop)

    def run_all(self, *names: str) -> dict[str, str]:
        with contextlib.redirect_stdout(io.StringIO()):
            return NIGHTLY.run_all(list(names), self.series, True)

    def test_each_run_adds_a_line_to_the_series(self):
        self.assertEqual(self.run_all("fake", "fake --late"), {})
        self.assertEqual(self.run_all("fake"), {})
        found = [json.loads(line) for line in self.series.read_text().splitlines()]
        self.assertEqual([(each["test"], each["late"]) for each in found],
                         [("fake", []), ("fake --late", ["it took 9 s"]), ("fake", [])])
        self.assertEqual(set(found[0]), {"date", "commit", "processor", "test", "seconds", "times", "late", "misses", "figures"})

    def test_a_test_without_a_verdict_could_not_run(self):
        unable = self.run_all("fake --fails", "fake")
        self.assertEqual(list(unable), ["fake --fails"])
        self.assertIn("it ended with 3", unable["fake --fails"])
        self.assertEqual(len(self.series.read_text().splitlines()), 1)

    def fuzz(self, script: str) -> tuple[dict[str, str], list[dict]]:
        command = self.folder / "fuzz-run"
        command.write_text(f"#!/bin/sh\n{script}\n")
        command.chmod(0o755)
        with mock.patch.object(NIGHTLY, "FUZZ_COMMAND", command):
            unable = self.run_all("fuzz")
        return unable, [json.loads(line) for line in self.series.read_text().splitlines()] if self.series.exists() else []

    def test_findings_of_the_fuzzers_are_misses(self):
        done, finding = "chunked: Done 1234 runs in 61 second(s)", "frames: FINDING. To see it again: fuzz/target/frames"
        unable, found = self.fuzz(f"[ $1 = {NIGHTLY.FUZZ_SECONDS} ] || exit 2; echo '{done}'; echo '{finding}'; exit 1")
        self.assertEqual(unable, {})
        self.assertEqual([(each["test"], each["misses"], each["figures"]) for each in found], [("fuzz", [finding], [done])])

    def test_fuzzers_that_cannot_be_built_could_not_run(self):
        unable, found = self.fuzz("echo 'error: could not compile'; exit 101")
        self.assertIn("it ended with 101", unable["fuzz"])
        self.assertEqual(found, [])

    def test_the_table_has_the_run_before_of_the_same_processor(self):
        def result(day: int, processor: str, *late: str):
            return NIGHTLY.Result(f"2026-12-0{day}T01:00:00", "abc", processor, "idle", 20.0, 3, list(late), [], [])

        shown = NIGHTLY.table(["idle", "slow"], [result(1, "one", "x"), result(2, "other"), result(3, "one", "y", "z")],
                              {"slow": "it lacks programs"})
        self.assertIn("| idle | 20 | 3 | 2: y | 0 | 2026-12-01, abc: 1 late, 0 other misses |", shown)
        self.assertIn("| slow | – | – | could not run | it lacks programs | – |", shown)


if __name__ == "__main__":
    unittest.main()
