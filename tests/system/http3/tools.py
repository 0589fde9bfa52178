"""aioquic, which Debian does not have: installed beside what cargo builds, once."""

from __future__ import annotations

import os
import pathlib
import shutil
import subprocess
import sys

from ..server import target

REQUIREMENTS = pathlib.Path(__file__).parent / "requirements.txt"


class Missing(Exception):
    """A client that is not installed, and cannot be installed or built."""


def python(requirements: pathlib.Path = REQUIREMENTS) -> pathlib.Path:
    """The Python that has these packages: others, if they change."""
    packages = [line for line in requirements.read_text().split() if "==" in line]
    version = "+".join(packages).replace("==", "-")
    folder = target().resolve() / "tools" / version
    path, done = folder / "bin/python", folder / "installed"
    if not done.exists():
        shutil.rmtree(folder, ignore_errors=True)
        install = [path, "-m", "pip", "install", "--quiet", f"--requirement={requirements}"]
        for command in ([sys.executable, "-m", "venv", folder], install):
            made = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True)
            if made.returncode != 0:
                raise Missing(f"{version} cannot be installed; it needs python3-venv and PyPI: {made.stderr.strip()[-300:]}")
        done.touch()
    return path


def begin_again_with_it(script: str, requirements: pathlib.Path = REQUIREMENTS) -> None:
    """Runs the test with that Python, in this process."""
    path = python(requirements)
    if pathlib.Path(sys.prefix) != path.parent.parent:
        os.execv(path, [str(path), script, *sys.argv[1:]])
