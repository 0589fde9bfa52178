"""The command `tests/architecture`."""

from __future__ import annotations

import argparse
import pathlib
import re

from . import changes, crates, pages, sizes

REPOSITORY = pathlib.Path(__file__).resolve().parents[3]
DESCRIPTION = """Checks the layers and sizes of the crates, the files that pages about the code name, and the tables that are generated from
Cargo.toml and from tests/system/architecture/changes.toml."""
# The pages with a generated part, and its name.
PAGES = {"layers": "ARCHITECTURE.md", "crates": "docs/internals/crates.md", "tests": "docs/internals/tests.md"}


def main() -> int:
    parser = argparse.ArgumentParser(prog="tests/architecture", description=DESCRIPTION)
    parser.add_argument("--write", action="store_true", help="write the tables")
    options = parser.parse_args()
    found, listed = crates.read(REPOSITORY), changes.read()
    faults = crates.faults(found) + sizes.faults(REPOSITORY) + changes.faults(REPOSITORY, listed) + pages.faults(REPOSITORY)
    if not faults:
        faults += put("layers", crates.layers(found), options.write)
        faults += put("crates", crates.table(found), options.write)
        faults += put("tests", changes.table(listed), options.write)
    print("".join(f"{fault}\n" for fault in faults), end="")
    return int(bool(faults))


def put(name: str, text: str, write: bool) -> list[str]:
    """Writes a generated part, or says that it is not up to date."""
    page = REPOSITORY / PAGES[name]
    before = page.read_text()
    part = re.compile(rf"(<!-- generated: {name} -->\n).*?(<!-- end -->)", re.DOTALL)
    if not part.search(before):
        return [f"{PAGES[name]}: no <!-- generated: {name} --> … <!-- end -->"]
    after = part.sub(lambda found: f"{found.group(1)}{text}{found.group(2)}", before)
    if write:
        page.write_text(after)
    elif after != before:
        return [f"{PAGES[name]}: the table is not up to date; run: tests/architecture --write"]
    return []
