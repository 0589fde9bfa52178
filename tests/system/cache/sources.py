"""Where the suite comes from: the packages of packages.toml, as their authors published them."""

from __future__ import annotations

import base64
import hashlib
import pathlib
import subprocess
import tarfile
import tempfile
import tomllib

from ..server import target

PACKAGES = pathlib.Path(__file__).parent / "packages.toml"


class Unavailable(Exception):
    """The suite cannot be had."""


def fetch() -> pathlib.Path:
    """The folder of the suite. It is fetched if it is not there yet; nothing is installed, and no script of a package runs."""
    packages = tomllib.loads(PACKAGES.read_text())
    place = target() / "suites" / f"http-cache-tests-{packages['http-cache-tests']['version']}"
    if not place.exists():
        place.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=place.parent) as new:
            modules = pathlib.Path(new, "whole", "node_modules")
            for name, package in packages.items():
                extract(pack(name, package, pathlib.Path(new)), modules / name)
            modules.parent.rename(place)
    return place / "node_modules" / "http-cache-tests"


def pack(name: str, package: dict[str, str], folder: pathlib.Path) -> pathlib.Path:
    """The archive of a package, whose digest is right."""
    command = ["npm", "pack", "--silent", "--ignore-scripts", f"{name}@{package['version']}"]
    fetched = subprocess.run(command, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if fetched.returncode != 0:
        raise Unavailable(f"the suite cannot be fetched: {' '.join(command)}: {fetched.stdout.strip()[-300:]}")
    archive = folder / f"{name}-{package['version']}.tgz"
    digest = base64.b64encode(hashlib.sha512(archive.read_bytes()).digest()).decode()
    if digest != package["sha512"]:
        raise Unavailable(f"{archive.name} has the digest {digest}, not that of packages.toml")
    return archive


def extract(archive: pathlib.Path, folder: pathlib.Path) -> None:
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent) as new, tarfile.open(archive) as packed:
        packed.extractall(new, filter="data")
        pathlib.Path(new, "package").rename(folder)
