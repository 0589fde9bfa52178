"""Static binaries: an archive per processor, for any Linux."""

from __future__ import annotations

import pathlib
import tarfile
import tempfile
import time

from . import documents, project
from .archive import Entry, compress, extract, folder, program, tar, write_sums
from .binaries import TARGETS, Binaries, machine
from .error import ChannelError
from .isolation import Program, emulator, require
from .page import PAGE, URL, public


def build(binaries: Binaries) -> list[pathlib.Path]:
    """The archives, and SHA256SUMS as the last file."""
    output = project.output("static")
    written = []
    for target in TARGETS:
        name = archive_name(target)
        path = output / f"{name}.tar.gz"
        entries = {f"{name}/{place}": entry for place, entry in contents(binaries, target).items()}
        path.write_bytes(compress(tar(entries | {name: folder()})))
        written.append(path)
    return [*written, write_sums(output, written)]


def archive_name(target: str) -> str:
    """The name of the archive of a target, which is also the name of its only folder."""
    return f"{project.NAME}-{project.version()}-linux-{machine(target)}"


def contents(binaries: Binaries, target: str) -> dict[str, Entry]:
    """The files of an archive."""
    entries = {"serow": program(binaries.path(target)), "README.md": Entry((project.ROOT / "README.md").read_bytes())}
    entries |= {name: Entry(text) for name, text in documents.licences().items()}
    entries |= documents.shell_files(binaries, {shell: "completions" for shell in documents.SHELLS})
    return entries | documents.man_files(binaries, "man")


def test(artifacts: list[pathlib.Path]) -> float:
    """Starts each binary in a root that contains nothing but the binary and a folder."""
    archives = [path for path in artifacts if path.name.endswith(".tar.gz")]
    project.run(["sha256sum", "--check", "--quiet", "SHA256SUMS"], cwd=archives[0].parent)
    return max(serve(archive) for archive in archives)


def serve(path: pathlib.Path) -> float:
    """Seconds from the archive to the page."""
    target = next(target for target in TARGETS if path.name == f"{archive_name(target)}.tar.gz")
    with tempfile.TemporaryDirectory() as parent:
        root = pathlib.Path(parent)
        public(root)
        emulated = emulator(root, target)
        began = time.monotonic()
        with tarfile.open(path) as archive:
            member = archive.getmember(f"{archive_name(target)}/serow")
            member.name = "serow"
            extract(archive, root, [member])
        with Program([*emulated, "/serow", "public"], root=root) as running:
            require(running.fetch(URL), PAGE, URL)
            seconds = time.monotonic() - began
            running.stop()
    return seconds
