"""The test of the container image: with crun, a read-only root and users that the image does not know."""

from __future__ import annotations

import json
import pathlib
import socket
import subprocess
import tempfile
import time

from . import project
from .binaries import ARCHITECTURES, TARGETS, is_native
from .container import Container, Image
from .error import ChannelError
from .isolation import Program, emulator, fetch, require, require_root

URL = "http://127.0.0.1:8080/"
WELCOME = b"Serow serves this page"
# Of the unpacked image.
MAX_BYTES = 16_000_000
# More than the kernel's queues hold, so that the response is in progress when the container has to end.
LARGE = 64 << 20


def prepare() -> None:
    """Fetches nothing."""
    require_root("the container image")


def test(artifacts: list[pathlib.Path]) -> float:
    """Seconds from the image to the page."""
    image, bill = artifacts
    check_format(image, bill)
    seconds, too_large = [], []
    for target in TARGETS:
        with tempfile.TemporaryDirectory() as parent:
            bundle = pathlib.Path(parent)
            (bundle / "rootfs").mkdir()
            size, time_to_page = run(image, target, bundle)
            seconds.append(time_to_page)
            if size > MAX_BYTES:
                too_large.append(f"the image for {ARCHITECTURES[target]} has {size:,} bytes; the limit is {MAX_BYTES:,}")
    # Last, so that it hides no other fault.
    if too_large:
        raise ChannelError(f"{'; '.join(too_large)}; all else passed, with a page after {max(seconds):.1f} s")
    return max(seconds)


def check_format(image: pathlib.Path, bill: pathlib.Path) -> None:
    """Other programs read the image and the list of its contents."""
    with tempfile.TemporaryDirectory() as folder:
        source = f"oci-archive:{image}:{project.NAME}:{project.version()}"
        project.run(["skopeo", "--insecure-policy", "copy", "--all", source, f"dir:{folder}"])
    project.run([project.TOOLS / "bin" / "pyspdxtools", "--infile", bill])


def run(path: pathlib.Path, target: str, bundle: pathlib.Path) -> tuple[int, float]:
    """Bytes of the unpacked image of an architecture, and seconds until it serves its page."""
    began = time.monotonic()
    image = Image(path, ARCHITECTURES[target])
    size = image.unpack(bundle / "rootfs")
    if not is_native(target):
        command = [*emulator(bundle / "rootfs", target), "/serow", "files", "/public", "--listen", ":8080"]
        with Program(command, root=bundle / "rootfs", user=65532) as running:
            require(running.fetch(URL), WELCOME, URL)
            return size, time.monotonic() - began
    with Container(bundle, image.settings) as container:
        require(container.fetch(URL), WELCOME, URL)
        seconds = time.monotonic() - began
        container.execute(image.settings["Healthcheck"]["Test"][1:])
        reload(container)
        container.kill("TERM")
        wait(container)
    serve_folder(bundle, image)
    return size, seconds


def reload(container: Container) -> None:
    """HUP starts another generation."""
    def reloads() -> int:
        status = container.execute(["/serow", "status", "--json", "-c", "/etc/serow/serow.toml"])
        return json.loads(status)["reloads"]["done"]

    container.kill("HUP")
    deadline = time.monotonic() + 10
    while reloads() != 1:
        if time.monotonic() > deadline:
            raise ChannelError(f"HUP did not reload: {container.output()}")
        time.sleep(0.1)
    require(fetch(URL), WELCOME, URL)


def serve_folder(bundle: pathlib.Path, image: Image) -> None:
    """Any user can serve a mounted folder, and TERM waits for a response in progress."""
    with tempfile.TemporaryDirectory() as folder:
        public = pathlib.Path(folder)
        public.chmod(0o755)
        (public / "index.html").write_text("mounted")
        with (public / "large").open("wb") as large:
            large.truncate(LARGE)
        # As OpenShift chooses it: a number that nobody has, and root's group.
        with Container(bundle, image.settings, user="1000650000:0", folders={"/public": public}) as container:
            require(container.fetch(URL), b"mounted", URL)
            with socket.create_connection(("127.0.0.1", 8080), timeout=10) as client:
                client.sendall(b"GET /large HTTP/1.1\r\nHost: localhost\r\n\r\n")
                received = len(client.recv(1 << 16))
                container.kill("TERM")
                time.sleep(0.5)
                while received < LARGE:
                    some = len(client.recv(1 << 20))
                    if some == 0:
                        raise ChannelError(f"TERM ended a response after {received} of {LARGE} bytes")
                    received += some
            wait(container)


def wait(container: Container) -> None:
    """The container ends with 0."""
    try:
        code = container.process.wait(10)
    except subprocess.TimeoutExpired as error:
        raise ChannelError(f"the container did not end within 10 s of TERM: {container.output()}") from error
    if code != 0:
        raise ChannelError(f"the container ended with {code} after TERM: {container.output()}")
