"""Ratios within rounds, the bars, and the document around them."""

import unittest

from runner import bars, chart, document, tables
from runner.figures import Figures

ABOUT = {"processor": "Some Processor", "cores": 2, "virtual": True, "memory_gib": 4, "kernel": "6.1.0", "system": "Debian",
         "date": "2026-01-31", "commit": "1234567", "load_average": 0.5, "versions": {"nginx": "1.22.1"}}


def each(cpu: float) -> dict:
    return {"requests": 1000, "per_second": 1e9 / cpu, "cpu": cpu, "user_share": 0.1, "client_cpu": 5000.0, "p50_us": 400.0,
            "p99_us": 900.0}


def cell(server: str, *costs: float | None, work: str = "memory") -> dict:
    rounds = [each(cost) if cost else None for cost in costs]
    return {"work": work, "transport": "tcp", "connections": 64, "server": server, "rounds": rounds,
            "error": None if all(costs) else "2 read errors"}


def matrix(*cells: dict) -> dict:
    return {"about": ABOUT, "command": "bench/run", "rounds": 3, "seconds": 2, "metric": "cpu", "load": "auto",
            "cells": list(cells)}


LIMIT = cell("epoll", 6000, 12000, 6000)
KEY = ("memory", "tcp", 64)


class Ratios(unittest.TestCase):
    def test_a_busy_round_is_busy_for_both(self):
        ratio = Figures(matrix(LIMIT, cell("serow-hello", 6600, 13200, 6600))).ratio(*KEY, "serow-hello")
        self.assertAlmostEqual(ratio.median, 1.1)
        self.assertAlmostEqual(ratio.high, 1.1)

    def test_a_cell_with_a_failed_round_has_no_figure(self):
        figures = Figures(matrix(LIMIT, cell("nginx", 8000, None, 8000)))
        self.assertIsNone(figures.cost(*KEY, "nginx"))
        self.assertIsNone(figures.ratio(*KEY, "nginx"))
        self.assertIn("failed", tables.of_matrix(matrix(LIMIT, cell("nginx", 8000, None, 8000))))

    def test_of_two_references_the_cheaper(self):
        result = matrix(cell("nginx", 300, work="file1m"), cell("nginx-nodelay", 200, work="file1m"))
        self.assertEqual(Figures(result).reference("file1m", "tcp", 64), "nginx-nodelay")


class Bars(unittest.TestCase):
    def bar(self, *cells: dict) -> bars.Bar:
        return bars.all_bars({"matrix": matrix(*cells)})[0]

    def test_met_and_missed_are_computed(self):
        self.assertTrue(self.bar(LIMIT, cell("serow-hello", 6600, 13200, 6600)).met)
        self.assertFalse(self.bar(LIMIT, cell("serow-hello", 6900, 13800, 6900)).met)

    def test_bars_without_measurements_are_neither_met_nor_missed(self):
        self.assertTrue(all(bar.met is None for bar in bars.all_bars({})))
        self.assertIsNone(self.bar(LIMIT).met)

    def test_a_failure_is_told(self):
        bar = self.bar(LIMIT, cell("serow-hello", 6600, None, 6600))
        self.assertIsNone(bar.met)
        self.assertIn("2 read errors", bar.measured)

    def test_a_call_for_the_time_misses(self):
        rows = [{"server": "serow-hello", "work": "memory", "error": None,
                 "calls": {"recvfrom": 1.0, "sendto": 1.0, "clock_gettime": 0.01}}]
        totals, clocks = bars.system_calls({"rows": rows})
        self.assertTrue(totals.met)
        self.assertFalse(clocks.met)


class Document(unittest.TestCase):
    def test_only_what_stands_between_the_markers_is_replaced(self):
        before = f"by hand\n\n{document.enclosed('bars', 'old')}\n\nalso by hand\n"
        # Not a reference to a group of a regular expression.
        content = "new \\1"
        after = document.replaced(before, "bars", content)
        self.assertEqual(after, f"by hand\n\n{document.enclosed('bars', content)}\n\nalso by hand\n")
        self.assertEqual(document.replaced(after, "bars", content), after)

    def test_a_document_without_the_markers_gets_them_at_its_end(self):
        self.assertEqual(document.replaced("by hand\n", "idle", "x"), f"by hand\n\n{document.enclosed('idle', 'x')}\n")

    def test_the_picture_shows_every_server_measured(self):
        picture = chart.draw(matrix(LIMIT, cell("serow-hello", 6600, 13200, 6600), cell("warp", 9000, 18000, 9000)))
        for name in ("C, epoll", "Serow", "Warp"):
            self.assertIn(f">{name}<", picture)


if __name__ == "__main__":
    unittest.main()
