"""The checks of layers, sizes and pages."""

import pathlib
import tempfile
import unittest

from ..architecture import pages, sizes
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


class Sizes(unittest.TestCase):
    def test_lines_of_test_modules_do_not_count(self):
        for text, expected in [
            ("//! A file.\n\nfn a() {}\n", (3, [])),
            ("fn a() {}\n\n#[cfg(test)]\nmod tests {\n    mod inner {\n    }\n}\nfn b() {}\n", (3, [])),
            ('#[cfg(all(test, target_os = "linux"))]\n#[allow(unused)]\nmod tests {\n}\n', (0, [])),
            ("mod a {\n    #[cfg(test)]\n    mod tests {\n        fn b() {\n        }\n    }\n}\n", (2, [])),
            ("#[cfg(test)]\npub(crate) mod tests;\nmod a;\n", (1, ["tests"])),
            # A function for tests stands among others, and is read with them.
            ("#[cfg(test)]\nfn a() {\n}\n", (3, [])),
        ]:
            self.assertEqual(sizes.scan(text.splitlines()), expected, text)

    def test_a_crate_above_the_limit_is_named_with_its_lines(self):
        with tempfile.TemporaryDirectory() as folder:
            repository = pathlib.Path(folder)
            for name, text in [
                ("Cargo.toml", "[package]\n"),
                ("src/lib.rs", "mod a;\nmod b;\n"),
                ("src/a.rs", "fn a() {}\n\n#[cfg(test)]\nmod tests;\n"),
                ("src/a/tests.rs", "mod cases;\n" * 10),
                ("src/a/tests/cases.rs", "\n" * 10),
                ("src/a/other.rs", "// One.\n"),
                ("tests/suite.rs", "\n" * 10),
            ]:
                file = repository / "crates/http1" / name
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(text)
            self.assertEqual(sizes.faults(repository, 5), [])
            (fault,) = sizes.faults(repository, 4)
            self.assertIn("crates/http1: 5 production lines", fault)


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
