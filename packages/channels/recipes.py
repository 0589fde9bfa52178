"""Recipes for Homebrew, Arch Linux and Nix, which install the static archives.

Each is rendered from a template in packages/recipes with the version, the addresses of the archives and their hashes.
Files in packages/recipes/golden show the result for a version and hashes of their own.
"""

from __future__ import annotations

import base64
import hashlib
import pathlib
import re
import tarfile
import tempfile
import time

from . import page, project, static
from .archive import extract
from .binaries import TARGETS, Binaries, is_native, machine
from .error import ChannelError

SOURCES = project.SOURCES / "recipes"
GOLDEN = SOURCES / "golden"
# The version and the contents of the archives in the golden files.
GOLDEN_VERSION = "1.2.3-rc.1"
GOLDEN_ARCHIVE = b"the archive of %s"
FIELD = re.compile(r"@(\w+)@")
# Characters that a recipe in Bash, Ruby or Nix cannot have in a text between quotes.
SPECIAL = re.compile(r"[\"'\\$#\n]")


def build(binaries: Binaries) -> list[pathlib.Path]:
    """The recipes, and the archives that they install."""
    archives = [path for path in static.build(binaries) if path.name.endswith(".tar.gz")]
    hashes = {target: hashlib.sha256(path.read_bytes()).digest() for target, path in zip(TARGETS, archives)}
    output = project.output("recipes")
    written = []
    for name, text in rendered(project.version(), hashes).items():
        path = output / name
        path.write_text(text)
        written.append(path)
    return [*written, *archives]


def rendered(version: str, hashes: dict[str, bytes]) -> dict[str, str]:
    """File name -> recipe for a version and the SHA-256 of the archive of each target."""
    values = {"VERSION": version, "SUMMARY": project.SUMMARY, "HOMEPAGE": project.HOMEPAGE,
              "MAINTAINER": project.MAINTAINER, "MAIL": project.MAIL,
              # pacman separates the version from the release by a hyphen.
              "VERSION_ARCH": version.replace("-", "_")}
    for target, digest in hashes.items():
        archive = static.archive_name(target).replace(project.version(), version)
        values |= {f"URL_{machine(target)}": f"{project.DOWNLOADS}/{version}/{archive}.tar.gz",
                   f"SHA256_{machine(target)}": digest.hex(),
                   # <https://www.w3.org/TR/SRI/>
                   f"SRI_{machine(target)}": f"sha256-{base64.b64encode(digest).decode()}"}
    for name, value in values.items():
        if SPECIAL.search(value):
            raise ChannelError(f"{name} has a character that a recipe cannot contain: {value!r}; change project.toml")
    return {path.stem: FIELD.sub(lambda field: value_of(path, field[1], values), path.read_text())
            for path in sorted(SOURCES.glob("*.in"))}


def value_of(path: pathlib.Path, name: str, values: dict[str, str]) -> str:
    """The value of a field of a template."""
    if name not in values:
        raise ChannelError(f"{path} has an unknown field @{name}@; the fields are: {' '.join(values)}")
    return values[name]


def golden() -> dict[str, str]:
    """File name -> recipe for the version of the golden files."""
    hashes = {target: hashlib.sha256(GOLDEN_ARCHIVE % target.encode()).digest() for target in TARGETS}
    return rendered(GOLDEN_VERSION, hashes)


def require_golden() -> None:
    """Raises an error unless the golden files are what the templates give."""
    for name, text in golden().items():
        if not (GOLDEN / name).is_file() or (GOLDEN / name).read_text() != text:
            raise ChannelError(f"{GOLDEN / name} is out of date; run: packages/recipes/update")


def test(artifacts: list[pathlib.Path]) -> float:
    """Compares the recipes with the golden files, parses them, and installs with that for Arch Linux."""
    recipes = {path.name: path for path in artifacts if not path.name.endswith(".tar.gz")}
    require_golden()
    project.run(["ruby", "-c", recipes["serow.rb"]])
    project.run(["bash", "-n", recipes["PKGBUILD"]])
    project.run(["nix-instantiate", "--parse", recipes["flake.nix"]])
    archive = next(path for path in artifacts for target in TARGETS
                   if is_native(target) and path.name == f"{static.archive_name(target)}.tar.gz")
    with tempfile.TemporaryDirectory() as parent:
        return install(recipes["PKGBUILD"], archive, pathlib.Path(parent))


def install(recipe: pathlib.Path, archive: pathlib.Path, home: pathlib.Path) -> float:
    """Seconds until a page is served by the program that the recipe for Arch Linux has installed as makepkg runs it."""
    began = time.monotonic()
    with tarfile.open(archive) as opened:
        extract(opened, home / "src")
    environment = project.environment() | {"srcdir": str(home / "src"), "pkgdir": str(home / "root"),
                                           "CARCH": next(machine(target) for target in TARGETS if is_native(target))}
    project.run(["bash", "-e", "-c", MAKEPKG, "bash", recipe, archive], env=environment)
    return page.serve([home / "root/usr/bin/serow", page.public(home)], {}) - began


# The steps of makepkg with a recipe and the archive that it has fetched and unpacked.
MAKEPKG = """
source "$1"
declare -n sums=sha256sums_$CARCH
echo "$sums  $2" | sha256sum --check --quiet
cd "$srcdir"
package
"""
