"""Whether two servers answer alike, and which is faster."""

import unittest

from runner import real, sites, visitor
from runner.process import Broken

# As Sinatra's, Mojolicious's and Django's forms have them.
FORMS = {
    '<input type="hidden" name="authenticity_token" value="a+/=">': {"authenticity_token": "a+/="},
    '<input name="csrf_token" type="hidden" value="0f">': {"csrf_token": "0f"},
    '<input type="hidden" name="csrfmiddlewaretoken" value="Zz9">': {"csrfmiddlewaretoken": "Zz9"},
}
TOLD = {"summary": {"requests": 2000, "requests_per_second": 400.0}, "latency": {"p50_us": 40_000.0, "p99_us": 90_000.0}}


def answer(body: str, status: int = 200, location: str = "") -> visitor.Answer:
    return visitor.Answer("/", status, {"Content-Type": "text/html", "Location": location}, body)


def rounds(*speeds: float) -> list[real.Figures]:
    return [real.Figures(speed, 1e9 / speed, 16e6 / speed, 32e6 / speed) for speed in speeds]


class Alike(unittest.TestCase):
    def test_tokens_are_found_and_left_out(self):
        for field, expected in FORMS.items():
            self.assertEqual(visitor.token(f"<p>a</p>{field}<p>b</p>"), expected)
            self.assertEqual(visitor.without_tokens(f"<p>a</p>{field}<p>b</p>").count("<p>"), 2)
            self.assertNotIn(next(iter(expected.values())), visitor.without_tokens(field))

    def test_a_form_without_a_token_is_none_to_measure(self):
        with self.assertRaises(Broken):
            visitor.token('<input type="hidden" name="page" value="1">')

    def test_only_tokens_may_differ(self):
        field = next(iter(FORMS))
        one, two = answer(f"<p>a</p>\n{field}"), answer(f"<p>a</p>\n{field.replace('a+', 'b+')}")
        self.assertIsNone(visitor.difference([one], [two]))

    def test_differences_are_reported(self):
        one = answer("a\nb")
        for other, told in ((answer("a\nc"), "'b' and 'c'"), (answer("a\nb\nc"), "None and 'c'"), (answer("a"), "'b' and None"),
                            (answer("a\nb", 500), "status"), (answer("a\nb", location="/"), "fields")):
            self.assertIn(told, visitor.difference([one], [other]))

    def test_as_many_answers_as_expected(self):
        with self.assertRaises(ValueError):
            visitor.difference([answer("a")], [])


class Faster(unittest.TestCase):
    def test_in_more_rounds_than_not(self):
        for ratios, expected in (([0.98, 1.01, 1.3], "faster"), ([0.8, 1.0, 1.3], "**not faster**"), ([0.9, 0.99], "**not faster**")):
            self.assertEqual(real.verdict(ratios), expected)

    def test_figures_are_those_of_the_load_and_of_all_processes(self):
        self.assertEqual(real.figures(TOLD, 4_000_000_000), real.Figures(400.0, 2e6, 40_000.0, 90_000.0))

    def test_ratios_are_taken_within_a_round(self):
        ours, theirs = real.rows("notes", {None: rounds(1100, 550, 1210), "Puma": rounds(1000, 500, 1100)})
        self.assertEqual(ours, ["notes", "**Serow**", "1,100", "909", "14.5", "29.1", "", "", ""])
        self.assertEqual(theirs, ["", "nginx + Puma", "1,000", "1,000", "16.0", "32.0", "1.10 (1.10–1.10)", "0.91 (0.91–0.91)", "faster"])

    def test_a_server_that_failed_has_no_row_and_no_ratio(self):
        self.assertEqual([row[1] for row in real.rows("notes", {None: rounds(1000)})], ["**Serow**"])
        alone = real.rows("notes", {"Puma": rounds(1000)})
        self.assertEqual([row[-1] for row in alone], [""])


class Sites(unittest.TestCase):
    def test_all_that_a_site_names_is_there(self):
        for site in sites.SITES:
            self.assertTrue((site.folder / site.seed[-1]).exists(), site.name)
            self.assertIn(site.form.page.split("?")[0], [target for _, target in site.pages])


if __name__ == "__main__":
    unittest.main()
