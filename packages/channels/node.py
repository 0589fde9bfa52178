"""Packages for npm: the command, and a package with the static binary for each processor.

npm installs, of the optional dependencies, the one whose fields `os` and `cpu` fit the machine. There is no field
`libc`: the binary is static, and runs with any.
"""

from __future__ import annotations

import json
import pathlib
import shutil
import tempfile
import time

from . import documents, page, project
from .archive import Entry, program, write_tree
from .binaries import TARGETS, Binaries, is_native, machine
from .elf import require_static
from .error import ChannelError

SOURCES = project.SOURCES / "node"
# uname's name of a processor -> Node's
PROCESSORS = {"x86_64": "x64", "aarch64": "arm64"}


def build(binaries: Binaries) -> list[pathlib.Path]:
    """The packages with the binaries, and as the last one the package with the command."""
    output = project.output("node")
    for old in output.glob("*.tgz"):
        old.unlink()
    packed = [pack(output, contents(binaries.path(target), target)) for target in TARGETS]
    return [*packed, pack(output, command_contents())]


def package_name(target: str) -> str:
    """The name of the package with the binary of a target."""
    return f"@serow/{platform(target)}"


def platform(target: str) -> str:
    """Node's name of a target: `process.platform` and `process.arch`."""
    return f"linux-{PROCESSORS[machine(target)]}"


def contents(binary: pathlib.Path, target: str) -> dict[str, Entry]:
    """The files of a package with a binary."""
    require_static(binary, target)
    name = platform(target)
    manifest = {
        "name": package_name(target),
        "version": project.version(),
        "description": f"The program of the package serow for {name}",
        "license": project.LICENCE,
        "homepage": project.HOMEPAGE,
        "os": ["linux"],
        "cpu": [PROCESSORS[machine(target)]],
        "files": ["bin", "LICENSE*"],
        # Yarn keeps packages in archives otherwise, from which nothing can be run.
        "preferUnplugged": True,
    }
    readme = f"# {package_name(target)}\n\nThe program of the package `serow` for {name}. Install that package.\n"
    described = {"package.json": manifest_entry(manifest), "README.md": Entry(readme.encode())}
    return described | {"bin/serow": program(binary)} | licences()


def command_contents() -> dict[str, Entry]:
    """The files of the package with the command."""
    script = SOURCES / "bin" / "serow.js"
    listed = ", ".join(f'"{platform(target)}"' for target in TARGETS)
    if f"const PLATFORMS = [{listed}];" not in script.read_text():
        raise ChannelError(f"{script}: PLATFORMS must be [{listed}], for which there are packages")
    manifest = json.loads((SOURCES / "package.json").read_text())
    manifest["version"] = project.version()
    manifest["optionalDependencies"] = {package_name(target): project.version() for target in TARGETS}
    readme = Entry((SOURCES / "README.md").read_bytes())
    return {"bin/serow.js": program(script), "package.json": manifest_entry(manifest), "README.md": readme} | licences()


def licences() -> dict[str, Entry]:
    """The licences as files."""
    return {name: Entry(text) for name, text in documents.licences().items()}


def manifest_entry(manifest: dict) -> Entry:
    """The file package.json."""
    return Entry((json.dumps(manifest, indent=2) + "\n").encode())


def pack(output: pathlib.Path, entries: dict[str, Entry]) -> pathlib.Path:
    """Packs a package as npm does; npm gives all files the same time."""
    with tempfile.TemporaryDirectory() as folder:
        write_tree(pathlib.Path(folder), entries)
        printed = project.run(["npm", "pack", "--json", f"--pack-destination={output}"], cwd=folder)
        return output / json.loads(printed)[0]["filename"].replace("@", "").replace("/", "-")


def test(artifacts: list[pathlib.Path]) -> float:
    """Installs the packages into an empty folder, and starts the command with npx and without it."""
    native = next(path for target, path in zip(TARGETS, artifacts) if is_native(target))
    command = artifacts[-1]
    with tempfile.TemporaryDirectory() as parent:
        home = pathlib.Path(parent)
        folder = home / "site"
        folder.mkdir()
        page.public(folder)
        environment = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": parent}
        began = time.monotonic()
        install = ["npm", "install", "--offline", "--no-audit", "--no-fund", native, command]
        project.run(install, cwd=folder, env=environment)
        seconds = page.serve(["npx", "serow", "public"], environment, folder=folder, is_replaced=False,
                             end=page.interrupt) - began
        page.serve(["node_modules/.bin/serow", "public"], environment, folder=folder, is_replaced=is_replaced())
        installed = folder / "node_modules/.bin/serow"
        # The command fails as the program does, and says what to do if npm has not installed the program.
        page.require_failure([installed, "--no-such-option"], environment, "--no-such-option", code=2)
        shutil.rmtree(folder / "node_modules/@serow")
        page.require_failure([installed, "--version"], environment, "npm install --include=optional serow")
    return seconds


def is_replaced() -> bool:
    """Whether this version of Node can replace itself with a program."""
    return project.run(["node", "--print", "typeof process.execve"]).strip() == "function"
