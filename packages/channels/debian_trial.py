"""The test of the Debian package in a Debian system in which systemd runs: install, upgrade, remove, purge."""

from __future__ import annotations

import json
import pathlib
import subprocess
import sys
import tempfile
import time
import urllib.error

from . import project
from .binaries import ARCHITECTURES, TARGETS, is_native
from .error import ChannelError
from .isolation import Program, emulator, fetch, require, require_root
from .machine import Machine, system

URL = "http://127.0.0.1/"
WELCOME = b"Serow serves this page"
RATE = 1000
# An upgrade takes two seconds; the load starts before it and ends after it.
LOAD_SECONDS = 12
BEFORE_SECONDS = 2
# systemd's estimate from 0 (no rights) to 10: below 2.0 there is nothing but the network and the rights it needs.
MAX_EXPOSURE = 2.0
# Files that the system itself changes while packages come and go; the user stays after a purge (see postrm).
OF_SYSTEM = (
    "/etc/group", "/etc/gshadow", "/etc/passwd", "/etc/shadow", "/etc/subgid", "/etc/subuid", "/etc/.pwd.lock",
    "/var/cache", "/var/lib/dpkg", "/var/lib/logrotate", "/var/lib/systemd", "/var/log/alternatives.log",
    "/var/log/dpkg.log", "/var/log/journal", "/var/tmp",
)


def prepare() -> None:
    """Fetches a Debian system."""
    require_root("the Debian package")
    system()


def test(artifacts: list[pathlib.Path]) -> float:
    """Seconds from the installation to the welcome page; the other architecture only serves it, in an emulator."""
    for package in artifacts:
        check_policy(package)
    seconds = []
    for package in artifacts:
        target = next(target for target in TARGETS if package.stem.endswith(f"_{ARCHITECTURES[target]}"))
        seconds.append(live(package) if is_native(target) else serve(package, target))
    return max(seconds)


def check_policy(package: pathlib.Path) -> None:
    """lintian has no error and no warning; its information has misspelt words, which it finds in compressed tables."""
    project.run(["lintian", "--allow-root", "--fail-on=error,warning", package])


def serve(package: pathlib.Path, target: str) -> float:
    """Seconds until the unpacked package serves its welcome page, without root's rights."""
    with tempfile.TemporaryDirectory() as parent:
        root = pathlib.Path(parent)
        root.chmod(0o755)
        began = time.monotonic()
        project.run(["dpkg-deb", "--extract", package, root])
        emulated = emulator(root, target)
        command = [*emulated, "/usr/bin/serow", "files", "/usr/share/serow/welcome", "--listen", "127.0.0.1:8080"]
        with Program(command, root=root, user=NOBODY) as running:
            require(running.fetch("http://127.0.0.1:8080/"), WELCOME, "http://127.0.0.1:8080/")
            seconds = time.monotonic() - began
            running.stop()
    return seconds


def live(package: pathlib.Path) -> float:
    """The life of the package in a system: seconds until its welcome page."""
    with Machine(system()) as machine:
        # As in many systems, a service has failed, so systemd calls the system degraded.
        machine.run("systemd-run", "--quiet", "--unit=failing", "false")
        before = machine.files()
        began = time.monotonic()
        install(machine, package)
        require(page(), WELCOME, URL)
        seconds = time.monotonic() - began
        check_service(machine)
        upgrade(machine, package)
        refuse_invalid_settings(machine, package)
        encrypt(machine)
        rotate(machine)
        remove(machine, before)
    return seconds


def install(machine: Machine, package: pathlib.Path) -> str:
    """Installs a package; settings that were changed stay."""
    (machine.root / package.name).write_bytes(package.read_bytes())
    try:
        return machine.run("dpkg", "--force-confold", "--install", f"/{package.name}")
    finally:
        (machine.root / package.name).unlink()


def page() -> bytes:
    """The welcome page, as soon as the service serves it."""
    deadline = time.monotonic() + 10
    while True:
        try:
            return fetch(URL)
        except OSError as error:
            if time.monotonic() > deadline:
                raise ChannelError(f"{URL}: {error}") from error
            time.sleep(0.02)


def check_service(machine: Machine) -> None:
    """The unit is valid and enabled, and the server runs without root's rights in a sandbox."""
    machine.run("systemctl", "is-enabled", "serow")
    problems = machine.run("systemd-analyze", "verify", "serow.service").strip()
    if problems:
        raise ChannelError(f"systemd-analyze verify: {problems}")
    threshold = f"--threshold={MAX_EXPOSURE * 10:.0f}"
    machine.run("systemd-analyze", "security", "--offline=true", threshold, "/lib/systemd/system/serow.service")
    main = machine.run("systemctl", "show", "--property=MainPID", "--value", "serow").strip()
    user = machine.run("id", "--user", "serow").strip()
    if f"Uid:\t{user}\t{user}\t{user}\t{user}\n" not in machine.run("cat", f"/proc/{main}/status"):
        raise ChannelError("the service does not run as the user serow")
    say(f"sandbox: {json.loads(machine.run('serow', 'status', '--json'))['sandbox']}")
    complaints = machine.run("journalctl", "--unit=serow", "--grep=WARN|ERROR", "--quiet", expected=None).strip()
    if complaints:
        raise ChannelError(f"the service complains: {complaints}")


