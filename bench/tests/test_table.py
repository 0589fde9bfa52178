"""The rows of bench/table, its ratios and targets, and what its load generator prints."""

import unittest

from runner import comparison, generators, load, rows


def result(name: str, **figures: list[float]) -> comparison.Result:
    row = next(row for row in rows.ROWS if row.name == name)
    return comparison.Result(row, figures)


def report(**changes) -> dict:
    errors = {"connect": 0, "read": 0, "write": 0, "timeout": 0, "protocol": 0, "status": 0}
    return {"errors": errors, "statuses": {"200": 1000}, "summary": {"bytes": 200_000}} | changes


class Rows(unittest.TestCase):
    def test_names_are_unique(self):
        names = [row.name for row in rows.ROWS]
        self.assertEqual(len(names), len(set(names)))

    def test_targets_compare_with_servers_of_the_row(self):
        for row in rows.ROWS:
            for target in row.targets:
                self.assertLessEqual(set(target.peers), set(row.peers), row.name)

    def test_loads_exist(self):
        for row in rows.ROWS:
            self.assertTrue(row.load == "idle" or hasattr(generators.Generators, f"send_{row.load}"), row.name)


class Ratios(unittest.TestCase):
    def test_the_cheapest_peer_counts_and_ratios_are_taken_within_rounds(self):
        found = result("h3-10k", Serow=[2000.0, 4000.0], nginx=[2500.0, 5000.0], h2o=[9000.0, 9000.0])
        self.assertEqual(found.against("Serow", found.row.targets[0]), ("nginx", 0.8))

    def test_a_server_that_failed_in_a_round_does_not_count(self):
        found = result("h3-10k", Serow=[2000.0], nginx=[1000.0], h2o=[4000.0])
        found.errors["nginx"] = "2 read errors"
        self.assertEqual(found.against("Serow", found.row.targets[0]), ("h2o", 0.5))
        self.assertIn("2 read errors", comparison.plain(found))

    def test_without_peers_there_is_no_ratio(self):
        found = result("h3-10k", Serow=[2000.0])
        self.assertIsNone(found.against("Serow", found.row.targets[0]))
        self.assertEqual(comparison.line(found)[-2:], ["–", "≤ 0.65, untrained ≤ 0.80"])

    def test_two_builds_are_compared_with_the_first(self):
        found = result("h3-10k", **{"Serow": [2000.0, 2000.0], "Serow 2": [1000.0, 3000.0]})
        self.assertEqual(found.ours, ["Serow", "Serow 2"])
        self.assertIn("1.000 (0.50–1.50) Serow 2 : Serow", comparison.plain(found))

    def test_a_limit_stands_beside_the_peers_and_targets_name_it(self):
        found = result("proxy", Serow=[2200.0], nginx=[4400.0], haproxy=[4000.0], epoll=[2000.0])
        cells = comparison.line(found)
        self.assertEqual(cells[2:], ["nginx 4.40, HAProxy 4.00", "C, epoll 2.00", "0.55; 1.10", "≤ 0.75; ≤ 1.15 × C"])

    def test_a_missed_target_is_bold(self):
        self.assertEqual(comparison.verdict(0.81, 0.80), "**missed**")
        found = result("cache", Serow=[950.0], nginx=[1000.0])
        self.assertEqual(comparison.line(found)[-2], "**0.95**")


    def test_a_build_without_training_may_have_a_target_of_its_own(self):
        found = result("h3-10k", Serow=[700.0], trained=[700.0], h2o=[1000.0])
        self.assertEqual(comparison.line(found)[-2], "0.70 / **0.70**")

    def test_a_target_may_be_a_figure(self):
        found = result("idle", Serow=[21 * 1024.0], trained=[20 * 1024.0], nginx=[100 * 1024.0])
        expected = ["memory of an idle HTTP/3 connection, in KB", "**21.0**", "20.0", "nginx 100", "–", "–", "≤ 20 KB"]
        self.assertEqual(comparison.line(found), expected)


class Judging(unittest.TestCase):
    def test_whole_responses(self):
        generators.judge(report(), 1000, 151)

    def test_an_error_is_no_figure(self):
        with self.assertRaisesRegex(load.Failed, "'read': 1"):
            generators.judge(report(errors={"read": 1}), 1000, 151)

    def test_another_status_is_no_figure(self):
        with self.assertRaisesRegex(load.Failed, "404"):
            generators.judge(report(statuses={"200": 999, "404": 1}), 1000, 151)

    def test_missing_and_additional_bytes_are_no_figure(self):
        for received in (150_999, 2_000_000):
            with self.assertRaisesRegex(load.Failed, f"{received} bytes"):
                generators.judge(report(summary={"bytes": received}), 1000, 151)
