"""Commit subjects that are too long, in the history since the check exists."""

from __future__ import annotations

import pathlib
import subprocess

MAX_SUBJECT = 72
# Commits with a longer subject that were merged before anybody noticed, each by its full name.
EXCEPTIONS = frozenset({
    "c568a3bf9ad6e68ea9ef93f4d70c8100d35e2776",
    "f434a384d6dcccde450f784b022a99765b10560b",
    "6e27705efd59930a75a65ee159d441f035e71810",
    "aa8f545842c333eee6132fdc43af5e5241fa14f8",
    "eebe5cde8e285cb29831540b2ce41f3e4d6995d8",
})


def long_subjects(repository: pathlib.Path) -> list[str]:
    """One line for each subject of more than 72 characters; nothing where git has no history, as in a shallow clone."""
    added = git(repository, "log", "--format=%H", "--diff-filter=A", "--", "tests/wording").split()
    if not added:
        return []
    commits = git(repository, "log", "--no-merges", "--format=%H%x09%s", f"{added[-1]}..HEAD").splitlines()
    return [line for line in map(complaint, commits) if line]


def complaint(commit: str) -> str:
    name, _, subject = commit.partition("\t")
    if len(subject) <= MAX_SUBJECT or name in EXCEPTIONS:
        return ""
    return f"commit {name[:7]}: the subject has {len(subject)} characters, at most {MAX_SUBJECT}: {subject}"


def git(repository: pathlib.Path, *arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=repository, capture_output=True, text=True).stdout
