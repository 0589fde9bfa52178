"""The Debian package: a service with a user, a unit and settings, for every release of Debian since 12.

`dpkg-deb` builds it from a folder. cargo-deb would do so, too, but takes longer to compile than all other tools
together, and its maintainer scripts restart a service on upgrade; ours reload it.
"""

from __future__ import annotations

import gzip
import hashlib
import pathlib
import re
import tempfile
from email.utils import formatdate

from . import documents, project
from .archive import Entry, program, write_tree
from .binaries import ARCHITECTURES, TARGETS, Binaries
from .debian_trial import prepare, test
from .error import ChannelError

__all__ = ["build", "prepare", "test"]

SOURCES = project.SOURCES / "debian"
# The package's own revision of the version.
REVISION = 1
SCRIPTS = ("postinst", "prerm", "postrm")
# File in packages/debian -> place in the system.
FILES = {
    "serow.toml": "etc/serow/serow.toml",
    "logrotate": "etc/logrotate.d/serow",
    "serow.service": "lib/systemd/system/serow.service",
    "index.html": "usr/share/serow/welcome/index.html",
    "lintian-overrides": "usr/share/lintian/overrides/serow",
}
COMPLETIONS = {
    "bash": "usr/share/bash-completion/completions",
    "zsh": "usr/share/zsh/vendor-completions",
    "fish": "usr/share/fish/vendor_completions.d",
}
DOCUMENTS = "usr/share/doc/serow"


def build(binaries: Binaries) -> list[pathlib.Path]:
    """A package for each architecture."""
    return [build_one(binaries, target) for target in TARGETS]


def version() -> str:
    """The version as Debian orders it: 1.0.0-rc.1 is 1.0.0~rc.1-1."""
    return f"{project.version().replace('-', '~')}-{REVISION}"


def build_one(binaries: Binaries, target: str) -> pathlib.Path:
    """The package for a target."""
    path = project.output("debian") / f"{project.NAME}_{version()}_{ARCHITECTURES[target]}.deb"
    files = contents(binaries, target)
    with tempfile.TemporaryDirectory() as parent:
        root = pathlib.Path(parent) / "root"
        write_tree(root, files | control(files, ARCHITECTURES[target]))
        root.chmod(0o755)
        for folder in (path for path in root.rglob("*") if path.is_dir()):
            folder.chmod(0o755)
        command = ["dpkg-deb", "--root-owner-group", "-Zxz", "--threads-max=1", "--build", root, path]
        project.run(command, env=project.environment())
    return path


def contents(binaries: Binaries, target: str) -> dict[str, Entry]:
    """The files of the package."""
    files = {place: Entry((SOURCES / name).read_bytes()) for name, place in FILES.items()}
    files["usr/bin/serow"] = program(binaries.path(target))
    files |= documents.shell_files(binaries, COMPLETIONS)
    pages = documents.man_files(binaries, "usr/share/man")
    files |= {f"{name}.gz": packed(entry.data) for name, entry in pages.items()}
    files[f"{DOCUMENTS}/copyright"] = Entry(copyright_file())
    files[f"{DOCUMENTS}/changelog.Debian.gz"] = packed(changelog())
    files[f"{DOCUMENTS}/third-party.txt.gz"] = packed(documents.licences()["LICENSES-THIRD-PARTY.txt"])
    changes = project.ROOT / "CHANGELOG.md"
    if changes.exists():
        files[f"{DOCUMENTS}/changelog.gz"] = packed(changes.read_bytes())
    return files


def control(files: dict[str, Entry], architecture: str) -> dict[str, Entry]:
    """The control files for dpkg: fields, sums, the list of settings files, and maintainer scripts."""
    size = sum((len(entry.data or b"") + 1023) // 1024 for entry in files.values())
    description = "\n".join(f" {line}" for line in wrapped(project.DESCRIPTION))
    fields = f"""Package: {project.NAME}
Version: {version()}
Architecture: {architecture}
Maintainer: {project.MAINTAINER} <{project.MAIL}>
Installed-Size: {size}
Depends: adduser, init-system-helpers (>= 1.51)
Recommends: ca-certificates, logrotate
Provides: httpd
Section: httpd
Priority: optional
Homepage: {project.HOMEPAGE}
Description: {project.SUMMARY}
{description}
"""
    sums = "".join(f"{hashlib.md5(entry.data, usedforsecurity=False).hexdigest()}  {name}\n"
                   for name, entry in sorted(files.items()) if entry.data is not None and not name.startswith("etc/"))
    settings = "".join(f"/{name}\n" for name in sorted(files) if name.startswith("etc/"))
    texts = {"control": fields, "md5sums": sums, "conffiles": settings}
    entries = {name: Entry(text.encode()) for name, text in texts.items()}
    entries |= {name: Entry((SOURCES / name).read_bytes(), 0o755) for name in SCRIPTS}
    return {f"DEBIAN/{name}": entry for name, entry in entries.items()}


def changelog() -> bytes:
    """The changelog in Debian's form, of this version; the list of changes is CHANGELOG.md."""
    return f"""{project.NAME} ({version()}) stable; urgency=medium

  * Version {project.version()}: see changelog.gz.

 -- {project.MAINTAINER} <{project.MAIL}>  {formatdate(project.build_time())}
""".encode()


def copyright_file() -> bytes:
    """The licences, in DEP 5's form; Debian has a copy of the Apache licence."""
    text = (project.ROOT / "LICENSE-MIT").read_text()
    holder = re.search(r"^Copyright \(c\) (.+)$", text, re.MULTILINE)
    if holder is None:
        raise ChannelError("LICENSE-MIT names no holder of the copyright: a line `Copyright (c) …` is missing")
    terms = "\n".join(f" {line}" if line else " ." for line in text.split(holder.group(0), 1)[1].strip().splitlines())
    return f"""Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: Serow
Upstream-Contact: {project.MAINTAINER} <{project.MAIL}>
Source: {project.HOMEPAGE}
Comment: The program contains crates and libraries of others; their licences are in third-party.txt.gz.

Files: *
Copyright: {holder.group(1)}
License: Apache-2.0 or Expat

License: Apache-2.0
 On Debian systems, the text of the Apache License, version 2.0, is in
 /usr/share/common-licenses/Apache-2.0.

License: Expat
{terms}
""".encode()


def wrapped(text: str) -> list[str]:
    """Lines of at most 78 characters."""
    lines = [""]
    for word in text.split():
        if len(lines[-1]) + 1 + len(word) > 78:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()
    return lines


def packed(data: bytes | None) -> Entry:
    """A file for /usr/share/doc, compressed without a name and a time."""
    return Entry(gzip.compress(data or b"", compresslevel=9, mtime=0))
