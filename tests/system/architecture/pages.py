"""Pages for developers: the files that they name exist."""

from __future__ import annotations

import pathlib
import re

PAGES = ("ARCHITECTURE.md", "CONTRIBUTING.md", "docs/decisions.md", "docs/internals/*.md")
# `server/src/http1.rs` or `site/src/policy/`, without the folder `crates`.
SOURCE = re.compile(r"`([a-z0-9-]+/src/[a-z0-9_/]*(?:\.rs|/))`")
LINK = re.compile(r"\]\(([^)#\s:]+)(?:#[^)]*)?\)")


def faults(repository: pathlib.Path) -> list[str]:
    found = []
    for page in (path for pattern in PAGES for path in sorted(repository.glob(pattern))):
        text, name = page.read_text(), page.relative_to(repository)
        found += [f"{name}: no crates/{source}" for source in SOURCE.findall(text) if not (repository / "crates" / source).exists()]
        found += [f"{name}: a link leads to {target}, which is not there" for target in LINK.findall(text)
                  if not (page.parent / target).exists()]
    return found
