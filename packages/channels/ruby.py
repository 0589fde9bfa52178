"""Gems: one with the static binary for each processor, and one without for other platforms.

RubyGems takes a gem for `x86_64-linux` on Alpine, too, whose platform is `x86_64-linux-musl`; the static binary runs on
both.
"""

from __future__ import annotations

import pathlib
import tempfile
import time

from . import documents, page, project
from .archive import Entry, program, write_tree
from .binaries import TARGETS, Binaries, is_native, machine
from .elf import require_static
from .error import ChannelError

SOURCES = project.SOURCES / "rack"
# For platforms without a binary.
ANY = "ruby"
RACK = b"run ->(env) { [200, {}, [\"%s\"]] }\n" % page.PAGE
# rackup's own port
RACKUP_URL = "http://127.0.0.1:9292/"


def build(binaries: Binaries) -> list[pathlib.Path]:
    """The gems with binaries, and as the last one the gem without."""
    output = project.output("ruby")
    for old in output.glob("*.gem"):
        old.unlink()
    gems = []
    for target in TARGETS:
        require_static(binaries.path(target), target)
        gems.append(gem(output, platform(target), binaries.path(target)))
    return [*gems, gem(output, ANY, None)]


def platform(target: str) -> str:
    """RubyGems' name of a target."""
    return f"{machine(target)}-linux"


def gem(output: pathlib.Path, name: str, binary: pathlib.Path | None) -> pathlib.Path:
    """The gem for a platform."""
    # RubyGems takes a hyphen for the start of a pre-release, too, and writes it in another way.
    version = project.version().replace("-", ".")
    path = output / (f"serow-{version}.gem" if binary is None else f"serow-{version}-{name}.gem")
    entries = {str(file.relative_to(SOURCES)): Entry(file.read_bytes(), 0o755 if file.parent.name == "exe" else 0o644)
               for file in SOURCES.rglob("*") if file.is_file()}
    if binary is None:
        entries |= {name: Entry((project.ROOT / name).read_bytes()) for name in ("LICENSE-APACHE", "LICENSE-MIT")}
    else:
        entries |= {"libexec/serow": program(binary)}
        entries |= {name: Entry(text) for name, text in documents.licences().items()}
    environment = project.environment() | {"SEROW_GEM_PLATFORM": name, "SEROW_GEM_VERSION": version}
    with tempfile.TemporaryDirectory() as folder:
        write_tree(pathlib.Path(folder), entries)
        project.run(["gem", "build", "--strict", "--output", path, "serow.gemspec"], cwd=folder, env=environment)
    return path


def test(artifacts: list[pathlib.Path]) -> float:
    """Installs the gem into an empty GEM_HOME; starts the program, and an application with rackup."""
    native = next(path for target, path in zip(TARGETS, artifacts) if is_native(target))
    with tempfile.TemporaryDirectory() as parent:
        home = pathlib.Path(parent)
        environment = gem_environment(home / "gems")
        public = page.public(home)
        (home / "config.ru").write_bytes(RACK)
        began = time.monotonic()
        install(native, environment)
        seconds = page.serve([home / "gems/bin/serow", public], environment) - began
        page.serve(["rackup", "-s", "serow", home / "config.ru"], environment, url=RACKUP_URL)
        page.serve([home / "gems/bin/serow", "app", home / "config.ru"], environment)
        require_choice(environment)
        require_message(artifacts[-1], home)
    return seconds


def gem_environment(folder: pathlib.Path) -> dict[str, str]:
    """The environment of Ruby with an empty GEM_HOME, in front of the gems of the system, which include rack."""
    paths = project.run(["ruby", "--disable=rubyopt", "-e", "print Gem.default_path.join(':')"], env={"PATH": PATH})
    return {"PATH": PATH, "HOME": str(folder.parent), "GEM_HOME": str(folder), "GEM_PATH": f"{folder}:{paths}"}


def install(path: pathlib.Path, environment: dict[str, str]) -> str:
    """Installs a gem without network, and returns what gem printed."""
    return project.run(["gem", "install", "--local", "--no-document", path], env=environment)


def require_choice(environment: dict[str, str]) -> None:
    """Checks that RubyGems chooses the gems with a binary on systems with glibc and musl."""
    for target in TARGETS:
        for libc in ("", "-gnu", "-musl"):
            code = f"exit Gem::Platform.new('{platform(target)}') === Gem::Platform.new('{platform(target)}{libc}')"
            project.run(["ruby", "-e", code], env=environment)


def require_message(path: pathlib.Path, home: pathlib.Path) -> None:
    """Checks that the gem without a binary says how to get one, and uses that in the PATH."""
    environment = gem_environment(home / "others")
    printed = install(path, environment)
    if "cargo install serow-cli" not in printed or (home / "others/bin/serow").exists():
        raise ChannelError(f"{path.name} does not say how to get the program: {printed}")
    command = ["rackup", "-s", "serow", home / "config.ru"]
    page.require_failure(command, environment, "cargo install serow-cli")
    folder = next((home / "gems/gems").glob("serow-*")) / "libexec"
    page.serve(command, environment | {"PATH": f"{folder}:{PATH}"}, url=RACKUP_URL)
    # $SEROW goes before the gem's own program.
    page.require_failure(command, gem_environment(home / "gems") | {"SEROW": "/no/serow"}, "correct $SEROW")


PATH = "/usr/local/bin:/usr/bin:/bin"
