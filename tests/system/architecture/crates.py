"""The crates of the workspace: their layers, purposes and dependencies, from Cargo.toml."""

from __future__ import annotations

import dataclasses
import pathlib
import tomllib

# From the lowest: a crate depends on crates of its own layer and of those below.
LAYERS = {
    "wire formats": "pure: bytes and values in, bytes and values out; no I/O, no clock",
    "transports": "sockets, TLS, QUIC and names",
    "server and client": "connections that carry requests",
    "handlers": "responses to requests, and parts of the way there",
    "site": "handlers and rules, put together for each request",
    "program": "settings, administration and commands",
}


@dataclasses.dataclass(frozen=True)
class Crate:
    folder: str
    package: str
    layer: str
    purpose: str
    # Names of packages.
    dependencies: frozenset[str]


def read(repository: pathlib.Path) -> list[Crate]:
    """The crates, each behind those that it depends on."""
    tables = {path.parent.name: tomllib.loads(path.read_text()) for path in sorted(repository.glob("crates/*/Cargo.toml"))}
    packages = {table["package"]["name"] for table in tables.values()}
    crates = []
    for folder, table in tables.items():
        package = table["package"]
        layer = package.get("metadata", {}).get("serow", {}).get("layer", "")
        dependencies = frozenset(packages & table.get("dependencies", {}).keys())
        crates.append(Crate(folder, package["name"], layer, package["description"], dependencies))
    floors = floors_of(crates)
    return sorted(crates, key=lambda crate: (floors[crate.package], crate.folder))


def floors_of(crates: list[Crate]) -> dict[str, int]:
    """How many crates stand on each other below each crate, and the crate itself."""
    by_package = {crate.package: crate for crate in crates}
    floors: dict[str, int] = {}

    def floor(package: str) -> int:
        if package not in floors:
            floors[package] = 1 + max(map(floor, by_package[package].dependencies), default=0)
        return floors[package]

    for package in by_package:
        floor(package)
    return floors


def faults(crates: list[Crate]) -> list[str]:
    """Crates without a layer, and dependencies on a layer above."""
    order = list(LAYERS)
    by_package = {crate.package: crate for crate in crates}
    found = [f'crates/{crate.folder}/Cargo.toml: [package.metadata.serow] needs layer = one of {", ".join(order)}'
             for crate in crates if crate.layer not in LAYERS]
    if found:
        return found
    for crate in crates:
        for package in sorted(crate.dependencies):
            other = by_package[package]
            if order.index(other.layer) > order.index(crate.layer):
                found.append(f"crates/{crate.folder}/Cargo.toml: a crate of the layer {crate.layer} depends on {other.folder}, "
                             f"of the layer {other.layer} above it")
    return found


def layers(crates: list[Crate]) -> str:
    """The layers from the highest, and the names of their crates."""
    lines = ["| layer | crates |", "| --- | --- |"]
    for layer, about in reversed(LAYERS.items()):
        names = ", ".join(f"`{crate.folder}`" for crate in crates if crate.layer == layer)
        lines.append(f"| **{layer}**: {about} | {names} |")
    return "\n".join(lines) + "\n"


def table(crates: list[Crate]) -> str:
    """The layers from the highest, each with its crates."""
    lines = []
    folders = {crate.package: crate.folder for crate in crates}
    for layer, about in reversed(LAYERS.items()):
        lines += [f"**{layer.capitalize()}**: {about}.", "", "| `crates/…` | purpose | depends on |", "| --- | --- | --- |"]
        for crate in (each for each in crates if each.layer == layer):
            needed = ", ".join(sorted(folders[package] for package in crate.dependencies)) or "–"
            lines.append(f"| `{crate.folder}` | {crate.purpose} | {needed} |")
        lines.append("")
    return "\n".join(lines)
