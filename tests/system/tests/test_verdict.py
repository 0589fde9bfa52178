"""What is looked at again, and what is missed in the end."""

from __future__ import annotations

import contextlib
import io
import unittest

from ..verdict import Verdict


class LookTwice(unittest.TestCase):
    def missed(self, found: list[bool], looks: int) -> tuple[list[str], int]:
        """The misses, and how often it ran, of something that is in time as the list says."""
        pauses: list[float] = []
        verdict, runs = Verdict("test", pauses.append), 0

        def run() -> None:
            nonlocal runs
            verdict.check_in_time(found[runs], f"run {runs}")
            runs += 1

        with contextlib.redirect_stdout(io.StringIO()):
            verdict.look_again(run, looks)
        self.assertEqual(len(pauses), runs - 1)
        return verdict.misses, runs

    def test_what_is_late_once_is_looked_at_again(self) -> None:
        self.assertEqual(self.missed([True], 2), ([], 1))
        self.assertEqual(self.missed([False, True], 2), ([], 2))
        self.assertEqual(self.missed([False, False], 2), (["run 1"], 2))
        self.assertEqual(self.missed([False], 1), (["run 0"], 1))

    def test_other_misses_count_at_once(self) -> None:
        verdict = Verdict("test")
        with contextlib.redirect_stdout(io.StringIO()):
            verdict.look_again(lambda: verdict.check(False, "gone"), 2)
        self.assertEqual(verdict.misses, ["gone"])
