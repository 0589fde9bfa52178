"""Crates for `cargo install serow-cli`, and the names by which cargo-binstall finds the static archives."""

from __future__ import annotations

import json
import os
import pathlib
import re
import shutil
import tarfile
import tempfile
import time
import tomllib

from . import page, project, static
from .archive import extract
from .binaries import TARGETS, Binaries, is_native, machine
from .error import ChannelError

FIELD = re.compile(r"\{ ([a-z-]+) \}")
# Those without which a crate's page in the registry is empty.
REQUIRED = ("description", "license", "homepage", "repository", "readme", "keywords", "categories")
FILES = ("Cargo.toml", "README.md", "LICENSE-APACHE", "LICENSE-MIT")
# A registry accepts at most five, of 20 characters each.
MAX_KEYWORDS = 5
MAX_KEYWORD_LENGTH = 20
# Where the crates are compiled from their packages; beside the workspace's own, so that neither compiles all again.
VERIFIED = project.OUTPUT / "verified"


def build(binaries: Binaries) -> list[pathlib.Path]:
    """The crates, and the static archives that cargo-binstall installs."""
    output = project.output("rust")
    for old in output.glob("*.crate"):
        old.unlink()
    # Only a clean tree gives crates that name the commit from which they come; for development a changed tree will do.
    cargo(["package", "--workspace", "--no-verify", "--allow-dirty"])
    crates = []
    for name in published():
        crates.append(output / f"{name}-{project.version()}.crate")
        shutil.copy(project.TARGET / "package" / crates[-1].name, crates[-1])
    return [*crates, *(path for path in static.build(binaries) if path.name.endswith(".tar.gz"))]


def prepare() -> None:
    """Runs cargo publish --dry-run for all crates in the order of their dependencies.

    It compiles each crate from its package, and against the packages of the others; that of serow-cli is what
    `cargo install serow-cli` compiles.
    """
    forget(VERIFIED)
    cargo(["publish", "--workspace", "--dry-run", "--allow-dirty", f"--target-dir={VERIFIED}"])


def forget(folder: pathlib.Path) -> None:
    """Removes what cargo keeps of the crates since the last time.

    cargo takes a crate from a registry for unchangeable, and would compile the old contents of a version again.
    """
    home = pathlib.Path(os.environ.get("CARGO_HOME", pathlib.Path.home() / ".cargo"))
    for name in published():
        # A registry that is a folder has a name that begins with a hyphen, where others have their host.
        unpacked = (home / "registry" / "src").glob(f"-*/{name}-{project.version()}")
        compiled = folder.glob(f"*/.fingerprint/{name}-*")
        for path in [*unpacked, *compiled]:
            shutil.rmtree(path)


def cargo(arguments: list[str]) -> None:
    """Runs cargo in the workspace. Registries that replace crates.io on a machine are not published to."""
    project.run(["cargo", *arguments, "--locked", "--quiet"], cwd=project.ROOT)


def published() -> list[str]:
    """The names of the crates that are published."""
    return [package["name"] for package in workspace() if package["publish"] is None]


def workspace() -> list[dict]:
    """The metadata of the workspace's crates, from cargo."""
    command = ["cargo", "metadata", "--no-deps", "--offline", "--format-version=1"]
    return json.loads(project.run(command, cwd=project.ROOT))["packages"]


def test(artifacts: list[pathlib.Path]) -> float:
    """Checks the metadata of the crates, and installs the program as cargo-binstall does."""
    for package in workspace():
        if package["publish"] is None:
            require_metadata(package)
    for path in artifacts:
        if path.suffix == ".crate":
            require_files(path)
    archives = {path.name: path for path in artifacts if path.name.endswith(".tar.gz")}
    return max(install(target, archives[require_archive(target)]) for target in TARGETS)


def require_metadata(package: dict) -> None:
    """Raises an error if a crate lacks a field, or has one that the registry does not accept."""
    name = package["name"]
    missing = [field for field in REQUIRED if not package[field]]
    if missing:
        raise ChannelError(f"{package['manifest_path']}: write {', '.join(missing)}")
    keywords = package["keywords"]
    if len(keywords) > MAX_KEYWORDS or any(len(word) > MAX_KEYWORD_LENGTH for word in keywords):
        raise ChannelError(f"{name}: at most {MAX_KEYWORDS} keywords of {MAX_KEYWORD_LENGTH} characters: {keywords}")
    if not package["homepage"] == package["repository"] == project.HOMEPAGE:
        raise ChannelError(f"Cargo.toml: homepage and repository of {name} are not {project.HOMEPAGE} (project.toml)")
    if package["license"] != project.LICENCE:
        raise ChannelError(f"{name}: the licence is {package['license']}, not {project.LICENCE} (project.toml)")
    if name == "serow-cli" and not package["description"].startswith(project.SUMMARY):
        raise ChannelError(f"crates/cli/Cargo.toml: the description must start with: {project.SUMMARY} (project.toml)")


def require_files(path: pathlib.Path) -> None:
    """Raises an error if a package lacks a file."""
    folder = path.name.removesuffix(".crate")
    with tarfile.open(path) as archive:
        names = set(archive.getnames())
    missing = [name for name in FILES if f"{folder}/{name}" not in names]
    if missing:
        raise ChannelError(f"{path.name} lacks {', '.join(missing)}")


def binstall() -> dict:
    """The metadata for cargo-binstall, which has an address for each processor and libc, and none for other systems."""
    metadata = tomllib.loads((project.ROOT / "crates/cli/Cargo.toml").read_text())["package"]["metadata"]["binstall"]
    expected = {f"{machine(target)}-unknown-linux-{libc}" for target in TARGETS for libc in ("gnu", "musl")}
    if set(metadata["overrides"]) != expected or "pkg-url" in metadata:
        raise ChannelError(f"crates/cli/Cargo.toml: write a pkg-url for each of: {' '.join(sorted(expected))}")
    return metadata


def require_archive(target: str) -> str:
    """The name of the static archive of a target; raises an error unless cargo-binstall takes it with any libc."""
    expected = f"{static.archive_name(target)}.tar.gz"
    for triple, override in binstall()["overrides"].items():
        url = render(override["pkg-url"], triple)
        if triple.startswith(machine(target)) and url != f"{project.DOWNLOADS}/{project.version()}/{expected}":
            raise ChannelError(f"crates/cli/Cargo.toml: {url} is not the address of {expected}")
    return expected


def install(target: str, path: pathlib.Path) -> float:
    """Seconds until the program that cargo-binstall takes from an archive serves a page; 0 on other processors."""
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as parent:
        home = pathlib.Path(parent)
        name = render(binstall()["bin-dir"], target)
        with tarfile.open(path) as archive:
            if name not in archive.getnames():
                raise ChannelError(f"crates/cli/Cargo.toml: bin-dir is {name}, which is not in {path.name}")
            archive.extract(name, home, filter="tar")
        if not is_native(target):
            return 0.0
        return page.serve([home / name, page.public(home)], {}) - began


def render(template: str, triple: str) -> str:
    """A template of cargo-binstall with its values.

    <https://github.com/cargo-bins/cargo-binstall/blob/main/SUPPORT.md>
    """
    values = {"version": project.version(), "target-arch": triple.split("-")[0], "bin": "serow", "binary-ext": ""}

    def value(field: re.Match[str]) -> str:
        if field[1] not in values:
            raise ChannelError(f"crates/cli/Cargo.toml: unknown field {field[0]}; use one of: {' '.join(values)}")
        return values[field[1]]

    return FIELD.sub(value, template)
