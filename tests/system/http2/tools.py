"""Programs of others: where they are, and how those that Debian does not have are installed."""

from __future__ import annotations

import os
import pathlib
import shutil
import subprocess

from ..server import target

# Newer versions are not available as a module. The file go.mod names its dependencies: with the newest of them, the Go
# of Debian 12 could not build it.
H2SPEC = "github.com/summerwind/h2spec/cmd/h2spec"
MODULE = pathlib.Path(__file__).parent / "h2spec/go.mod"


class Missing(Exception):
    """A program that is not installed."""


class Failed(Exception):
    """A program that did not do what it was to do."""


def find(*names: str) -> str:
    for name in names:
        if path := shutil.which(name, path=os.environ.get("PATH", "") + ":/usr/sbin"):
            return path
    raise Missing(f"{names[0]} is missing; run: tests/install")


def h2spec() -> str:
    """Installed beside what cargo builds, once."""
    folder = target().resolve() / "tools/h2spec"
    path = folder / "h2spec"
    if not path.is_file():
        folder.mkdir(parents=True, exist_ok=True)
        shutil.copy(MODULE, folder)
        command = [find("go"), "build", "-mod=mod", "-o", str(path), H2SPEC]
        made = subprocess.run(command, cwd=folder, capture_output=True, text=True)
        if made.returncode != 0:
            raise Missing(f"h2spec could not be installed: {made.stderr.strip()[-300:]}")
    return str(path)


def run(command: list[str], *, seconds: float = 60.0, stdin: bytes = b"", check: bool = True, folder: pathlib.Path | None = None,
        ) -> tuple[str, str]:
    """Runs a command and returns what it wrote to standard output and to standard error."""
    try:
        done = subprocess.run(command, input=stdin, capture_output=True, timeout=seconds, cwd=folder)
    except subprocess.TimeoutExpired as error:
        raise Failed(f"{' '.join(command)[:200]}: not done after {seconds:.0f} s") from error
    output, said = (text.decode(errors="replace") for text in (done.stdout, done.stderr))
    if check and done.returncode != 0:
        raise Failed(f"{' '.join(command)[:200]}: exit code {done.returncode}: {said.strip()[-200:]}")
    return output, said
