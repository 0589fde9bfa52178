"""The clients that have to be built: beside what cargo builds, once per version."""

from __future__ import annotations

import hashlib
import pathlib
import shutil
import subprocess

from ..http3.tools import Missing
from ..server import target

HERE = pathlib.Path(__file__).parent
# Of aioquic and pycurl, whose wheels bring libcurl with ngtcp2 and nghttp3.
REQUIREMENTS = HERE / "requirements.txt"
# BoringSSL takes some minutes on two cores.
BUILD_SECONDS = 1800.0


def folder(name: str, *sources: pathlib.Path) -> pathlib.Path:
    """Where something is made of these files; others, if they change."""
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()[:12]
    return target().resolve() / "tools/http3-clients" / f"{name}-{digest}"


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
