"""The command `tests/wording`: which files are checked, and the report."""

from __future__ import annotations

import argparse
import collections
import fnmatch
import pathlib
import subprocess

from . import commits, rules, sources

REPOSITORY = pathlib.Path(__file__).resolve().parents[3]
DESCRIPTION = """Finds wording that docs/internals/glossary.md replaces.
The rules and their exceptions are in tests/system/wording/rules.toml."""
CHECKED = ("*.md", "examples/*.toml", "crates/**/*.rs", "netlab/**/*.rs", "fuzz/**/*.rs", "tests/fuzzing/**/*.rs",
           "tests/**/*.py", "bench/**/*.py", "packages/**/*.py", "findings/*.sh")


def main() -> int:
    parser = argparse.ArgumentParser(prog="tests/wording", description=DESCRIPTION)
    parser.add_argument("--summary", action="store_true", help="print only the number of findings per folder and rule")
    parser.add_argument("paths", nargs="*", help="check only files whose path begins with one of these")
    options = parser.parse_args()
    findings = in_files(options.paths)
    long = [] if options.paths else commits.long_subjects(REPOSITORY)
    if options.summary:
        summarize(findings)
    else:
        print("".join(f"{finding}\n" for finding in findings), end="")
    print("".join(f"{line}\n" for line in long), end="")
    if findings or long:
        print(f"{len(findings)} findings, {len(long)} long commit subjects. The glossary is docs/internals/glossary.md, "
              f"the exceptions are in {rules.FILE.relative_to(REPOSITORY)}.")
    return int(bool(findings or long))


def in_files(beginnings: list[str]) -> list[rules.Finding]:
    loaded, unchecked = rules.load()
    listed = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", *CHECKED],
                            cwd=REPOSITORY, capture_output=True, text=True, check=True).stdout
    paths = sorted({path for path in listed.split("\0") if path and (REPOSITORY / path).is_file()})
    tests = test_files(paths)
    found = []
    for path in paths:
        if any(fnmatch.fnmatchcase(path, pattern) for pattern in unchecked):
            continue
        if beginnings and not path.startswith(tuple(beginnings)):
            continue
        texts = sources.read(REPOSITORY / path, path in tests)
        found += sorted((finding for rule in loaded for finding in rule.findings(path, texts)),
                        key=lambda finding: (finding.line, finding.column))
    return found


def test_files(paths: list[str]) -> set[str]:
    """Rust files that are compiled for tests only: those in a folder `tests`, and modules with cfg(test)."""
    tests = {path for path in paths if "/tests/" in path or path.startswith(("fuzz/", "tests/"))}
    for path in paths:
        if path.endswith(".rs") and path not in tests:
            file = pathlib.PurePath(path)
            folder = file.parent if file.stem in ("lib", "main", "mod") else file.with_suffix("")
            for name in sources.test_modules((REPOSITORY / path).read_text(errors="replace")):
                module = str(folder / name)
                tests |= {each for each in paths if each == f"{module}.rs" or each.startswith(f"{module}/")}
    return tests


def summarize(findings: list[rules.Finding]) -> None:
    folders = collections.Counter(folder(finding.path) for finding in findings)
    for name, count in sorted(folders.items()):
        print(f"{count:5}  {name}")
    print()
    remedies = collections.Counter(finding.write.removesuffix(rules.OF_FILE) for finding in findings)
    for write, count in remedies.most_common():
        print(f"{count:5}  write {write}")


def folder(path: str) -> str:
    """`crates/cli/src/admin` for a file below it; a document is named by itself."""
    parts = pathlib.PurePath(path).with_suffix("").parts if path.endswith(".rs") else pathlib.PurePath(path).parts
    return "/".join(parts[:4])
