"""A client's program in a process of its own, with a time limit: its process group is ended with it."""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
import queue
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator

from ..server import REPOSITORY
from .clients import Client
from .place import HOST

SECONDS = 90.0


class Failed(Exception):
    """The client had no response, or took too long."""


class Run:
    """A process, and the lines that it prints."""

    def __init__(self, process: subprocess.Popen, errors, until: float) -> None:
        self.process, self.errors, self.until = process, errors, until
        self.lines: queue.Queue[str | None] = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        for line in self.process.stdout:
            self.lines.put(line.strip())
        self.lines.put(None)

    def _line(self) -> str | None:
        try:
            return self.lines.get(timeout=max(0.1, self.until - time.monotonic()))
        except queue.Empty:
            raise Failed(f"not done within {SECONDS:.0f} s{self.said()}") from None

    def wait_for_first_response(self) -> None:
        while (line := self._line()) != "ready":
            if line is None:
                raise Failed(f"no response{self.said()}")

    def result(self) -> dict:
        last = ""
        while (line := self._line()) is not None:
            last = line or last
        code = self.process.wait(5)
        if code != 0 or not last.startswith("{"):
            raise Failed(f"exit code {code}{self.said()}")
        return json.loads(last)

    def said(self) -> str:
        self.errors.seek(0)
        text = self.errors.read().decode(errors="replace").strip()
        return f": {text.splitlines()[-1][-300:]}" if text else ""


class Program:
    def __init__(self, client: Client, command: list[str], authority: pathlib.Path) -> None:
        self.client, self.command, self.authority = client, command, authority
        self.notes: list[str] = []

    def note(self, text: str) -> None:
        """Adds a note that the table has besides the result."""
        self.notes.append(text)

    @contextlib.contextmanager
    def started(self, verb: str, port: int, *arguments, path: str = "") -> Iterator[Run]:
        # quic-go and browsers find the name by themselves; the others connect to 127.0.0.1 anyway.
        host = HOST if self.client.is_browser else "127.0.0.1"
        command = [*self.command, verb, f"https://{host}:{port}/{path}", str(self.authority), *map(str, arguments)]
        with tempfile.TemporaryFile() as errors:
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors,
                                       text=True, cwd=REPOSITORY / "tests", start_new_session=True)
            try:
                yield Run(process, errors, time.monotonic() + SECONDS)
            finally:
                # The group of this process alone: a browser has processes of its own.
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()
                process.stdout.close()

    def run(self, verb: str, port: int, *arguments, path: str = "") -> dict:
        with self.started(verb, port, *arguments, path=path) as run:
            return run.result()
