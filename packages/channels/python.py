"""Wheels for pip and uv with the static binary, and a source distribution.

maturin writes the metadata and the source distribution. It would compile a binary of its own for the wheels; users of
all channels shall run the same, tested bytes, so the wheels are packed here from the ready binary.
"""

from __future__ import annotations

import base64
import hashlib
import pathlib
import shutil
import sys
import tempfile
import time
import zipfile

from . import documents, page, project
from .binaries import TARGETS, Binaries, is_native, machine
from .elf import require_static
from .error import ChannelError

SOURCES = project.SOURCES / "python"
# A static binary fulfils each promise about the libraries of a system: manylinux (PEP 600, PEP 599) for those with
# glibc, musllinux (PEP 656) for Alpine. These are the oldest versions that maturin accepts; pip 19.3 knows
# manylinux2014, pip 20.3 the others.
PLATFORMS = ("manylinux_2_17", "manylinux2014", "musllinux_1_1")


def build(binaries: Binaries) -> list[pathlib.Path]:
    """A wheel per processor, and the source distribution."""
    output = project.output("python")
    for old in output.glob("serow-*"):
        old.unlink()
    return [*(wheel(output, target, binaries.path(target)) for target in TARGETS), source(output)]


def source(output: pathlib.Path) -> pathlib.Path:
    """The source distribution."""
    run_maturin(["sdist", "--out", output])
    return next(output.glob("serow-*.tar.gz"))


def wheel(output: pathlib.Path, target: str, binary: pathlib.Path) -> pathlib.Path:
    """The wheel of a target."""
    require_static(binary, target)
    with tempfile.TemporaryDirectory() as folder:
        run_maturin(["pep517", "write-dist-info", "--metadata-directory", folder])
        written = next(pathlib.Path(folder).iterdir())
        info, metadata = written.name, (written / "METADATA").read_bytes()
    stem = info.removesuffix(".dist-info")
    files = {f"serow/{path.name}": path.read_bytes() for path in (SOURCES / "serow").glob("*.py")}
    files |= {f"{stem}.data/scripts/serow": binary.read_bytes(), f"{info}/METADATA": metadata}
    files |= {f"{info}/WHEEL": tags(target)}
    files |= {f"{info}/licenses/{name}": text for name, text in documents.licences().items()}
    platforms = ".".join(f"{name}_{machine(target)}" for name in PLATFORMS)
    path = output / f"{stem}-py3-none-{platforms}.whl"
    write(path, files, f"{info}/RECORD")
    return path


def tags(target: str) -> bytes:
    """The file WHEEL, with a line for each platform."""
    lines = ["Wheel-Version: 1.0", "Generator: packages/build", "Root-Is-Purelib: false"]
    lines += [f"Tag: py3-none-{name}_{machine(target)}" for name in PLATFORMS]
    return ("\n".join(lines) + "\n").encode()


def write(path: pathlib.Path, files: dict[str, bytes], record: str) -> None:
    """Writes a wheel, whose last file is the list of the others with their SHA-256.

    <https://packaging.python.org/en/latest/specifications/binary-distribution-format/>
    """
    lines = []
    for name, data in sorted(files.items()):
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        lines.append(f"{name},sha256={digest},{len(data)}\n")
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in [*sorted(files.items()), (record, "".join([*lines, f"{record},,\n"]).encode())]:
            entry = zipfile.ZipInfo(name, time.gmtime(project.build_time())[:6])
            mode = 0o755 if "/scripts/" in name else 0o644
            # The mode of a regular file, as unzip(1) reads it.
            entry.external_attr = (0o100000 | mode) << 16
            entry.create_system = 3
            archive.writestr(entry, data, compress_type=zipfile.ZIP_DEFLATED, compresslevel=9)


def run_maturin(arguments: list[str | pathlib.Path]) -> None:
    """Runs maturin on the project's pyproject.toml."""
    project.run(["maturin", *arguments], cwd=SOURCES, env=project.environment())


def test(artifacts: list[pathlib.Path]) -> float:
    """Installs the wheel in all ways that users have, and starts the program as `serow` and as `python -m serow`."""
    wheels = [path for path in artifacts if path.suffix == ".whl"]
    native = next(path for target, path in zip(TARGETS, wheels) if is_native(target))
    with tempfile.TemporaryDirectory() as parent:
        home = pathlib.Path(parent)
        public = page.public(home)
        environment = {"PATH": "/usr/bin:/bin", "HOME": parent, "PIP_NO_INDEX": "1",
                       "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
        project.run([sys.executable, "-m", "venv", home / "venv"])
        python = home / "venv" / "bin" / "python"
        began = time.monotonic()
        project.run([python, "-m", "pip", "install", "--quiet", native], env=environment)
        seconds = page.serve([home / "venv" / "bin" / "serow", public], environment) - began
        page.serve([python, "-m", "serow", public], environment)
        require_message(python, environment)
        target = home / "target"
        project.run([python, "-m", "pip", "install", "--quiet", "--target", target, native], env=environment)
        page.serve([python, "-m", "serow", public], environment | {"PYTHONPATH": str(target)})
        run_uvx(native, public, environment)
        for each in zip(TARGETS, wheels):
            require_platforms(python, *each, home, environment)
        require_source(artifacts[-1], home)
    return seconds


def require_message(python: pathlib.Path, environment: dict[str, str]) -> None:
    """Checks that `python -m serow` says what to do when the program is missing."""
    program = python.parent / "serow"
    moved = program.rename(program.with_name("elsewhere"))
    page.require_failure([python, "-m", "serow"], environment, "pip install --force-reinstall serow")
    moved.rename(program)


def run_uvx(wheel: pathlib.Path, public: pathlib.Path, environment: dict[str, str]) -> None:
    """Runs the program with uvx, which installs it into its cache."""
    uvx = shutil.which("uvx", path=project.environment()["PATH"])
    if uvx is None:
        raise ChannelError("uvx does not exist; run: packages/install")
    options = ["--offline", "--no-config", "--python", sys.executable]
    page.serve([uvx, *options, "--from", wheel, "serow", public], environment, is_replaced=False,
               end=page.interrupt)


def require_platforms(python: pathlib.Path, target: str, wheel: pathlib.Path, home: pathlib.Path,
                      environment: dict[str, str]) -> None:
    """Checks that pip takes the wheel for each platform that its name promises."""
    for name in PLATFORMS:
        platform = f"{name}_{machine(target)}"
        project.run([python, "-m", "pip", "install", "--quiet", "--only-binary=:all:", f"--platform={platform}",
                     f"--target={home / platform}", f"--find-links={wheel.parent}", "serow"], env=environment)
        if not (home / platform / "bin" / "serow").is_file():
            raise ChannelError(f"{wheel.name} installs no program on {platform}")


def require_source(archive: pathlib.Path, home: pathlib.Path) -> None:
    """Checks that the source distribution contains a whole workspace, which cargo reads as it is locked.

    The crates in it are those that the channel `rust` compiles.
    """
    project.run(["tar", "--extract", "--file", archive, "--directory", home])
    folder = home / archive.name.removesuffix(".tar.gz")
    project.run(["cargo", "metadata", "--offline", "--locked", "--no-deps", "--format-version=1"], cwd=folder)
