"""The channels by which users get Serow, each a module that builds its packages and tests them."""

from __future__ import annotations

import importlib
from types import ModuleType

from .error import ChannelError

# Channel -> module of this package. A module has
#     build(binaries: Binaries) -> list[Path]     builds the packages; repeated, it writes the same bytes
#     test(artifacts: list[Path]) -> float        seconds from the files to a served page; runs without network, as root
#                                                 of its own namespaces (isolation.py)
#     prepare() -> None                           optional: fetches what `test` needs, with the network
CHANNELS = {
    "static": "static",
    "debian": "debian",
    "image": "image",
    "python": "python",
    "node": "node",
    "ruby": "ruby",
    "perl": "perl",
    "rust": "rust",
    "recipes": "recipes",
}


def channel(name: str) -> ModuleType:
    """The module of a channel."""
    if name not in CHANNELS:
        raise ChannelError(f"unknown channel {name}; the channels are: {' '.join(CHANNELS)}, or all")
    return importlib.import_module(f"{__name__}.{CHANNELS[name]}")


def selection(names: list[str]) -> list[str]:
    """The channels that a command line names, in the order of the table."""
    for name in names:
        if name != "all" and name not in CHANNELS:
            channel(name)
    return [name for name in CHANNELS if "all" in names or name in names]
