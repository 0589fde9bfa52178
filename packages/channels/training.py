"""The training run of profile-guided optimisation: an instrumented binary under load, and the profile of it."""

from __future__ import annotations

import contextlib
import hashlib
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator

from . import project
from .error import ChannelError

FOLDER = project.TARGET / "training"
# The duration of one load, and the time limit for a server to start or stop.
LOAD_SECONDS = 3
PATIENCE = 30.0
APPLICATION = b"""def app(environ, start):
    start("200 OK", [("Content-Type", "text/plain"), ("Content-Length", "13")])
    return [b"Hello, World!"]
"""
SCRIPT = b"""return { request = function(request) request.headers["x-trained"] = "yes" end }
"""


# `packages/train` writes it, and builds for every target use it if it exists: it counts functions and their branches
# before they become instructions, which are nearly the same for each processor and libc.
PROFILE = FOLDER / "serow.profdata"


def flags() -> list[str]:
    """Flags that a build adds to RUSTFLAGS."""
    if not PROFILE.exists():
        return []
    # A function that a target has differently is optimised as without a profile.
    quiet = "-Cllvm-args=-pgo-warn-missing-function=false -Cllvm-args=-no-pgo-warn-mismatch"
    return [f"-Cprofile-use={named_by_content(PROFILE)}", quiet]


def named_by_content(profile: pathlib.Path) -> pathlib.Path:
    """A copy with its digest in its name: cargo compiles dependencies again only where the flags differ."""
    digest = hashlib.sha256(profile.read_bytes()).hexdigest()
    copy = profile.with_name(f"{profile.stem}-{digest[:16]}.profdata")
    if not copy.exists():
        for old in profile.parent.glob(f"{profile.stem}-*.profdata"):
            old.unlink()
        shutil.copyfile(profile, copy)
    return copy


def train(binary: pathlib.Path) -> pathlib.Path:
    """Runs the instrumented binary and writes the profile."""
    with tempfile.TemporaryDirectory(prefix="serow-training-") as scratch:
        raw = pathlib.Path(scratch, "raw")
        raw.mkdir()
        runs = Runs(binary, pathlib.Path(scratch), os.environ | {"LLVM_PROFILE_FILE": f"{raw}/%p.profraw"})
        runs.all()
        files = sorted(raw.iterdir())
        if not files:
            raise ChannelError(f"{binary} wrote no profile; is it instrumented?")
        PROFILE.parent.mkdir(parents=True, exist_ok=True)
        project.run([str(merger()), "merge", "-o", str(PROFILE), *map(str, files)])
    return PROFILE


def merger() -> pathlib.Path:
    """llvm-profdata of the compiler's own LLVM: others do not read its profiles."""
    library = pathlib.Path(project.run(["rustc", "--print", "target-libdir"]).strip()).parent
    path = library / "bin" / "llvm-profdata"
    if not path.exists():
        raise ChannelError(f"{path} is missing; run: rustup component add llvm-tools")
    return path


class Runs:
    """The load that trains the servers: files, a proxy, an application and a script, over each version of HTTP."""

    def __init__(self, binary: pathlib.Path, scratch: pathlib.Path, environment: dict[str, str]) -> None:
        self.binary, self.scratch, self.environment = str(binary), scratch, environment
        self.site = scratch / "site"
        self.site.mkdir()
        # A server that root starts changes to another user, who reads the site.
        scratch.chmod(0o755)
        for name, size in {"small.txt": 151, "page.html": 10_240, "large.bin": 1_048_576}.items():
            (self.site / name).write_bytes((b"%07d The serow lives in the mountains of Japan.\n" * 32_768 % tuple(range(32_768)))[:size])
        (scratch / "app.py").write_bytes(APPLICATION)
        (scratch / "rules.lua").write_bytes(SCRIPT)

    def all(self) -> None:
        files = ["files", str(self.site)]
        with self.server(files) as plain:
            self.loads(f"http://{plain}", [], ["--http2"])
            with self.server(["proxy", plain]) as proxy:
                self.loads(f"http://{proxy}", [], ["--http2"])
            with self.server(["proxy", plain, "--cache", "16M"]) as cache:
                self.load(f"http://{cache}/page.html")
            with self.server(["proxy", plain, "--script", str(self.scratch / "rules.lua")]) as script:
                self.load(f"http://{script}/small.txt")
            with self.server(["proxy", plain, "--tls", "self-signed"]) as proxy:
                self.loads(f"https://{proxy}", ["-k"], ["-k", "--http2"])
        with self.server([*files, "--tls", "self-signed"]) as encrypted:
            self.loads(f"https://{encrypted}", ["-k"], ["-k", "--http2"], ["-k", "-3"])
        with self.server(["app", f"{self.scratch}/app.py:app", "--processes", "1"]) as app:
            self.load(f"http://{app}/")

    @contextlib.contextmanager
    def server(self, arguments: list[str]) -> Iterator[str]:
        """A server while the block runs: its address. It ends in order, since a profile is written at the end."""
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            address = f"127.0.0.1:{probe.getsockname()[1]}"
        log = self.scratch / "log"
        with open(log, "wb") as errors:
            process = subprocess.Popen([self.binary, *arguments, "--listen", address, "--workers", "1"], env=self.environment,
                                       stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=errors)
        try:
            self.wait_for(process, address, log)
            yield address
        finally:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    @staticmethod
    def wait_for(process: subprocess.Popen, address: str, log: pathlib.Path) -> None:
        host, port = address.split(":")
        until = time.monotonic() + PATIENCE
        while process.poll() is None and time.monotonic() < until:
            with contextlib.suppress(OSError):
                socket.create_connection((host, int(port)), 1).close()
                return
            time.sleep(0.05)
        raise ChannelError(f"training: a server does not listen on {address}: {log.read_text(errors='replace').strip()}")

    def loads(self, url: str, *versions: list[str]) -> None:
        """Small and large files, compressed ones, and files that the client has."""
        for options in versions:
            self.load(f"{url}/small.txt", *options)
            self.load(f"{url}/page.html", *options, "-H", "Accept-Encoding: gzip", "-H", "User-Agent: Mozilla/5.0")
            self.load(f"{url}/large.bin", *options, "-c", "4")
            self.load(f"{url}/small.txt", *options, "-H", "If-None-Match: *")

    def load(self, url: str, *options: str) -> None:
        command = [self.binary, "bench", "-t", "1", "-c", "32", "-d", f"{LOAD_SECONDS}s", *options, url]
        ended = subprocess.run(command, env=self.environment, capture_output=True, text=True, timeout=10 * PATIENCE, check=False)
        if ended.returncode != 0:
            raise ChannelError(f"training: {' '.join(command[1:])}: {ended.stderr.strip() or ended.stdout.strip()}")
