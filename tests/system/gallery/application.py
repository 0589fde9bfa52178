"""An application of the gallery: where it comes from, how Serow runs it, and how a person uses it."""

from __future__ import annotations

import contextlib
import os
import pathlib
import shutil
import subprocess

from ..server import REPOSITORY, target
from .visitor import Visitor

CACHE = target() / "gallery"
SOURCES = pathlib.Path(__file__).parent / "sources"
PYTHON = "/usr/bin/python3"


class Missing(Exception):
    """The application cannot be installed here."""


class Application:
    # A name of its own, and the version that is installed.
    name: str
    version: str
    # In the short form: it is light, and installed by Debian's packages of tests/install.
    is_short = False
    # Keys of `app` in a settings file; {home} is where it is installed, {work} the folder of this run, {prefix} its path prefix.
    app: dict[str, object]
    # Further keys of the route, in TOML, and the same as options of `serow app`.
    route: dict[str, object] = {}
    # A line at the beginning of the settings file.
    root = ""
    # A folder whose files come first, in {work}; it is `--static`, and a route in the settings file.
    static = ""
    # A path that everybody may read, and its status.
    path, status = "/", 200
    # Where it is mounted in the settings file; an empty prefix for an application that cannot be moved.
    prefix = "/apps/it"
    # Whether the settings file takes the prefix off the path.
    rewrites = False
    # Further keys of the route in the settings file.
    around: tuple[str, ...] = ("cache = true", "compress = true")
    # Name and password, where `basic` is among these keys.
    credentials = ""
    # Whether another process answers while one is killed.
    has_replicas = True

    @property
    def home(self) -> pathlib.Path:
        return CACHE / f"{self.name}-{self.version}"

    def install(self) -> None:
        """Into `home`, unless it is there."""

    def prepare(self, work: pathlib.Path, prefix: str) -> None:
        """Writes the files of a run: those of sources/NAME, unless it needs others."""
        if (SOURCES / self.name).is_dir():
            shutil.copytree(SOURCES / self.name, work, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))

    def beside(self, work: pathlib.Path) -> contextlib.AbstractContextManager:
        """Runs while the server does: a program that the application needs, such as a database."""
        return contextlib.nullcontext()

    def across(self, visitor: Visitor) -> contextlib.AbstractContextManager:
        """Around a reload, and around the end of a worker: the person goes on behind it."""
        return contextlib.nullcontext()

    def use(self, visitor: Visitor) -> None:
        """Uses the application as a person would; raises what is unexpected."""
        visitor.get(self.path).expect(self.status)


def run(command: list[object], folder: pathlib.Path | None = None, given: str = "", **environment: str) -> str:
    """Runs a program of an installation; its output."""
    done = subprocess.run(list(map(str, command)), cwd=folder, env=os.environ | environment, capture_output=True, text=True,
                          input=given)
    if done.returncode != 0:
        raise Missing(f"{' '.join(map(str, command))[:200]}: {(done.stderr or done.stdout).strip()[-500:]}")
    return done.stdout


def installed(home: pathlib.Path) -> bool:
    return (home / "installed").exists()


def virtual_environment(home: pathlib.Path, *requirements: str) -> None:
    """Python's packages into a folder of their own."""
    if not installed(home):
        run([PYTHON, "-m", "venv", home])
        run([home / "bin/pip", "install", "--quiet", "--disable-pip-version-check", *requirements])
        (home / "installed").touch()


def node_modules(home: pathlib.Path, *requirements: str, manifest: str = '{"private": true}') -> None:
    """Node's packages into a folder of their own."""
    if not installed(home):
        home.mkdir(parents=True, exist_ok=True)
        (home / "package.json").write_text(manifest)
        run(["npm", "install", "--no-fund", "--no-audit", "--omit=dev", "--silent", *requirements], home)
        (home / "installed").touch()


def unpacked(home: pathlib.Path, *packages: str) -> None:
    """Packages of Debian into a folder of their own, with those they need and this machine has not: no service starts, and
    nothing of the machine changes."""
    if installed(home):
        return
    archives = home / "archives"
    archives.mkdir(parents=True, exist_ok=True)
    plan = run(["apt-get", "install", "--simulate", "--no-install-recommends", *packages])
    # Packages that are installed already have no line here.
    missing = {line.split()[1] for line in plan.splitlines() if line.startswith("Inst ")} | set(packages)
    run(["apt-get", "download", *sorted(missing)], archives)
    for archive in sorted(archives.glob("*.deb")):
        run(["dpkg-deb", "--extract", archive, home])
    shutil.rmtree(archives)
    (home / "installed").touch()


def debian(package: str, version: str) -> None:
    """A package of Debian that is too large for the short form: it has to be there, or is installed by root."""
    found = subprocess.run(["dpkg-query", "-W", "-f", "${Version}", package], capture_output=True, text=True)
    if found.returncode != 0:
        if os.geteuid() != 0:
            raise Missing(f"run: sudo apt-get install -y --no-install-recommends {package}")
        variables = {"DEBIAN_FRONTEND": "noninteractive", "RUNLEVEL": "1"}
        run(["apt-get", "install", "-y", "--no-install-recommends", package], REPOSITORY, **variables)
        found = subprocess.run(["dpkg-query", "-W", "-f", "${Version}", package], capture_output=True, text=True)
    if not found.stdout.startswith(version):
        print(f"gallery: {package} is {found.stdout}, not {version}", flush=True)
