"""Where the suites come from: the packages of requirements.txt, as their authors published them."""

from __future__ import annotations

import pathlib
import subprocess
import tarfile
import tempfile

from ..server import target

HERE = pathlib.Path(__file__).parent
REQUIREMENTS = HERE / "requirements.txt"


class Unavailable(Exception):
    """The suites cannot be had."""


def fetch() -> dict[str, pathlib.Path]:
    """The folder of each package, by its name. They are fetched if they are not there yet, and nothing is installed."""
    wanted = [line.split()[0].split("==") for line in REQUIREMENTS.read_text().splitlines()]
    place = target() / "suites"
    folders = {name: place / f"{name}-{version}" for name, version in wanted}
    if all(folder.exists() for folder in folders.values()):
        return folders
    place.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=place) as new:
        command = ["python3", "-m", "pip", "download", "--quiet", "--no-deps", f"--no-binary={','.join(folders)}", "--require-hashes",
                   f"--requirement={REQUIREMENTS}", f"--dest={new}"]
        fetched = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if fetched.returncode != 0:
            raise Unavailable(f"the suites cannot be fetched: {' '.join(command)}: {fetched.stdout.strip()[-300:]}")
        for folder in folders.values():
            if not folder.exists():
                with tarfile.open(f"{new}/{folder.name}.tar.gz") as archive:
                    archive.extractall(new)
                pathlib.Path(new, folder.name).rename(folder)
    return folders
