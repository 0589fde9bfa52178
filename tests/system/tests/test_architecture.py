"""The check of layers and of tables."""

import unittest

from ..architecture.crates import Crate, faults, floors_of, table

LOW = Crate("http1", "serow-http1", "wire formats", "HTTP/1.1", frozenset())
HIGH = Crate("site", "serow-site", "site", "sites", frozenset({"serow-http1"}))


class Layers(unittest.TestCase):
    def test_dependencies_on_lower_layers_are_right(self):
        self.assertEqual(faults([LOW, HIGH]), [])
        self.assertEqual(floors_of([HIGH, LOW]), {"serow-http1": 1, "serow-site": 2})

    def test_dependencies_on_higher_layers_and_missing_layers_are_found(self):
        wrong = Crate("http1", "serow-http1", "wire formats", "HTTP/1.1", frozenset({"serow-site"}))
        alone = Crate("site", "serow-site", "site", "sites", frozenset())
        self.assertEqual(len(faults([wrong, alone])), 1)
        self.assertIn("crates/http1/Cargo.toml", faults([wrong, alone])[0])
        self.assertIn("needs layer", faults([Crate("new", "serow-new", "", "new", frozenset())])[0])

    def test_the_table_has_the_highest_layer_first(self):
        lines = table([LOW, HIGH]).splitlines()
        self.assertLess(lines.index("| `site` | sites | http1 |"), lines.index("| `http1` | HTTP/1.1 | – |"))
