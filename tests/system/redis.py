"""A Redis server, and a connection that sends commands to it."""

from __future__ import annotations

import pathlib
import socket
import subprocess
import time

from .server import Broken, free_port

START_SECONDS = 10.0


class Redis:
    """Runs while the `with` block does. It keeps nothing on disk unless it is saved."""

    def __init__(self, folder: pathlib.Path) -> None:
        self.folder, self.port = folder, free_port()
        self.process: subprocess.Popen | None = None

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}"

    def __enter__(self) -> "Redis":
        self.start()
        return self

    def __exit__(self, *_) -> None:
        self.kill()

    def start(self) -> None:
        command = ["redis-server", "--port", str(self.port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no",
                   "--dir", str(self.folder), "--daemonize", "no"]
        with open(self.folder / "redis.log", "ab") as log:
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                            start_new_session=True)
        deadline = time.monotonic() + START_SECONDS
        while True:
            try:
                if self.command("PING") == b"PONG":
                    return
            except OSError:
                pass
            if time.monotonic() > deadline:
                self.kill()
                raise Broken("redis-server does not start")
            time.sleep(0.02)

    def kill(self) -> None:
        if self.process is not None and self.process.poll() is None:
            self.process.kill()
            self.process.wait()

    def save(self) -> None:
        """Writes everything to disk: the next start reads it."""
        self.command("SAVE")

    def forget(self) -> None:
        """The next start reads nothing."""
        (self.folder / "dump.rdb").unlink(missing_ok=True)

    def command(self, *words: str):
        with socket.create_connection(("127.0.0.1", self.port), 5) as connection:
            connection.sendall(b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(word.encode()), word.encode())
                                                                  for word in words))
            with connection.makefile("rb") as stream:
                return reply(stream)

    def certificates(self) -> int:
        """How many certificates are stored."""
        return len(self.command("KEYS", "serow:{acme}:value:*/certificates/*"))

    def holders(self) -> dict[str, int]:
        """The processes that order a certificate, by name."""
        found = {}
        for key in self.command("KEYS", "serow:{acme}:lock:*certificates*"):
            if owner := self.command("GET", key.decode()):
                found[key.decode().rpartition("+")[2]] = int(owner.split(b"-")[1])
        return found


def reply(stream):
    line = stream.readline().rstrip(b"\r\n")
    kind, rest = line[:1], line[1:]
    if kind in (b"+", b":"):
        return rest if kind == b"+" else int(rest)
    if kind == b"$":
        return None if rest == b"-1" else stream.read(int(rest) + 2)[:-2]
    if kind == b"*":
        return [reply(stream) for _ in range(int(rest))]
    raise OSError(line.decode(errors="replace"))
