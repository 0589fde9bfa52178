"""A folder with scripts, uploads and links, as applications and their visitors leave it. Each file says which one it is."""

from __future__ import annotations

import os
import pathlib

# A script that runs prints `RAN`, its own name, and the variables that say how it was found, with NUL between them.
SCRIPT = """<?php /* SOURCE:{name} */ header('Content-Type: application/octet-stream'); echo implode("\\0", ['RAN', '{name}',
$_SERVER['SCRIPT_NAME'] ?? '-', $_SERVER['PATH_INFO'] ?? '-', $_SERVER['SCRIPT_FILENAME'] ?? '-', $_SERVER['DOCUMENT_ROOT'] ?? '-']);"""
# Begins source code, wherever it is sent.
SOURCE = b"SOURCE:"

SCRIPTS = (
    "index.php", "other.php", "sp ace.php", "a%20b.php", "ä.php", "a.b.php", "admin/index.php", "admin/tool.php", "api/v1/run.php", "both/index.php",
    "both/sub/deep.php", "x.php/index.php", "z.php/inner.php", "uploads/evil.php", "uploads/index.php", "uploads/deep/evil.php",
    "Uploads/case.php", ".well-known/run.php", ".git/x.php", "admin/.hidden.php", "..php", ".php", "folder/.php", "semi;colon.php",
)
# PHP by their content or ending, which must neither run nor be sent.
WITHHELD = ("uploads/evil.pHp", "uploads/evil.phar", "uploads/evil.phtml", "uploads/evil.inc", "lib.inc", "wp-config.php.bak", "INDEX.PHP",
            "other.php~", "admin/tool.phps", "other.php.gz")
# Hidden by a dot.
HIDDEN = (".env", ".git/config", "uploads/.htaccess", "admin/.user.ini")
FILES = ("style.css", "readme.txt", "uploads/evil.jpg", "uploads/evil.php.jpg", "both/index.html", "plain/index.html", "y.php/index.html",
         "y.php/a.txt", ".well-known/ok.txt", "other.php5", "other.php.", "other.php ", "empty/keep.txt", "plain/sub/page.html", "back\\slash.txt",
         "phpx", "index.html")
OUTSIDE = ("secret.php", "secret.txt", "inner/secret.php", "inner/index.php")
LINKS = (
    ("other.php", "in.php"), ("admin", "in-folder"), ("uploads", "pictures"), ("../uploads", "admin/up"), ("style.css", "link.txt"),
    ("style.css", "css.php"), ("uploads/evil.jpg", "jpg.php"), ("../other.php", "admin/other.php"), ("in.php", "chain.php"),
    ("../outside/secret.php", "out.php"), ("../outside/secret.txt", "out.txt"), ("../outside", "out-folder"), ("../site/other.php", "out-and-in.php"),
    ("nowhere.php", "dangling.php"), ("circle.php", "circle.php"), (".", "self"), ("..", "parent"), ("../..", "admin/grandparent"),
)
ABSOLUTE = (("outside/secret.php", "absolute.php"), ("outside", "absolute"), ("site/other.php", "absolute-in.php"))


def make(place: pathlib.Path) -> pathlib.Path:
    """Makes the folder `site` within a place, beside one that is outside; its path."""
    site = place / "site"
    for folder, names in (("site", SCRIPTS), ("outside", OUTSIDE)):
        for name in names:
            text = SCRIPT.format(name=f"{folder}/{name}") if name.endswith(".php") else f"SOURCE:{folder}/{name}"
            write(place / folder / name, text)
    for name in (*WITHHELD, *HIDDEN):
        write(site / name, SCRIPT.format(name=f"site/{name}"))
    for name in FILES:
        write(site / name, f"FILE:{name} <?php echo 'RAN';")
    for target, link in LINKS:
        (site / link).symlink_to(target)
    for target, link in ABSOLUTE:
        (site / link).symlink_to(place / target)
    if os.geteuid() == 0:
        # To another user's files, as that of a customer on a shared machine.
        (site / "foreign.php").symlink_to("other.php")
        os.chown(site / "foreign.php", 65_534, 65_534, follow_symlinks=False)
    os.mkfifo(site / "pipe.php")
    (place / "alias").symlink_to("site")
    return site


def write(path: pathlib.Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def names_below(site: pathlib.Path) -> list[str]:
    """All paths that exist, also through links, as far as three folders down."""
    found = []
    for depth in range(4):
        found += [str(path.relative_to(site)) for path in site.glob("/".join(["*"] * (depth + 1)))]
    for link in ("in-folder", "pictures", "admin/up", "self", "out-folder", "absolute", "parent"):
        found += [f"{link}/{name}" for name in os.listdir(site / link)]
    return sorted(set(found))
