"""What counts as waiting for a processor."""

from __future__ import annotations

import os
import unittest

from system.waits import Waits


class Since(unittest.TestCase):
    def test_the_thread_counts_that_waited_longest_meanwhile(self) -> None:
        before = Waits({"1": 9.0, "2": 1.0}, {"3": 1.0}, {"cpu0": 0.0, "cpu1": 5.0})
        after = Waits({"1": 9.0, "2": 1.5}, {"3": 1.25}, {"cpu0": 0.125, "cpu1": 5.0})
        self.assertEqual(after.since(before), 0.5 + 0.25 + 0.125)

    def test_a_thread_that_has_begun_counts_from_its_beginning(self) -> None:
        self.assertEqual(Waits({"1": 0.5}, {}, {}).since(Waits({}, {}, {})), 0.5)

    def test_of_this_process(self) -> None:
        waits = Waits.of(os.getpid())
        self.assertIn(str(os.getpid()), waits.server)
        self.assertIn("cpu0", waits.host)