def upgrade(machine: Machine, package: pathlib.Path) -> None:
    """Installs another version while clients send requests; none of them may fail."""
    with tempfile.TemporaryDirectory() as folder:
        other = another_version(package, pathlib.Path(folder))
        binary = machine.root / "usr/bin/serow"
        command = [copy(binary, pathlib.Path(folder)), "bench", "--json", "-c", "50", "-R", str(RATE)]
        load = subprocess.Popen([*command, "-d", str(LOAD_SECONDS), URL], stdout=subprocess.PIPE, text=True)
        time.sleep(BEFORE_SECONDS)
        old = generations(machine)
        install(machine, other)
        new = generations(machine)
        report = json.loads(load.communicate(timeout=60)[0])
    summary, errors = report["summary"], report["errors"]
    say(f"upgrade: {summary['requests']} requests, {sum(errors.values())} failed, {summary['sent_again']} sent again")
    if any(errors.values()) or summary["unsent"] or summary["requests"] < RATE * LOAD_SECONDS * 0.99:
        raise ChannelError(f"requests failed during the upgrade: {errors}, {summary}")
    if report["statuses"] != {"200": summary["requests"]}:
        raise ChannelError(f"responses during the upgrade: {report['statuses']}")
    if old & new or not new:
        raise ChannelError(f"the upgrade did not replace the generation: {old} before, {new} afterwards")
    programs = {machine.run("readlink", f"/proc/{process}/exe").strip() for process in new}
    if programs != {"/usr/bin/serow"}:
        raise ChannelError(f"the upgrade did not start the new program, but {programs}")


def generations(machine: Machine) -> set[int]:
    """The process IDs of the generations that accept connections."""
    status = json.loads(machine.run("serow", "status", "--json"))
    return {generation["process"] for generation in status["generations"] if generation["stage"] == "serving"}


def another_version(package: pathlib.Path, folder: pathlib.Path) -> pathlib.Path:
    """The package with a higher version."""
    root = folder / "root"
    project.run(["dpkg-deb", "--raw-extract", package, root])
    fields = (root / "DEBIAN/control").read_text()
    old = next(line for line in fields.splitlines() if line.startswith("Version: "))
    (root / "DEBIAN/control").write_text(fields.replace(old, f"{old}+next"))
    path = folder / f"next-{package.name}"
    project.run(["dpkg-deb", "--root-owner-group", "-Znone", "--build", root, path])
    return path


def copy(binary: pathlib.Path, folder: pathlib.Path) -> pathlib.Path:
    """A copy of the binary, which the upgrade does not replace."""
    path = folder / "serow"
    path.write_bytes(binary.read_bytes())
    path.chmod(0o755)
    return path


def refuse_invalid_settings(machine: Machine, package: pathlib.Path) -> None:
    """With settings that the new version does not accept, the installation succeeds and the old one continues."""
    settings = machine.root / "etc/serow/serow.toml"
    text = settings.read_text()
    settings.write_text(f"no-such-key = 1\n{text}")
    said = install(machine, package)
    if "the old one continues" not in said:
        raise ChannelError(f"an upgrade with invalid settings does not say so: {said}")
    require(page(), WELCOME, URL)
    settings.write_text(text)
    machine.run("systemctl", "reload", "serow")


def encrypt(machine: Machine) -> None:
    """A reload opens port 443, and keeps its certificate in the state folder, without root's rights."""
    settings = machine.root / "etc/serow/serow.toml"
    text = settings.read_text()
    both = 'listen = [":443", { address = ":80", tls = false }]\ntls = "self-signed"'
    settings.write_text(text.replace('listen = ":80"', both))
    machine.run("systemctl", "reload", "serow")
    require(fetch("https://127.0.0.1/"), WELCOME, "https://127.0.0.1/")
    machine.run("test", "-s", "/var/lib/serow/self-signed.key")
    settings.write_text(text)
    machine.run("systemctl", "reload", "serow")


def rotate(machine: Machine) -> None:
    """logrotate renames the access log, and the service opens a new one."""
    log = machine.root / "var/log/serow/access.log"
    machine.run("logrotate", "--force", "/etc/logrotate.d/serow")
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        fetch(f"{URL}?rotated")
        if "?rotated" in log.read_text():
            return
        time.sleep(0.2)
    raise ChannelError(f"after logrotate, {log.name} receives no requests")


def remove(machine: Machine, before: set[str]) -> None:
    """After `remove` the settings are left, after `purge` nothing."""
    machine.run("dpkg", "--remove", "serow")
    try:
        fetch(URL)
    except (OSError, urllib.error.URLError):
        pass
    else:
        raise ChannelError("the server still serves after the removal of its package")
    if not (machine.root / "etc/serow/serow.toml").exists():
        raise ChannelError("the removal of the package removed its settings")
    machine.run("dpkg", "--purge", "serow")
    left = {path for path in machine.files() - before if not path.startswith(OF_SYSTEM)}
    if left:
        raise ChannelError(f"left after a purge: {' '.join(sorted(left))}")


def say(text: str) -> None:
    """A result that the table does not have."""
    print(f"debian: {text}", file=sys.stderr, flush=True)


# Debian's user without rights.
NOBODY = 65534
