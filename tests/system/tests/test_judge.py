"""The judge accepts what a file was, and nothing else."""

from __future__ import annotations

import time
import unittest

from system.consistency.content import Version, recognise, render
from system.consistency.history import History, Kind
from system.consistency.judge import Wrong, state_shown
from system.consistency.writer import Changing, Way

LENGTH = 70_001


class Judge(unittest.TestCase):
    def setUp(self) -> None:
        self.file = Changing(7, "file", Way.RESIZE, LENGTH, 1.0, History())
        self.now = time.monotonic()
        history = self.file.history
        for kind, length in ((Kind.FULL, LENGTH), (Kind.HALF, LENGTH // 2), (Kind.EXTENDED, LENGTH), (Kind.FULL, LENGTH)):
            if history.next():
                history.end(history.next() - 1)
            history.announce(kind, length)
        self.first, self.second = Version(7, 0, LENGTH), Version(7, 3, LENGTH)

    def shown(self, body: bytes, start: int = 0, total: int | None = None, since: float | None = None):
        return state_shown(self.file, body, start, total or len(body), self.now if since is None else since)

    def test_versions_are_recognised_anywhere(self) -> None:
        for start in (0, 1, 15, 16, 17, 40_000):
            self.assertEqual(recognise(render(self.first, start), start), self.first, start)
        self.assertEqual(render(self.first, 5, 99), render(self.first)[5:99])

    def test_each_state_is_accepted(self) -> None:
        whole, half = render(self.first), LENGTH // 2
        cases = [(whole, Kind.FULL, 0), (whole[:half], Kind.HALF, 1), (whole[:half] + bytes(LENGTH - half), Kind.EXTENDED, 2),
                 (render(self.second), Kind.FULL, 3), (whole[:4096 * 3], None, 0)]
        for body, kind, sequence in cases:
            shown = self.shown(body)
            self.assertEqual((shown.kind, shown.sequence), (kind, sequence))
        self.assertEqual(self.shown(whole[100:900], 100, LENGTH).sequence, 0)

    def test_mixtures_are_refused(self) -> None:
        one, other = render(self.first), render(self.second)
        for place in (8, 16, 4096, 65_536, LENGTH - 20):
            for body in (one[:place] + other[place:], other[:place] + one[place:]):
                with self.assertRaises(Wrong, msg=str(place)):
                    self.shown(body)
        for body in (one[:-1], one + b"x", one[:5000], other[:4096] + bytes(LENGTH - 4096), bytes(LENGTH)):
            with self.assertRaises(Wrong, msg=str(len(body))):
                self.shown(body)
        # In the right place of the wrong file, and in the wrong place of the right one.
        with self.assertRaises(Wrong):
            self.shown(render(Version(8, 0, LENGTH)))
        with self.assertRaises(Wrong):
            self.shown(one[160:960], 0, LENGTH)

    def test_versions_that_are_long_gone_are_refused(self) -> None:
        with self.assertRaises(Wrong):
            self.shown(render(self.first), since=time.monotonic() + 0.01)
        self.assertEqual(self.shown(render(self.second), since=time.monotonic() + 0.01).sequence, 3)


if __name__ == "__main__":
    unittest.main()
