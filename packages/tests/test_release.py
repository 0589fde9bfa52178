"""Versions, and the files that a release changes."""

from __future__ import annotations

import datetime
import unittest

from channels import release
from channels.error import ChannelError

MANIFEST = """[workspace.package]
version = "0.1.0"

[workspace.dependencies]
serow = { path = "crates/server", version = "0.1.0" }
serow-http1 = { path = "crates/http1", default-features = false, version = "0.1.0" }
other = { version = "0.1.0" }
"""
LOCK = """[[package]]
name = "other"
version = "0.1.0"
source = "registry"

[[package]]
name = "serow-http1"
version = "0.1.0"
dependencies = ["other"]
"""
CHANGELOG = """# Changelog

## [Unreleased]

### Added

- A feature.

## [0.1.0] - 2026-01-01

- The first release.
"""
DATE = datetime.date(2026, 3, 4)


class Versions(unittest.TestCase):
    def test_versions_are_ordered_as_semantic_versioning_orders_them(self) -> None:
        versions = ["1.0.0-alpha", "1.0.0-alpha.1", "1.0.0-alpha.beta", "1.0.0-beta.2", "1.0.0-beta.11", "1.0.0-rc.1",
                    "1.0.0", "1.0.10", "1.2.0", "2.0.0-rc.1"]
        self.assertEqual(sorted(reversed(versions), key=release.order), versions)

    def test_malformed_versions_are_refused(self) -> None:
        for version in ("1.2", "v1.2.3", "1.2.3.4", "01.2.3", "1.2.3-", "1.2.3-01", "1.2.3+build", "1.2.3 ", ""):
            with self.assertRaisesRegex(ChannelError, "is not a version", msg=version):
                release.check(version)

    def test_versions_before_the_last_are_refused(self) -> None:
        with self.assertRaisesRegex(ChannelError, "0.0.1 is not greater than"):
            release.check("0.0.1")


class Files(unittest.TestCase):
    def test_the_manifest_receives_the_version_of_own_crates_only(self) -> None:
        changed = release.manifest(MANIFEST, "0.1.0", "0.2.0")
        self.assertEqual(changed.count('"0.2.0"'), 3)
        self.assertIn('other = { version = "0.1.0" }', changed)

    def test_a_crate_with_another_version_is_reported(self) -> None:
        with self.assertRaisesRegex(ChannelError, "everywhere: serow$"):
            late = MANIFEST.replace('server", version = "0.1.0"', 'server", version = "0.0.9"')
            release.manifest(late, "0.1.0", "0.2.0")

    def test_the_lock_file_receives_the_version_of_own_crates_only(self) -> None:
        expected = LOCK.replace('http1"\nversion = "0.1.0', 'http1"\nversion = "0.2.0')
        self.assertEqual(release.lock(LOCK, "0.1.0", "0.2.0"), expected)

    def test_unreleased_changes_become_those_of_the_version(self) -> None:
        changed = release.changelog(CHANGELOG, "0.2.0", DATE)
        self.assertIn("## [Unreleased]\n\n## [0.2.0] - 2026-03-04\n\n### Added\n", changed)

    def test_a_changelog_without_changes_is_refused(self) -> None:
        for text in (CHANGELOG.replace("### Added\n\n- A feature.\n\n", ""), "# Changelog\n"):
            with self.assertRaises(ChannelError):
                release.changelog(text, "0.2.0", DATE)


if __name__ == "__main__":
    unittest.main()
