"""A Podman of its own: storage, API and network in a folder, gone with it. It needs root, and no daemon."""

from __future__ import annotations

import http.client
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import urllib.parse

from ..polling import wait_until
from ..server import Broken, program

# For machines without systemd, with either version of cgroups.
CONFIGURATION = """[containers]
default_ulimits = ["nofile=20000:20000", "nproc=4096:4096"]
[engine]
runtime = "runc"
events_logger = "file"
cgroup_manager = "cgroupfs"
[network]
network_backend = "netavark"
"""
IMAGE = "localhost/serow-test"
# The libraries of this machine, for programs that are linked dynamically.
LIBRARIES = [path for path in ("/lib", "/lib64", "/usr") if os.path.exists(path)]


class Podman:
    """Runs while the `with` block does."""

    def __init__(self, folder: pathlib.Path) -> None:
        self.folder = folder / "podman"
        self.socket = self.folder / "api.sock"
        self.process: subprocess.Popen | None = None
        self.environment = {**os.environ, "CONTAINERS_CONF": str(self.folder / "containers.conf")}

    def __enter__(self) -> "Podman":
        image = self.folder / "image"
        image.mkdir(parents=True)
        (self.folder / "containers.conf").write_text(CONFIGURATION)
        shutil.copy(busybox(), image / "busybox")
        (image / "Containerfile").write_text("FROM scratch\nCOPY busybox /bin/busybox\n")
        built = self.run("build", "-q", "-t", IMAGE, str(image))
        if built.returncode != 0:
            raise Broken(f"podman build: {built.stderr}")
        self.start_service()
        return self

    def __exit__(self, *_) -> None:
        self.run("rm", "-a", "-f", "-t", "0")
        self.stop_service()
        # The mounts of its storage.
        self.run("unshare", "true")
        shutil.rmtree(self.folder, ignore_errors=True)

    def command(self, *words: str) -> list[str]:
        return ["podman", "--root", str(self.folder / "root"), "--runroot", str(self.folder / "run"), *words]

    def run(self, *words: str) -> subprocess.CompletedProcess:
        return subprocess.run(self.command(*words), env=self.environment, capture_output=True, text=True, timeout=120)

    def start_service(self) -> None:
        with open(self.folder / "service.log", "ab") as log:
            self.process = subprocess.Popen(self.command("system", "service", "--time=0", f"unix://{self.socket}"),
                                            env=self.environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                            start_new_session=True)
        if not wait_until(self.answers):
            raise Broken(f"podman system service does not answer: {(self.folder / 'service.log').read_text()[-500:]}")

    def stop_service(self) -> None:
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(10)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()

    def answers(self) -> bool:
        try:
            return self.request("GET", "/_ping")[0] == 200
        except OSError:
            return False

    def request(self, method: str, path: str, body: object = None) -> tuple[int, object]:
        connection = http.client.HTTPConnection("localhost", timeout=60)
        connection.sock = socket.socket(socket.AF_UNIX)
        connection.sock.settimeout(60)
        connection.sock.connect(str(self.socket))
        try:
            connection.request(method, path, json.dumps(body) if body is not None else None,
                               {"Content-Type": "application/json"})
            answer = connection.getresponse()
            text = answer.read()
            return answer.status, json.loads(text) if text.startswith((b"{", b"[")) else text
        finally:
            connection.close()

    def ask(self, method: str, path: str, body: object = None) -> dict:
        status, answer = self.request(method, path, body)
        if status >= 300 and status != 304:
            raise Broken(f"podman: {method} {path}: {status} {answer}")
        return answer if isinstance(answer, dict) else {}

    def create(self, name: str, labels: dict[str, str], command: list[str], **rest) -> "Container":
        body = {"Image": IMAGE, "Labels": labels, "Entrypoint": command, **rest}
        answer = self.ask("POST", f"/containers/create?name={urllib.parse.quote(name)}", body)
        return Container(self, name, answer["Id"])

    def small(self, name: str, labels: dict[str, str], **rest) -> "Container":
        """A container with a small HTTP server, which starts at once, and does not heed TERM."""
        command = ["/bin/busybox", "httpd", "-f", "-p", "8080", "-h", "/"]
        return self.create(name, labels, command, StopTimeout=0, **rest)

    def serow(self, name: str, labels: dict[str, str], body: str) -> "Container":
        """A container with Serow, which ends gracefully, and answers with this text."""
        folder = self.folder / f"of-{name}"
        folder.mkdir()
        respond = f'listen = ":8080"\nadmin = "off"\nworkers = 1\n[[site]]\n[[site.route]]\npath = "/*"\nrespond = {{ body = "{body}" }}\n'
        (folder / "serow.toml").write_text(respond)
        binds = [f"{path}:{path}:ro" for path in LIBRARIES] + [f"{program('serow')}:/serow:ro", f"{folder}:/settings:ro"]
        return self.create(name, labels, ["/serow", "run", "-c", "/settings/serow.toml"], HostConfig={"Binds": binds})


class Container:
    def __init__(self, podman: Podman, name: str, identity: str) -> None:
        self.podman, self.name, self.identity = podman, name, identity

    def post(self, action: str) -> "Container":
        self.podman.ask("POST", f"/containers/{self.identity}/{action}")
        return self

    def start(self) -> "Container":
        return self.post("start")

    def stop(self, seconds: int = 10) -> None:
        self.post(f"stop?t={seconds}")

    def remove(self) -> None:
        self.podman.ask("DELETE", f"/containers/{self.identity}?force=true")

    def address(self) -> str:
        networks = self.podman.ask("GET", f"/containers/{self.identity}/json")["NetworkSettings"]["Networks"]
        return next(iter(networks.values()))["IPAddress"]


def busybox() -> str:
    """The program with everything in it, as busybox-static has it."""
    found = shutil.which("busybox")
    if found is None:
        raise Broken("busybox is missing: install busybox-static")
    return found
