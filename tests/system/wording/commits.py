"""Commit subjects that are too long, in the history since the check exists."""

from __future__ import annotations

import pathlib
import subprocess

MAX_SUBJECT = 72


def long_subjects(repository: pathlib.Path) -> list[str]:
    """One line for each subject of more than 72 characters; nothing where git has no history, as in a shallow clone."""
    added = git(repository, "log", "--format=%H", "--diff-filter=A", "--", "tests/wording").split()
    if not added:
        return []
    commits = git(repository, "log", "--no-merges", "--format=%h%x09%s", f"{added[-1]}..HEAD").splitlines()
    return [line for line in map(complaint, commits) if line]


def complaint(commit: str) -> str:
    name, _, subject = commit.partition("\t")
    if len(subject) <= MAX_SUBJECT:
        return ""
    return f"commit {name}: the subject has {len(subject)} characters, at most {MAX_SUBJECT}: {subject}"


def git(repository: pathlib.Path, *arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=repository, capture_output=True, text=True).stdout
