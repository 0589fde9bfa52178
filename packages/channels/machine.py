"""A machine in a folder: systemd runs as process 1 of namespaces of its own, and packages are installed in it."""

from __future__ import annotations

import pathlib
import shutil
import subprocess
import tempfile
import time

from . import project
from .error import ChannelError

BOOT_SECONDS = 60.0
# Debian 12: systemd 252, the oldest that the unit knows.
RELEASE = "bookworm"
# Beside Debian's minimum: what the machines of users have.
INCLUDED = ("systemd-sysv", "adduser", "logrotate", "dbus", "man-db")
# The names of devices that programs open.
DEVICES = ("null", "zero", "full", "random", "urandom", "tty")


def system() -> pathlib.Path:
    """An archive with Debian as debootstrap installs it; fetched once, with the network."""
    archive = project.OUTPUT / f"{RELEASE}-{'-'.join(INCLUDED)}.tar"
    if not archive.exists():
        unfinished = archive.with_name(f"unfinished-{archive.name}")
        archive.parent.mkdir(parents=True, exist_ok=True)
        included = f"--include={','.join(INCLUDED)}"
        project.run(["mmdebstrap", "--quiet", "--variant=minbase", included, RELEASE, unfinished])
        unfinished.rename(archive)
    return archive


class Machine:
    """A Debian system that runs while the `with` block does, on the network of the process that starts it."""

    def __init__(self, archive: pathlib.Path) -> None:
        self.archive = archive

    def __enter__(self) -> Machine:
        self.root = pathlib.Path(tempfile.mkdtemp(prefix="machine", dir=project.OUTPUT))
        project.run(["tar", "--extract", "--exclude=./dev/*", f"--file={self.archive}", f"--directory={self.root}"])
        self.log = tempfile.TemporaryFile()
        namespaces = ["--pid", "--mount", "--cgroup", "--ipc", "--uts", "--fork", "--kill-child"]
        self.process = subprocess.Popen(["unshare", *namespaces, "sh", "-euc", BOOT, "sh", self.root, *DEVICES],
                                        stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log)
        try:
            self.wait_for_boot()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_) -> None:
        # Process 1 ignores TERM; with it, the kernel ends the others.
        self.process.kill()
        self.process.wait()
        shutil.rmtree(self.root)

    def wait_for_boot(self) -> None:
        """Waits until systemd has started everything."""
        deadline = time.monotonic() + BOOT_SECONDS
        while True:
            try:
                state = self.run("systemctl", "is-system-running", expected=None).strip()
                if state in ("running", "degraded"):
                    return
            except (ChannelError, IndexError, OSError) as error:
                state = str(error)
            if self.process.poll() is not None or time.monotonic() > deadline:
                self.log.seek(0)
                said = " | ".join(self.log.read().decode(errors="replace").splitlines()[-5:])
                raise ChannelError(f"systemd did not start in a folder: {state}: {said}")
            time.sleep(0.1)

    def run(self, *command: str, expected: int | None = 0) -> str:
        """Runs a command of the machine to its end, and returns what it printed."""
        children = pathlib.Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text()
        enter = ["nsenter", f"--target={children.split()[0]}", "--mount", "--pid", "--cgroup", "--ipc", "--uts"]
        environment = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C.UTF-8"}
        environment["DEBIAN_FRONTEND"] = "noninteractive"
        ended = subprocess.run([*enter, "--", *command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT, text=True, env=environment, check=False)
        if expected is not None and ended.returncode != expected:
            lines = " | ".join(ended.stdout.strip().splitlines()[-project.LAST_LINES:])
            raise ChannelError(f"{' '.join(command)} returned {ended.returncode}: {lines}")
        return ended.stdout

    def files(self) -> set[str]:
        """The paths of all files and folders, except in the folders of mounted file systems."""
        found = self.run("find", "/", "-xdev", "-mindepth", "1")
        return set(found.splitlines())


# Arguments: the root, the names of devices.
BOOT = """
root=$1; shift
mount --make-rprivate /
mount --bind "$root" "$root"
mount -t proc proc "$root/proc"
mount -t sysfs -o ro sysfs "$root/sys"
mount -t cgroup2 cgroup2 "$root/sys/fs/cgroup"
for folder in dev run tmp; do mount -t tmpfs -o mode=755 tmpfs "$root/$folder"; done
chmod 1777 "$root/tmp"
for device in "$@"; do touch "$root/dev/$device"; mount --bind "/dev/$device" "$root/dev/$device"; done
mkdir "$root/dev/shm" "$root/dev/pts"
mount -t tmpfs tmpfs "$root/dev/shm"
mount -t devpts -o newinstance,ptmxmode=0666 devpts "$root/dev/pts"
ln -s pts/ptmx "$root/dev/ptmx"
cd "$root"
mkdir run/outside
pivot_root . run/outside
umount -l /run/outside
rmdir /run/outside
# container: systemd leaves alone what the machine outside sets up (container interface of systemd).
exec env -i container=other PATH=/usr/sbin:/usr/bin:/sbin:/bin /lib/systemd/systemd --log-target=console
"""
