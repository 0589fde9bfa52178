"""Servers that share a limit, the load on them, and what they count."""

from __future__ import annotations

import http.client
import json
import os
import pathlib
import signal
import socket
import subprocess
import threading
import time
import typing

from ..server import Broken, free_port, program

START_SECONDS = 30.0


class Instance:
    """One server."""

    def __init__(self, folder: pathlib.Path, settings: str) -> None:
        self.port, self.folder, self.settings = 0, folder, settings
        folder.mkdir()
        (folder / "public").mkdir()
        (folder / "public" / "index.html").write_text("hello")
        self.admin = folder / "admin.sock"
        self.process: subprocess.Popen | None = None

    def start(self) -> None:
        self.port = free_port()
        text = f'listen = "127.0.0.1:{self.port}"\nadmin = "unix:{self.admin}"\nworkers = 1\n{self.settings}\n'
        (self.folder / "serow.toml").write_text(text)
        with open(self.folder / "serow.log", "ab") as log:
            self.process = subprocess.Popen([str(program("serow")), "run", "-c", str(self.folder / "serow.toml")],
                                            stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
                                            env=os.environ | {"STATE_DIRECTORY": str(self.folder / "state")})

    def wait(self) -> None:
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline:
            if self.process.poll() is not None:
                if "in use" not in self.said():
                    break
                # Another program was faster.
                (self.folder / "serow.log").unlink()
                self.start()
            try:
                self.status()
                return
            except (OSError, ValueError, http.client.HTTPException):
                time.sleep(0.05)
        raise Broken(f"a server does not start: {self.said()[-500:]}")

    def stop(self) -> None:
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(5)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()

    def status(self) -> dict:
        connection = http.client.HTTPConnection("localhost", timeout=5)
        connection.sock = socket.socket(socket.AF_UNIX)
        connection.sock.settimeout(5)
        connection.sock.connect(str(self.admin))
        connection.request("GET", "/status")
        return json.loads(connection.getresponse().read())

    def command(self, *words: str) -> str:
        command = [str(program("serow")), *words, "--admin", f"unix:{self.admin}"]
        ended = subprocess.run(command, capture_output=True, text=True, timeout=20)
        if ended.returncode != 0:
            raise Broken(f"{' '.join(words)}: {ended.stderr}")
        return ended.stdout

    def answer(self, path: str = "/") -> int:
        """The status of a request; 0 if the connection is refused."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=5)
        try:
            connection.request("GET", path)
            return connection.getresponse().status
        except OSError:
            return 0
        finally:
            connection.close()

    def said(self) -> str:
        return (self.folder / "serow.log").read_text(errors="replace")


class Instances:
    """Runs while the `with` block does."""

    def __init__(self, folder: pathlib.Path, count: int, urls: list[str], rate: int, *, shared: bool = True,
                 more: str = "") -> None:
        folder.mkdir()
        urls_text = ", ".join(f'"{url}"' for url in urls)
        redis = f"[redis]\nurl = [{urls_text}]\ninstances = {count}\n" if shared else ""
        # Without a burst, time is lost until the next request comes, on a single server as well.
        limit = f'[[limit]]\nname = "all"\nkey = "all"\nrate = "{rate}/s"\nburst = {rate // 10}\n'
        limit += f'{"shared = true" if shared else ""}\n{more}\n'
        site = '[[site]]\nlimits = "all"\nfiles = { root = "public" }\n'
        self.all = [Instance(folder / str(number), redis + limit + site) for number in range(count)]

    def __enter__(self) -> "Instances":
        try:
            for instance in self.all:
                instance.start()
            for instance in self.all:
                instance.wait()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_) -> None:
        for instance in self.all:
            instance.stop()

    def are_together(self) -> bool:
        """Whether all are in contact, and know of all."""
        fleets = [instance.status()["fleet"] for instance in self.all]
        return all(fleet["connected"] and fleet["share"] == 1 and fleet["instances"] == len(self.all) for fleet in fleets)

    def admitted(self) -> int:
        return sum(instance.status()["limits"][0]["allowed"] for instance in self.all)


class Load:
    """Requests at a constant rate to all servers, while the `with` block runs."""

    def __init__(self, instances: Instances, rate: int, seconds: float) -> None:
        per_instance = rate // len(instances.all)
        self.commands = [[str(program("serow")), "bench", "-c", "2", "-t", "1", "-R", str(per_instance), "-d",
                          f"{seconds:.0f}s", "--json", f"http://127.0.0.1:{instance.port}/"] for instance in instances.all]
        self.processes: list[subprocess.Popen] = []

    def __enter__(self) -> "Load":
        self.processes = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
                          for command in self.commands]
        return self

    def __exit__(self, *_) -> None:
        for process in self.processes:
            if process.poll() is None:
                process.kill()
                process.wait()

    def results(self) -> list[dict]:
        found = []
        for process in self.processes:
            output, said = process.communicate(timeout=300)
            if process.returncode != 0:
                raise Broken(f"serow bench: {said}")
            found.append(json.loads(output))
        return found


class Repeated:
    """Takes a step again and again, on a thread, while the `with` block runs."""

    # Seconds between two steps.
    PAUSE = 0.1

    def __init__(self) -> None:
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self.run)

    def __enter__(self) -> typing.Self:
        self.thread.start()
        return self

    def __exit__(self, *_) -> None:
        self.ended.set()
        self.thread.join()

    def run(self) -> None:
        while not self.ended.wait(self.PAUSE):
            self.step()

    def step(self) -> None:
        raise NotImplementedError


class Samples(Repeated):
    """How many requests all servers have admitted, at times."""

    def __init__(self, instances: Instances) -> None:
        super().__init__()
        self.instances = instances
        self.samples: list[tuple[float, int]] = []

    def step(self) -> None:
        self.samples.append((time.monotonic(), self.instances.admitted()))

    def per_second(self, begin: float, end: float) -> float:
        """Admitted requests per second between two times, or a little more where the servers are slow to say how many."""
        # In between none are taken where no processor is free.
        within = [sample for sample in self.samples if begin <= sample[0] <= end] or [self.samples[-1]]
        (first, before), (last, after) = within[0], within[-1]
        return (after - before) / (last - first) if last > first else 0.0
