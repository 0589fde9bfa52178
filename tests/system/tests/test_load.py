"""Tests of the expected waits during a stall, by a queue that is played through."""

from __future__ import annotations

import unittest

from system.load.stall import expected


def played(seconds: float, stall: float, rate: int, capacity: float, share: float) -> float:
    """The wait that this share of the requests exceeds, where the server stands still from the first second on."""
    free, waited = 0.0, []
    for number in range(int(seconds * rate)):
        due = number / rate
        begins = max(due, free)
        if 1.0 <= begins < 1.0 + stall:
            begins = 1.0 + stall
        free = begins + 1 / capacity
        waited.append(free - due)
    return sorted(waited)[int((1 - share) * len(waited))]


class Stall(unittest.TestCase):
    def test_percentiles_are_between_those_of_a_server_with_twice_the_rate_and_of_any(self) -> None:
        for seconds, stall in ((3.0, 1.0), (10.0, 1.0), (4.0, 0.5)):
            for share in (0.10, 0.05, 0.01):
                least, most = expected(share, seconds, stall)
                for capacity in (2000, 4000, 1_000_000):
                    found = played(seconds, stall, 1000, capacity, share)
                    self.assertTrue(least - 0.005 <= found <= most + 0.005, f"{seconds} {stall} {share} {capacity}: {found}")
                # Both bounds are reached, so that neither is looser than it must be.
                self.assertAlmostEqual(least, played(seconds, stall, 1000, 1_000_000, share), delta=0.005)
                self.assertAlmostEqual(most, played(seconds, stall, 1000, 2000, share), delta=0.005)


if __name__ == "__main__":
    unittest.main()
