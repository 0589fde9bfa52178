"""The production lines of the crates."""

from __future__ import annotations

import pathlib
import re

# A larger crate is more than one person keeps in mind, and takes the compiler longer than one waits.
MAX_LINES = 9_000
TEST = re.compile(r"#\[cfg\((?:all\()?test\b")
MODULE = re.compile(r"(?:pub(?:\([^)]*\))? )?mod (\w+)( \{|;)$")


def faults(repository: pathlib.Path, limit: int = MAX_LINES) -> list[str]:
    """Crates with more lines than the limit."""
    sizes = {path.parent.name: production_lines(path.parent) for path in sorted(repository.glob("crates/*/Cargo.toml"))}
    return [f"crates/{name}: {lines:,} production lines, and a crate has at most {limit:,}: move a part of it into a crate of its own"
            for name, lines in sizes.items() if lines > limit]


def production_lines(crate: pathlib.Path) -> int:
    """The lines of its sources outside `#[cfg(test)] mod`, with blank lines and comments. `cargo fmt` has formatted them."""
    counts, tests = {}, set()
    for source in crate.glob("src/**/*.rs"):
        counts[source], modules = scan(source.read_text().splitlines())
        folder = source.parent if source.name in ("lib.rs", "main.rs", "mod.rs") else source.with_suffix("")
        tests.update(folder / module for module in modules)
    return sum(count for source, count in counts.items() if tests.isdisjoint([source.with_suffix(""), *source.parents]))


def scan(lines: list[str]) -> tuple[int, list[str]]:
    """How many lines are not of a test module, and the names of test modules that are files of their own."""
    count, modules = 0, []
    # The attributes of an item that is for tests only, and the line with which a test module ends.
    attributes, end = 0, None
    for line in lines:
        item = line.strip()
        if end is not None:
            end = None if line == end else end
        elif TEST.match(item) or attributes and item.startswith("#["):
            attributes += 1
        elif attributes and (module := MODULE.match(item)):
            attributes = 0
            if module[2] == ";":
                modules.append(module[1])
            else:
                end = line[:len(line) - len(line.lstrip())] + "}"
        else:
            count += attributes + 1
            attributes = 0
    return count, modules
