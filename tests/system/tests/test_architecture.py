"""The check of layers and of tables."""

import pathlib
import tempfile
import unittest

from ..architecture import pages
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


class Pages(unittest.TestCase):
    def test_files_and_links_that_are_not_there_are_found(self):
        with tempfile.TemporaryDirectory() as folder:
            repository = pathlib.Path(folder)
            source = repository / "crates/http1/src/head.rs"
            source.parent.mkdir(parents=True)
            source.touch()
            page = repository / "ARCHITECTURE.md"
            page.write_text("`http1/src/head.rs`, [this page](ARCHITECTURE.md#life), [elsewhere](https://example.com/a.md)")
            self.assertEqual(pages.faults(repository), [])
            page.write_text("`http1/src/tail.rs`, [another page](CONTRIBUTING.md)")
            self.assertEqual(len(pages.faults(repository)), 2)
