"""The distribution for CPAN of the module Plack::Handler::Serow, which runs the program of any other channel."""

from __future__ import annotations

import pathlib
import re
import shutil
import tempfile
import time

from . import page, project
from .archive import Entry, compress, tar, write_tree
from .binaries import Binaries
from .error import ChannelError

SOURCES = project.SOURCES / "plack"
MODULE = "lib/Plack/Handler/Serow.pm"
VERSION = re.compile(r"^our \$VERSION = '.*';$", re.MULTILINE)
PSGI = b"sub { [200, [], ['%s']] };\n" % page.PAGE
# plackup's own port
PLACKUP_URL = "http://127.0.0.1:5000/"
PATH = "/usr/local/bin:/usr/bin:/bin"


def build(binaries: Binaries) -> list[pathlib.Path]:
    """The distribution, and a binary as another channel installs it, for the test."""
    output = project.output("perl")
    for old in output.glob("*"):
        old.unlink()
    name = distribution_name()
    with tempfile.TemporaryDirectory() as folder:
        entries = distribution(pathlib.Path(folder))
    path = output / f"{name}.tar.gz"
    path.write_bytes(compress(tar({f"{name}/{place}": entry for place, entry in entries.items()})))
    return [path, binaries.native()]


def numbers() -> str:
    """The version without the name of a pre-release: Perl's versions consist of numbers."""
    return project.version().partition("-")[0]


def distribution_name() -> str:
    """The name of the distribution; CPAN does not index one with TRIAL in its name."""
    return f"Plack-Handler-Serow-{numbers()}{'-TRIAL' if numbers() != project.version() else ''}"


def distribution(folder: pathlib.Path) -> dict[str, Entry]:
    """The files of the distribution; ExtUtils::MakeMaker writes the metadata and the list of the files."""
    entries = files(SOURCES)
    text, replaced = VERSION.subn(f"our $VERSION = '{numbers()}';", entries[MODULE].data.decode())
    if replaced != 1:
        raise ChannelError(f"{SOURCES / MODULE} has {replaced} lines with $VERSION, not 1")
    entries[MODULE] = Entry(text.encode())
    entries |= {name: Entry((project.ROOT / name).read_bytes()) for name in ("LICENSE-APACHE", "LICENSE-MIT")}
    write_tree(folder, entries)
    for command in (["perl", "Makefile.PL"], ["make", "manifest"], ["make", "distdir", "DISTVNAME=distribution"]):
        project.run(command, cwd=folder)
    return files(folder / "distribution")


def files(folder: pathlib.Path) -> dict[str, Entry]:
    """The files below a folder."""
    return {str(path.relative_to(folder)): Entry(path.read_bytes()) for path in folder.rglob("*") if path.is_file()}


def test(artifacts: list[pathlib.Path]) -> float:
    """Installs the module into an empty folder, and starts an application with plackup."""
    distribution, binary = artifacts
    with tempfile.TemporaryDirectory() as parent:
        home = pathlib.Path(parent)
        # As `cargo install` or `pip install --user` leaves the program: not in the PATH.
        program = home / ".local/bin/serow"
        program.parent.mkdir(parents=True)
        shutil.copy(binary, program)
        (home / "app.psgi").write_bytes(PSGI)
        environment = {"PATH": PATH, "HOME": parent, "PERL5LIB": str(home / "perl/lib/perl5")}
        began = time.monotonic()
        install(distribution, home, environment)
        command = ["plackup", "-s", "Serow", "--max-workers", "1", "--host", "127.0.0.1", home / "app.psgi"]
        seconds = page.serve(command, environment, url=PLACKUP_URL) - began
        program.unlink()
        page.require_failure(command, environment, "pip install serow", code=2)
    return seconds


def install(distribution: pathlib.Path, home: pathlib.Path, environment: dict[str, str]) -> None:
    """Installs the module as its README says, with its tests, and with local::lib's option."""
    project.run(["tar", "--extract", "--file", distribution, "--directory", home])
    folder = home / distribution.name.removesuffix(".tar.gz")
    project.run(["perl", "Makefile.PL", f"INSTALL_BASE={home / 'perl'}"], cwd=folder, env=environment)
    printed = project.run(["make", "test"], cwd=folder, env=environment)
    if "All tests successful" not in printed or "skipped" in printed:
        raise ChannelError(f"not all tests of {distribution.name} ran: {' | '.join(printed.splitlines())}")
    project.run(["make", "install"], cwd=folder, env=environment)
