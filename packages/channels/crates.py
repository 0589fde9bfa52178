"""The crates that the binary contains, according to cargo."""

from __future__ import annotations

import functools
import json
import pathlib
from dataclasses import dataclass

from . import binaries, project


@dataclass(frozen=True)
class Crate:
    """A crate, of the workspace or of others."""

    name: str
    version: str
    licence: str
    authors: tuple[str, ...]
    repository: str
    folder: pathlib.Path
    is_ours: bool
    # The names and versions of the crates that it contains in turn.
    uses: tuple[str, ...]

    @property
    def id(self) -> str:
        """Name and version; a binary may contain two versions of a crate."""
        return f"{self.name} {self.version}"


@functools.cache
def crates() -> tuple[Crate, ...]:
    """All crates in the binary of any target, sorted; without those that only build or test it."""
    command = ["cargo", "metadata", "--format-version=1", "--locked", "--features=serow-cli/all"]
    command += [f"--filter-platform={target}" for target in binaries.TARGETS]
    told = json.loads(project.run(command, cwd=project.ROOT))
    packages = {package["id"]: package for package in told["packages"]}
    nodes = {node["id"]: node for node in told["resolve"]["nodes"]}
    waiting = [id for id, package in packages.items() if package["name"] == "serow-cli"]
    found: dict[str, Crate] = {}
    while waiting:
        id = waiting.pop()
        if id in found:
            continue
        # Crates with the sources of a library in C depend on compilers.
        edges = [] if packages[id]["name"].endswith("-src") else nodes[id]["deps"]
        linked = [edge["pkg"] for edge in edges if is_linked(edge, packages[edge["pkg"]])]
        found[id] = _crate(packages[id], [packages[other] for other in linked])
        waiting += linked
    return tuple(sorted(found.values(), key=lambda crate: crate.id))


def is_linked(edge: dict, package: dict) -> bool:
    """Whether the binary contains a dependency: procedural macros and build dependencies are not in it, except for the
    sources of C libraries, which are crates called …-src."""
    if any("proc-macro" in target["kind"] for target in package["targets"]):
        return False
    kinds = {kind["kind"] for kind in edge["dep_kinds"]}
    return None in kinds or "build" in kinds and package["name"].endswith("-src")


def _crate(package: dict, linked: list[dict]) -> Crate:
    return Crate(
        name=package["name"],
        version=package["version"],
        licence=package["license"] or "see its files",
        authors=tuple(package["authors"]),
        repository=package["repository"] or "",
        folder=pathlib.Path(package["manifest_path"]).parent,
        is_ours=package["source"] is None,
        uses=tuple(sorted(f"{other['name']} {other['version']}" for other in linked)),
    )
