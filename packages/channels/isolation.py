"""Runs programs in an empty root without network, fetches pages from them, and stops them."""

from __future__ import annotations

import os
import pathlib
import shutil
import signal
import socket
import ssl
import subprocess
import tempfile
import time
import urllib.error
import urllib.request

from .binaries import is_native, machine
from .error import ChannelError

# A page arrives long before, or never.
FETCH_SECONDS = 10.0
STOP_SECONDS = 10.0
POLL_SECONDS = 0.02


def isolated(command: list[str]) -> list[str]:
    """The command as process 1 of namespaces of its own: without network, processes that outlive it, and mounts that
    others see."""
    own_user = [] if os.geteuid() == 0 else ["--map-root-user"]
    namespaces = ["--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]
    start = 'PATH=$PATH:/usr/sbin:/sbin; ip link set lo up && exec "$@"'
    return ["unshare", *own_user, *namespaces, "--", "sh", "-c", start, "sh", *command]


def is_isolated() -> bool:
    """Whether `isolated` started this process: lo is the only interface."""
    return {name for _, name in socket.if_nameindex()} == {"lo"}


def require_root(test: str) -> None:
    """Raises an error unless root runs the test: others have one user in their namespaces."""
    if os.geteuid() != 0:
        raise ChannelError(f"the test of {test} needs several users; run it as root")


class Program:
    """A program that runs while the `with` block does, by default in a root of its own."""

    def __init__(self, command: list[str | os.PathLike], *, root: pathlib.Path | None = None, user: int | None = None,
                 environment: dict[str, str] | None = None) -> None:
        self.log = tempfile.TemporaryFile()

        def enter() -> None:
            if root is not None:
                os.chroot(root)
                os.chdir("/")
            if user is not None:
                os.setgroups([])
                os.setgid(user)
                os.setuid(user)

        try:
            self.process = subprocess.Popen([os.fspath(word) for word in command], stdin=subprocess.DEVNULL,
                                            stdout=self.log, stderr=self.log, env=environment or {}, preexec_fn=enter,
                                            start_new_session=True)
        except (OSError, subprocess.SubprocessError) as error:
            raise ChannelError(f"{command[0]} does not start: {error}") from error

    def __enter__(self) -> Program:
        return self

    def __exit__(self, *_) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()

    def fetch(self, url: str, seconds: float = FETCH_SECONDS) -> bytes:
        """The page, as soon as the program serves it."""
        deadline = time.monotonic() + seconds
        while True:
            try:
                return fetch(url, deadline - time.monotonic())
            except OSError as error:
                reason = error
            if self.process.poll() is not None:
                raise ChannelError(f"the program ended with {self.process.returncode}: {self.output()}")
            if time.monotonic() > deadline:
                raise ChannelError(f"{url} was not served within {seconds:.0f} s: {reason}: {self.output()}")
            time.sleep(POLL_SECONDS)

    def signal(self, number: signal.Signals) -> None:
        """Sends a signal to the program."""
        self.process.send_signal(number)

    def stop(self, seconds: float = STOP_SECONDS) -> None:
        """Sends TERM; the program has to end with 0."""
        self.signal(signal.SIGTERM)
        try:
            code = self.process.wait(seconds)
        except subprocess.TimeoutExpired as error:
            raise ChannelError(f"the program did not end within {seconds:.0f} s of TERM: {self.output()}") from error
        if code != 0:
            raise ChannelError(f"the program ended with {code} after TERM: {self.output()}")

    def output(self) -> str:
        """The last lines that the program has written, joined to one."""
        self.log.seek(0)
        return " | ".join(self.log.read().decode(errors="replace").strip().splitlines()[-LAST_LINES:])


def fetch(url: str, seconds: float = FETCH_SECONDS) -> bytes:
    """The body of a response with the status 200, from this machine: without proxies, with any certificate."""
    encryption = urllib.request.HTTPSHandler(context=ssl._create_unverified_context())
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), encryption)
    try:
        with opener.open(url, timeout=max(seconds, POLL_SECONDS)) as response:
            return response.read()
    except urllib.error.HTTPError as error:
        raise ChannelError(f"{url} returned {error.code}: {error.read(200).decode(errors='replace')}") from error


def require(page: bytes, expected: bytes, url: str) -> None:
    """Raises an error unless the page contains the text."""
    if expected not in page:
        raise ChannelError(f"{url} returned another page: {page[:200]!r}")


def emulator(root: pathlib.Path, target: str) -> list[str]:
    """The start of a command line that runs programs of another processor in a root: a copy of QEMU, or nothing."""
    if is_native(target):
        return []
    name = f"qemu-{machine(target)}-static"
    found = shutil.which(name)
    if found is None:
        raise ChannelError(f"{name} does not exist; run: packages/install")
    shutil.copy(found, root / name)
    return [f"/{name}"]


# Enough to see the cause: programs print it last.
LAST_LINES = 12
