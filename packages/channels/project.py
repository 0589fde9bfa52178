"""Facts about Serow from project.toml and the workspace, and the folders in which packages are built."""

from __future__ import annotations

import functools
import os
import pathlib
import subprocess
import tomllib

from .error import ChannelError

ROOT = pathlib.Path(__file__).resolve().parents[2]
SOURCES = ROOT / "packages"
TARGET = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
OUTPUT = TARGET / "packages"
# The programs that packages/install takes from PyPI.
TOOLS = OUTPUT / "tools"

_PROJECT = tomllib.loads((SOURCES / "project.toml").read_text())
NAME: str = _PROJECT["name"]
SUMMARY: str = _PROJECT["summary"]
DESCRIPTION: str = _PROJECT["description"]
MAINTAINER: str = _PROJECT["maintainer"]
MAIL: str = _PROJECT["mail"]
HOMEPAGE: str = _PROJECT["homepage"]
DOWNLOADS: str = _PROJECT["downloads"]
LICENCE: str = _PROJECT["licence"]


def version() -> str:
    """The version of the workspace."""
    return tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]["version"]


@functools.cache
def build_time() -> int:
    """The time of all files in packages, in seconds since 1970: $SOURCE_DATE_EPOCH, or the time of the last commit.

    <https://reproducible-builds.org/specs/source-date-epoch/>
    """
    given = os.environ.get("SOURCE_DATE_EPOCH")
    if given is not None:
        if not given.isdigit():
            raise ChannelError(f"SOURCE_DATE_EPOCH is not a number of seconds: {given}")
        return int(given)
    return int(run(["git", "log", "-1", "--format=%ct"], cwd=ROOT))


def output(channel: str) -> pathlib.Path:
    """The folder of a channel's packages."""
    folder = OUTPUT / channel
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def environment() -> dict[str, str]:
    """The environment of the programs that build packages: with the tools that packages/install installed."""
    paths = [str(TOOLS / "bin"), os.environ.get("PATH", os.defpath), "/usr/sbin", "/sbin"]
    return os.environ | {"PATH": os.pathsep.join(paths), "SOURCE_DATE_EPOCH": str(build_time())}


def run(command: list[str | os.PathLike], **options) -> str:
    """Runs a program to its end and returns what it printed; on failure the error contains its last lines."""
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "stdin": subprocess.DEVNULL, **options}
    name = pathlib.Path(command[0]).name
    try:
        ended = subprocess.run([os.fspath(word) for word in command], text=True, check=False, **options)
    except FileNotFoundError as error:
        raise ChannelError(f"{error.filename} does not exist; run: packages/install") from error
    except subprocess.TimeoutExpired as error:
        raise ChannelError(f"{name} did not end within {error.timeout:.0f} s") from error
    if ended.returncode != 0:
        lines = f"{ended.stdout or ''}\n{ended.stderr or ''}".strip().splitlines()[-LAST_LINES:]
        raise ChannelError(f"{name} failed with {ended.returncode}: {' | '.join(lines)}")
    return ended.stdout or ""


# Enough to see the cause: programs print it last.
LAST_LINES = 12
