"""The clients that have to be built or that Debian does not have: made beside what cargo builds, once per version."""

from __future__ import annotations

import hashlib
import os
import pathlib
import shutil
import subprocess
import sys

from ..server import target

HERE = pathlib.Path(__file__).parent
REQUIREMENTS = HERE / "requirements.txt"
# BoringSSL takes some minutes on two cores.
BUILD_SECONDS = 1800.0


class Missing(Exception):
    """A client that is not installed, and cannot be built."""


def folder(name: str, *sources: pathlib.Path) -> pathlib.Path:
    """Where something is made of these files; others, if they change."""
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()[:12]
    return target().resolve() / "tools/http3-clients" / f"{name}-{digest}"


def python() -> pathlib.Path:
    """The Python that has aioquic and pycurl. The wheels of pycurl bring libcurl with ngtcp2 and nghttp3."""
    place = folder("python", REQUIREMENTS)
    path, done = place / "bin/python", place / "installed"
    if not done.exists():
        shutil.rmtree(place, ignore_errors=True)
        build([sys.executable, "-m", "venv", str(place)])
        build([str(path), "-m", "pip", "install", "--quiet", "--only-binary=:all:", f"--requirement={REQUIREMENTS}"])
        done.touch()
    return path


def begin_again(script: str) -> None:
    """Runs the test with that Python, in this process."""
    path = python()
    if pathlib.Path(sys.prefix) != path.parent.parent:
        os.execv(path, [str(path), script, *sys.argv[1:]])


def quic_go() -> pathlib.Path:
    """The client in quic_go/."""
    source = HERE / "quic_go"
    path = folder("quic-go", *(source / name for name in ("go.mod", "go.sum", "main.go"))) / "client"
    if not path.exists():
        build([find("go"), "build", "-o", str(path), "."], source)
    return path


def quiche() -> pathlib.Path:
    """The client in quiche/. Its dependencies are kept when it changes."""
    source = HERE / "quiche"
    path = folder("quiche", *(source / name for name in ("Cargo.toml", "Cargo.lock", "src/main.rs"))) / "client"
    if not path.exists():
        find("cmake"), find("c++")
        built = target().resolve() / "tools/http3-clients/quiche"
        build([find("cargo"), "build", "--quiet", "--locked", "--target-dir", str(built)], source)
        path.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(built / "debug/serow-test-quiche", path)
    return path


def find(name: str) -> str:
    path = shutil.which(name)
    if path is None:
        raise Missing(f"{name} is missing")
    return path


def build(command: list[str], place: pathlib.Path | None = None) -> None:
    made = subprocess.run(command, cwd=place, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=BUILD_SECONDS)
    if made.returncode != 0:
        raise Missing(f"{' '.join(command)[:100]} failed: {(made.stderr or made.stdout).strip()[-300:]}")
