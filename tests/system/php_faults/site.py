"""Scripts that write rows to a ledger, and the ledger: which process ran which request, and how often."""

from __future__ import annotations

import collections
import contextlib
import pathlib
import sqlite3
from typing import NamedTuple

LEDGER = """<?php
function note(string $stage): void {
    $ledger = new SQLite3(__DIR__ . '/../ledger');
    $ledger->busyTimeout(60000);
    $ledger->exec('PRAGMA synchronous = OFF');
    $row = $ledger->prepare('INSERT INTO rows VALUES (?, ?, ?)');
    $row->bindValue(1, (int) $_GET['id']);
    $row->bindValue(2, getmypid());
    $row->bindValue(3, $stage);
    if (!$row->execute()) {
        http_response_code(500);
    }
    $ledger->close();
}
function pause(): void {
    usleep((int) ($_GET['pause'] ?? 0));
}
function answer(string $text = ''): void {
    echo $_GET['id'] ?? '', ' ', getmypid(), ' ', $text;
}
"""
# Each answers with the number of the request and of its process.
SCRIPTS = {
    "ledger.php": LEDGER,
    "index.php": "<?php require 'ledger.php'; pause(); answer();",
    "post.php": "<?php require 'ledger.php'; note('response'); pause(); answer();",
    "after.php": "<?php require 'ledger.php'; note('response'); answer(); fastcgi_finish_request(); pause(); note('after');",
    "upload.php": "<?php require 'ledger.php'; note('response'); pause(); answer(hash_file('sha256', $_FILES['file']['tmp_name']));",
    "crash.php": "<?php require 'ledger.php'; note('response'); posix_kill(getmypid(), 11); sleep(60);",
    "long.php": "<?php require 'ledger.php'; note('response'); while (!file_exists('../go')) { usleep(2000); clearstatcache(); } answer();",
}


class Row(NamedTuple):
    process: int
    stage: str


class Site:
    """The folder of scripts below `place`, and the ledger beside it."""

    def __init__(self, place: pathlib.Path) -> None:
        self.place, self.root = place, place / "site"
        self.root.mkdir()
        for name, text in SCRIPTS.items():
            (self.root / name).write_text(text)
        # It stays open, so that the last of the scripts that are open does not clear the log each time.
        self.ledger = sqlite3.connect(place / "ledger", timeout=60, isolation_level=None)
        self.ledger.execute("PRAGMA journal_mode = WAL")
        self.ledger.execute("CREATE TABLE rows (id INTEGER, process INTEGER, stage TEXT)")

    def rows(self) -> dict[int, list[Row]]:
        """The rows of each request."""
        found: dict[int, list[Row]] = collections.defaultdict(list)
        for number, process, stage in self.ledger.execute("SELECT id, process, stage FROM rows"):
            found[number].append(Row(process, stage))
        return found

    def process_of(self, number: int) -> int | None:
        """The process that has begun a request."""
        row = self.ledger.execute("SELECT process FROM rows WHERE id = ?", (number,)).fetchone()
        return row and row[0]

    def go(self, is_on: bool = True) -> None:
        """Whether long scripts end."""
        (self.place / "go").touch() if is_on else (self.place / "go").unlink(missing_ok=True)

    def processes(self) -> list[int]:
        """The processes whose folder is that of the scripts: all of php-fpm's."""
        return [int(entry.name) for entry in pathlib.Path("/proc").iterdir() if entry.name.isdigit() and folder_of(entry) == self.root]


def folder_of(process: pathlib.Path) -> pathlib.Path | None:
    with contextlib.suppress(OSError):
        return (process / "cwd").readlink()
    return None
