"""The static binaries that all packages contain."""

from __future__ import annotations

import os
import pathlib
import platform
import subprocess
import sys

from . import project, training
from .error import ChannelError

# Rust's name of a target -> the name of its architecture in Debian and in OCI images.
ARCHITECTURES = {"x86_64-unknown-linux-musl": "amd64", "aarch64-unknown-linux-musl": "arm64"}
TARGETS = tuple(ARCHITECTURES)
# The profile of the binaries that users install (Cargo.toml).
PROFILE = "dist"
# Rust's own linker, since Zig's has neither option: identical functions once, and relocations as a bitmap
# (docs/measurements/packages.md). On aarch64, LuaJIT needs __clear_cache, which only Zig's linker has.
SMALL = ("-Clink-arg=--icf=all", "-Clink-arg=-zpack-relative-relocs", "-Clink-self-contained=yes")
LINKERS = {"x86_64-unknown-linux-musl": "rust-lld"}


def machine(target: str) -> str:
    """The processor of a target, as uname(1) prints it."""
    return target.split("-", 1)[0]


def is_native(target: str) -> bool:
    """Whether this machine runs programs of the target without an emulator."""
    return machine(target) == platform.machine()


class Binaries:
    """Static binaries: those in a folder, FOLDER/TARGET/serow, or those that cargo builds."""

    def __init__(self, folder: pathlib.Path | None = None) -> None:
        self.folder = folder
        self.built: dict[str, pathlib.Path] = {}

    def path(self, target: str) -> pathlib.Path:
        """The binary of a target, which is built if no folder was given."""
        if self.folder is not None:
            path = self.folder / target / "serow"
            if not path.is_file():
                raise ChannelError(f"{path} is missing; without --binaries, cargo builds the binaries")
            return path.resolve()
        if target not in self.built:
            self.built[target] = build(target)
        return self.built[target]

    def native(self) -> pathlib.Path:
        """A binary that runs on this machine."""
        for target in TARGETS:
            if is_native(target):
                return self.path(target)
        raise ChannelError(f"packages are built on: {' '.join(map(machine, TARGETS))}; this is {platform.machine()}")


def build(target: str) -> pathlib.Path:
    """Builds the binary, with the profile of the training run if there is one, and strips it."""
    trained = training.flags()
    if trained:
        print(f"packages: {target} is optimised with {training.PROFILE}", file=sys.stderr, flush=True)
    return stripped(target, build_with(target, trained, project.TARGET))


def build_with(target: str, more: list[str], folder: pathlib.Path) -> pathlib.Path:
    """Builds the binary in a folder with more flags of rustc. For targets of packages, Zig is the C compiler, which
    compiles for every target from every machine."""
    command = ["cargo", "zigbuild" if target in TARGETS else "build", "--profile", PROFILE, "--package", "serow-cli"]
    command += ["--features", "all", "--target", target, "--target-dir", str(folder)]
    if target in LINKERS:
        command += ["--config", f'target.{target}.linker="{LINKERS[target]}"']
    print(f"packages: {' '.join(command)}", file=sys.stderr, flush=True)
    environment = project.environment()
    # Paths of the machine that builds do not belong into panic messages, and differ between machines.
    home = os.environ.get("CARGO_HOME", os.path.expanduser("~/.cargo"))
    flags = [environment.get("RUSTFLAGS", ""), f"--remap-path-prefix={home}=cargo"]
    flags += [f"--remap-path-prefix={project.ROOT}=.", *(SMALL if target in LINKERS else ()), *more]
    environment["RUSTFLAGS"] = " ".join(filter(None, flags))
    # LuaJIT's own program, which is built on the way, needs libunwind, which Zig does not link by itself; and this
    # machine's strip does not know every processor.
    if target in TARGETS:
        environment |= {"TARGET_LIBS": "-lunwind", "TARGET_STRIP": "true"}
    try:
        ended = subprocess.run(command, cwd=project.ROOT, env=environment, check=False)
    except FileNotFoundError as error:
        raise ChannelError("cargo does not exist; install Rust") from error
    if ended.returncode != 0:
        raise ChannelError(f"the binary for {target} does not build; run: packages/install")
    return folder / target / PROFILE / "serow"


def stripped(target: str, binary: pathlib.Path) -> pathlib.Path:
    """The binary without its symbols, which cargo-zigbuild leaves in it."""
    output = project.output("binaries") / target / "serow"
    output.parent.mkdir(parents=True, exist_ok=True)
    project.run([f"{machine(target)}-linux-gnu-strip", "--strip-all", "-o", str(output), str(binary)])
    return output
