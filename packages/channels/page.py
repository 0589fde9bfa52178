"""A page that Serow serves, as users of a channel start it."""

from __future__ import annotations

import os
import pathlib
import signal
import subprocess
import time
import urllib.error
from collections.abc import Callable

from .error import ChannelError
from .isolation import POLL_SECONDS, Program, fetch, require

PAGE = b"<!doctype html><title>A page</title>"
# The default address of `serow FOLDER` and `serow app`.
URL = "http://127.0.0.1:8080/"


def public(parent: pathlib.Path) -> pathlib.Path:
    """A folder with the page."""
    folder = parent / "public"
    folder.mkdir()
    (folder / "index.html").write_bytes(PAGE)
    return folder


def serve(command: list[str | pathlib.Path], environment: dict[str, str], *, folder: pathlib.Path | None = None,
          url: str = URL, is_replaced: bool = True, end: Callable[[Program], None] = Program.stop) -> float:
    """The time, as `time.monotonic` measures it, when the page was there; then the command ends, and the program.

    Unless `is_replaced` is false, the command must have replaced itself with the program: no interpreter stays.
    """
    if folder is not None:
        command = ["env", f"--chdir={folder}", *command]
    with Program(command, environment=environment) as running:
        require(running.fetch(url), PAGE, url)
        served = time.monotonic()
        if is_replaced:
            name = pathlib.Path(f"/proc/{running.process.pid}/exe").resolve().name
            if name != "serow":
                raise ChannelError(f"the command did not replace itself with serow: {name} runs")
        end(running)
        require_stopped(url)
    return served


def interrupt(running: Program) -> None:
    """Presses Ctrl-C in the terminal of a command, which has to end, with any status.

    TERM to npx alone does not reach any program: npm sends it to a shell, which does not pass it on.
    """
    os.killpg(running.process.pid, signal.SIGINT)
    try:
        running.process.wait(LIMIT_SECONDS)
    except subprocess.TimeoutExpired as error:
        raise ChannelError(f"the command did not end after Ctrl-C: {running.output()}") from error


def require_stopped(url: str) -> None:
    """Raises an error if a server stays when the command that started it has ended."""
    deadline = time.monotonic() + LIMIT_SECONDS
    while time.monotonic() < deadline:
        try:
            fetch(url)
        except urllib.error.URLError:
            return
        time.sleep(POLL_SECONDS)
    raise ChannelError(f"{url} is still served after the command ended that served it")


def require_failure(command: list[str | pathlib.Path], environment: dict[str, str], message: str,
                    code: int = 1) -> None:
    """Raises an error unless the command fails with the code and prints the message."""
    try:
        ended = subprocess.run(command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT, text=True, timeout=LIMIT_SECONDS, check=False)
    except subprocess.TimeoutExpired as error:
        raise ChannelError(f"{command[0]} did not fail with {message!r}, but runs") from error
    if ended.returncode != code or message not in ended.stdout:
        raise ChannelError(f"{command[0]} ended with {ended.returncode}, without {message!r}: {ended.stdout.strip()}")


# Interpreters and package managers start slowly on a busy machine.
LIMIT_SECONDS = 30.0
