"""Tests of names in packages of languages and in recipes, without a build: versions, archives, platforms, fields."""

from __future__ import annotations

import json
import pathlib
import struct
import tempfile
import tomllib
import unittest
from unittest import mock

from channels import elf, node, perl, project, python, recipes, rust
from channels.binaries import TARGETS
from channels.error import ChannelError


class Names(unittest.TestCase):
    def test_cargo_binstall_takes_the_static_archives(self) -> None:
        for target in TARGETS:
            self.assertTrue(rust.require_archive(target).startswith(f"serow-{project.version()}-linux-"))

    def test_a_field_that_cargo_binstall_does_not_know_is_reported(self) -> None:
        with self.assertRaisesRegex(ChannelError, "unknown field"):
            rust.render("serow-{ verson }.tar.gz", TARGETS[0])

    def test_every_published_crate_has_the_fields_of_the_registry(self) -> None:
        names = rust.published()
        self.assertIn("serow-cli", names)
        self.assertNotIn("serow-netlab", names)
        packages = [package for package in rust.workspace() if package["name"] in names]
        for package in packages:
            rust.require_metadata(package)
        with self.assertRaisesRegex(ChannelError, "write keywords"):
            rust.require_metadata(packages[0] | {"keywords": []})

    def test_the_command_of_npm_depends_on_a_package_for_each_processor(self) -> None:
        with mock.patch("channels.documents.licences", return_value={}):
            manifest = json.loads(node.command_contents()["package.json"].data)
        self.assertEqual(manifest["optionalDependencies"],
                         {"@serow/linux-x64": project.version(), "@serow/linux-arm64": project.version()})

    def test_a_wheel_has_a_tag_for_each_platform_of_its_name(self) -> None:
        tags = [line for line in python.tags(TARGETS[0]).decode().splitlines() if line.startswith("Tag: ")]
        platforms = ("manylinux_2_17", "manylinux2014", "musllinux_1_1")
        self.assertEqual(tags, [f"Tag: py3-none-{name}_x86_64" for name in platforms])

    def test_a_pre_release_for_perl_has_a_version_of_numbers_and_is_not_indexed(self) -> None:
        with mock.patch("channels.project.version", return_value="1.2.3-rc.1"):
            self.assertEqual((perl.numbers(), perl.distribution_name()), ("1.2.3", "Plack-Handler-Serow-1.2.3-TRIAL"))

    def test_all_packages_have_the_summary_and_homepage_of_the_project(self) -> None:
        wheel = tomllib.loads((python.SOURCES / "pyproject.toml").read_text())["project"]
        npm = json.loads((node.SOURCES / "package.json").read_text())
        gem = (project.SOURCES / "rack/serow.gemspec").read_text()
        self.assertEqual((wheel["description"], wheel["urls"]["Homepage"]), (project.SUMMARY, project.HOMEPAGE))
        self.assertEqual((npm["description"], npm["homepage"]), (project.SUMMARY, project.HOMEPAGE))
        self.assertIn(f"gem.summary = '{project.SUMMARY}'", gem)
        self.assertIn(f"gem.homepage = '{project.HOMEPAGE}'", gem)


class Recipes(unittest.TestCase):
    def test_the_golden_files_are_what_the_templates_give(self) -> None:
        recipes.require_golden()

    def test_a_text_that_a_recipe_cannot_quote_is_reported(self) -> None:
        with mock.patch("channels.project.SUMMARY", 'a "server"'), self.assertRaisesRegex(ChannelError, "SUMMARY"):
            recipes.golden()

    def test_an_unknown_field_of_a_template_is_reported(self) -> None:
        with self.assertRaisesRegex(ChannelError, "unknown field @VERSON@"):
            recipes.value_of(pathlib.Path("PKGBUILD.in"), "VERSON", {"VERSION": "1.0.0"})


class Programs(unittest.TestCase):
    def program(self, processor: int, header: int) -> pathlib.Path:
        """A file with an ELF header for a processor, and one program header of a type."""
        start = struct.pack("<6s12xH12xQ14xHH6x", elf.IDENTIFICATION, processor, 64, 56, 1)
        path = pathlib.Path(self.folder.name) / "serow"
        path.write_bytes(start.ljust(64, b"\0") + struct.pack("<I52x", header))
        return path

    def setUp(self) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def test_a_static_program_for_the_processor_is_accepted(self) -> None:
        elf.require_static(self.program(62, 1), TARGETS[0])

    def test_programs_with_a_loader_or_for_another_processor_are_reported(self) -> None:
        for processor, header, message in ((62, 3, "linked dynamically"), (183, 1, "another processor")):
            with self.assertRaisesRegex(ChannelError, message):
                elf.require_static(self.program(processor, header), TARGETS[0])


if __name__ == "__main__":
    unittest.main()
