"""The scripts for contributors: their help, and what they do where programs are missing."""

from __future__ import annotations

import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

REPOSITORY = pathlib.Path(__file__).resolve().parents[3]
INSTALL = REPOSITORY / "tests/install"
# Parts of tests, of CI and of packages, which nobody runs by hand.
PARTS = ("crates/", "tests/system/", ".ci/", "packages/rack/", "packages/plack/", "packages/python/", "packages/node/")
# Programs that the scripts themselves run.
TOOLS = ("bash", "cat", "dirname", "id", "mktemp", "rm", "sed", "sort", "tr", "uniq")


def executables() -> list[str]:
    listed = subprocess.run(["git", "ls-files", "--stage"], cwd=REPOSITORY, capture_output=True, text=True, check=True).stdout
    paths = re.findall(r"^100755 .*\t(.+)$", listed, re.MULTILINE)
    return [path for path in paths if not path.startswith(PARTS)]


class Help(unittest.TestCase):
    def test_every_script_answers_help_with_its_usage(self) -> None:
        paths = executables()
        self.assertGreater(len(paths), 30)
        for path in paths:
            with self.subTest(path):
                done = subprocess.run([REPOSITORY / path, "--help"], capture_output=True, text=True, timeout=60)
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                usage = "./test" if path == "test" else path
                self.assertTrue(done.stdout.startswith(f"usage: {usage}"), done.stdout[:100])


class Missing(unittest.TestCase):
    """With a PATH that has the tools of the scripts, and what a test puts there."""

    def setUp(self) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        for name in TOOLS:
            pathlib.Path(self.folder.name, name).symlink_to(str(shutil.which(name)))

    def add(self, name: str) -> None:
        program = pathlib.Path(self.folder.name, name)
        program.write_text("#!/bin/sh\n")
        program.chmod(0o755)

    def run_script(self, *command: str | pathlib.Path, **variables: str) -> subprocess.CompletedProcess[str]:
        inherited = {name: value for name, value in os.environ.items() if name != "SEROW_CI"}
        environment = inherited | {"PATH": self.folder.name} | variables
        return subprocess.run(command, capture_output=True, text=True, env=environment, timeout=60)

    def test_missing_programs_are_named_with_their_package(self) -> None:
        done = self.run_script(INSTALL, "--check", "program:ruby")
        self.assertEqual((done.returncode, done.stderr), (1, "missing (Debian's package ruby)\n"))
        done = self.run_script(INSTALL, "--check", "program:ruby", "ruby:rack", "program:wrk")
        self.assertEqual((done.returncode, done.stderr),
                         (1, "install: missing: ruby ruby-rack wrk (Debian's names of the packages)\n"))

    def test_programs_in_the_path_are_not_missing(self) -> None:
        self.add("ruby")
        done = self.run_script(INSTALL, "--check", "program:ruby", "ruby:rack")
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_a_test_misses_only_what_it_needs(self) -> None:
        # None of these is in /usr/sbin, where programs are found without the PATH.
        done = self.run_script(INSTALL, "--check", "apps")
        for package, is_needed in (("unicorn", True), ("puma", True), ("openssl", False), ("wrk", False)):
            self.assertEqual(bool(re.search(rf"\b{package}\b", done.stderr)), is_needed, done.stderr)

    def test_unknown_requirements_are_mistakes(self) -> None:
        done = self.run_script(INSTALL, "--check", "ruby:no-such-library")
        self.assertEqual((done.returncode, done.stderr), (2, "install: the table in tests/install has no ruby:no-such-library\n"))

    def test_steps_without_their_programs_are_skipped_but_not_in_ci(self) -> None:
        done = self.run_script(REPOSITORY / "test", "wording")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("git python3", done.stderr)
        self.assertRegex(done.stdout, r"== wording skipped\nskipped steps: wording\n0 passed, 1 skipped, 0 failed in \d+ s\n$")
        done = self.run_script(REPOSITORY / "test", "wording", SEROW_CI="1")
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stdout, r"0 passed, 0 skipped, 1 failed in \d+ s\n$")


class Table(unittest.TestCase):
    def test_the_table_names_steps_and_tests_that_exist(self) -> None:
        table = re.search(r"<<'TABLE'\n(.*?)\nTABLE", INSTALL.read_text(), re.DOTALL)[1]
        steps = set(re.findall(r"^step_(\w+)\(\)", (REPOSITORY / "test").read_text(), re.MULTILINE))
        for line in table.splitlines():
            requirement, _, *users = line.split()
            self.assertTrue(users, requirement)
            for user in users:
                # A step, a test, or a folder with a script of its own: fuzz.
                scripts = (REPOSITORY / "tests" / user, REPOSITORY / user / "run")
                is_known = user in steps or any(script.is_file() for script in scripts)
                self.assertTrue(is_known, f"{requirement}: {user}")


if __name__ == "__main__":
    unittest.main()
