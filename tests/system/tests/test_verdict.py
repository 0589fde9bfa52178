"""Tests of failures: a broken invariant fails both forms of a test, a late time only the measuring form."""

from __future__ import annotations

import contextlib
import io
import json
import os
import pathlib
import tempfile
import unittest
from unittest import mock

from ..verdict import Verdict


class Finish(unittest.TestCase):
    def finish(self, judges_times: bool, *, lost: bool, late: bool) -> tuple[int, str]:
        """The exit code and the last line of a test that lost something, or was late."""
        verdict = Verdict("test")
        verdict.judges_times = judges_times
        with contextlib.redirect_stdout(io.StringIO()) as output, self.assertRaises(SystemExit) as ended:
            verdict.figure("3 requests")
            verdict.check(not lost, "1 is lost")
            verdict.compare_time(True, "never")
            verdict.compare_time(not late, "it took 9 s")
            verdict.finish()
        return ended.exception.code, output.getvalue().splitlines()[-1]

    def test_late_times_are_counted_and_pass_the_gate(self) -> None:
        self.assertEqual(self.finish(False, lost=False, late=True),
                         (0, "test: PASSED in 0 s: 2 times measured, 1 late; 3 requests"))
        self.assertEqual(self.finish(False, lost=False, late=False),
                         (0, "test: PASSED in 0 s: 2 times measured, 0 late; 3 requests"))

    def test_late_times_fail_the_measuring_form(self) -> None:
        self.assertEqual(self.finish(True, lost=False, late=True), (1, "test: FAILED in 0 s: 1 missed; it took 9 s"))
        self.assertEqual(self.finish(True, lost=False, late=False)[0], 0)

    def test_broken_invariants_fail_both_forms(self) -> None:
        for judges_times in (False, True):
            self.assertEqual(self.finish(judges_times, lost=True, late=False), (1, "test: FAILED in 0 s: 1 missed; 1 is lost"))

    def test_the_record_has_late_times_and_misses_apart(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "record")
            with mock.patch.dict(os.environ, SEROW_RECORD=str(path)):
                self.finish(True, lost=True, late=True)
            found = json.loads(path.read_text())
        self.assertEqual(found.pop("seconds"), 0.0)
        self.assertEqual(found, {"test": "test", "times": 2, "late": ["it took 9 s"], "misses": ["1 is lost"],
                                 "figures": ["3 requests"]})


if __name__ == "__main__":
    unittest.main()
