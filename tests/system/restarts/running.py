"""A server that `serow run` runs, with a folder and a settings file of its own."""

from __future__ import annotations

import json
import os
import pathlib
import signal
import subprocess
import time

from ..polling import wait_until
from ..server import Broken, free_port, program

START_SECONDS = 30.0


class Running:
    """Runs while the `with` block does."""

    def __init__(self, folder: pathlib.Path, extra: str = "", port: int | None = None,
                 path: pathlib.Path | None = None, notify: pathlib.Path | None = None, user: int | None = None) -> None:
        self.path = path or program("serow")
        self.environment = {**os.environ, **({"NOTIFY_SOCKET": str(notify)} if notify else {})}
        self.folder, self.port = folder, port or free_port()
        self.socket, self.door = folder / "site.sock", folder / "admin.sock"
        self.file, self.log = folder / "serow.toml", folder / "log"
        site = folder / "site"
        site.mkdir(exist_ok=True)
        (site / "index.html").write_text("<p>Hello!</p>\n" * 10)
        self.settings = "\n".join((
            f'listen = ["127.0.0.1:{self.port}", "unix:{self.socket}"]',
            f'admin = "unix:{self.door}"',
            'log-level = "info"',
            extra,
            "[[site]]",
            f'files = {{ root = "{site}" }}',
            ""))
        self.file.write_text(self.settings)
        self.user = user
        self.process: subprocess.Popen | None = None

    def start(self) -> "Running":
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen([self.path, "run", "-c", self.file], stdin=subprocess.DEVNULL,
                                            stdout=subprocess.DEVNULL, stderr=log, start_new_session=True,
                                            env=self.environment, user=self.user, group=self.user,
                                            extra_groups=None if self.user is None else [])
        self.wait_for("it serves", lambda: self.serving() is not None, START_SECONDS)
        return self

    def __enter__(self) -> "Running":
        return self.start()

    def __exit__(self, *_) -> None:
        pids = [self.serving()] if self.is_running() else []
        if self.process is not None and self.process.poll() is None:
            for sign in (signal.SIGTERM, signal.SIGTERM, signal.SIGKILL):
                self.process.send_signal(sign)
                try:
                    self.process.wait(3)
                    break
                except subprocess.TimeoutExpired:
                    pass
        for pid in filter(None, pids):
            self.wait_for("the generation has ended", lambda: not pathlib.Path(f"/proc/{pid}").exists())

    def is_running(self) -> bool:
        return self.process is not None and self.process.poll() is None

    def said(self) -> str:
        return self.log.read_text(errors="replace")

    def wait_for(self, what: str, holds, seconds: float = 30.0) -> float:
        """Waits until something holds; says how long that took."""
        began = time.monotonic()
        if not wait_until(holds, seconds, pause=0.002):
            raise Broken(f"waited in vain until {what}; it said: {self.said()[-600:]}")
        return time.monotonic() - began

    def command(self, *words: str) -> subprocess.CompletedProcess:
        command = [program("serow"), *words, "--admin", f"unix:{self.door}"]
        return subprocess.run(command, capture_output=True, text=True, timeout=90)

    def status(self) -> dict:
        done = self.command("status", "--json")
        if done.returncode != 0:
            raise Broken(f"no status: {done.stderr}")
        return json.loads(done.stdout)

    def reload(self) -> None:
        done = self.command("reload")
        if done.returncode != 0:
            raise Broken(f"no reload: {done.stderr}")

    def replace(self) -> None:
        """Reloads with another process."""
        done = self.command("reload", "--new-process")
        if done.returncode != 0:
            raise Broken(f"no reload: {done.stderr}")

    def serving(self) -> int | None:
        """The process of the generation that serves."""
        if not self.door.exists():
            return None
        done = self.command("status", "--json")
        generations = json.loads(done.stdout)["generations"] if done.returncode == 0 else []
        return next((each["process"] for each in generations if each["stage"] == "serving"), None)

    def generations(self) -> list[dict]:
        return self.status()["generations"]


def bench(*options: str, url: str, seconds: float = 300.0) -> subprocess.Popen:
    """Begins a run of `serow bench`; its standard output will be JSON."""
    command = [program("serow"), "bench", "--json", *options, url]
    return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def outcome(run: subprocess.Popen, seconds: float = 300.0) -> dict:
    """The results of a run."""
    output, errors = run.communicate(timeout=seconds)
    if run.returncode != 0:
        raise Broken(f"serow bench ended with {run.returncode}: {errors}")
    return json.loads(output)


def exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True
