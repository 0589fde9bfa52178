"""Archives that are the same, byte for byte, whoever writes them."""

from __future__ import annotations

import gzip
import hashlib
import io
import pathlib
import tarfile
from dataclasses import dataclass

from . import project


@dataclass(frozen=True)
class Entry:
    """A file of an archive, a folder (without data) or a symbolic link."""

    data: bytes | None = None
    mode: int = 0o644
    link: str | None = None
    owner: int = 0


def program(path: pathlib.Path) -> Entry:
    """An executable file."""
    return Entry(path.read_bytes(), 0o755)


def folder(mode: int = 0o755, owner: int = 0) -> Entry:
    """A folder."""
    return Entry(None, mode, owner=owner)


def tar(entries: dict[str, Entry]) -> bytes:
    """A tar archive of the entries, sorted by name, with the owners and the time that each machine writes."""
    written = io.BytesIO()
    with tarfile.open(fileobj=written, mode="w", format=tarfile.GNU_FORMAT) as archive:
        for name, entry in sorted(entries.items()):
            header = tarfile.TarInfo(name)
            header.mtime, header.mode = project.build_time(), entry.mode
            header.uid = header.gid = entry.owner
            if entry.link is not None:
                header.type, header.linkname, header.mode = tarfile.SYMTYPE, entry.link, 0o777
            elif entry.data is None:
                header.type = tarfile.DIRTYPE
            else:
                header.size = len(entry.data)
            archive.addfile(header, io.BytesIO(entry.data or b""))
    return written.getvalue()


def compress(data: bytes) -> bytes:
    """The data compressed with gzip, without a name and with the time of the build."""
    return gzip.compress(data, compresslevel=9, mtime=project.build_time())


def extract(archive: tarfile.TarFile, root: pathlib.Path, members: list[tarfile.TarInfo] | None = None) -> None:
    """Writes the files of an archive of ours, with their modes; Debian 12's Python has no filters yet."""
    archive.extraction_filter = getattr(tarfile, "tar_filter", None)
    archive.extractall(root, members)


def write_sums(folder: pathlib.Path, files: list[pathlib.Path]) -> pathlib.Path:
    """Writes SHA256SUMS, which `sha256sum --check` reads."""
    lines = [f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {file.name}\n" for file in sorted(files)]
    sums = folder / "SHA256SUMS"
    sums.write_text("".join(lines))
    return sums


def write_tree(root: pathlib.Path, entries: dict[str, Entry]) -> None:
    """Writes the entries as files below a folder."""
    for name, entry in sorted(entries.items()):
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if entry.link is not None:
            path.symlink_to(entry.link)
            continue
        if entry.data is None:
            path.mkdir(exist_ok=True)
        else:
            path.write_bytes(entry.data)
        path.chmod(entry.mode)
