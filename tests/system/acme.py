"""A certificate authority: pebble, with the DNS server and the certificate that it needs."""

from __future__ import annotations

import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import time
import urllib.request

from .server import Broken, free_port, target

# The newest that has ARI (RFC 9773) and profiles; Debian's has neither.
VERSION = "v2.10.1"
MODULE = "github.com/letsencrypt/pebble/v2/cmd"
DEBIAN = pathlib.Path("/usr/bin/pebble")
START_SECONDS = 20.0


class Authority:
    """Pebble, which validates names on `tls_port` and `http_port` of this machine, whatever the names are.

    It refuses some nonces in a hundred, as authorities do. A request is made three times: with pebble's default of 5, one
    in 8,000 fails for good, and with it each fiftieth run of a test with many orders; with 2, one in 125,000."""

    def __init__(self, folder: pathlib.Path, *, lifetime: int = 90 * 86400, refused_nonces: int = 2,
                 tls_port: int | None = None,
                 environment: dict[str, str] | None = None, pebble: pathlib.Path | None = None) -> None:
        self.folder = folder
        self.port, self.management, self.dns, self.control = (free_port() for _ in range(4))
        self.tls_port, self.http_port = tls_port or free_port(), free_port()
        self.lifetime = lifetime
        self.environment = {"PEBBLE_VA_NOSLEEP": "1", "PEBBLE_WFE_NONCEREJECT": str(refused_nonces), **(environment or {})}
        self.pebble = pebble or newest() or DEBIAN
        self.processes: list[subprocess.Popen] = []
        self.log = folder / "pebble.log"
        self.ca = folder / "ca.pem"

    @property
    def directory(self) -> str:
        return f"https://127.0.0.1:{self.port}/dir"

    @property
    def options(self) -> list[str]:
        """Options with which a server uses this authority."""
        return ["--acme-directory", self.directory, "--acme-ca", str(self.ca)]

    def __enter__(self) -> "Authority":
        self.folder.mkdir(parents=True, exist_ok=True)
        make_certificate(self.folder)
        self.start_dns()
        self.start()
        return self

    def __exit__(self, *_) -> None:
        for process in self.processes:
            process.kill()
            process.wait()

    def start_dns(self) -> None:
        dns = self.pebble.with_name("pebble-challtestsrv")
        # Debian's older one has no DoH, and another name for this option.
        is_newest = self.pebble != DEBIAN
        names = ["-doh", "", "-dnsserver"] if is_newest else ["-dns01"]
        self.run([dns, "-defaultIPv4", "127.0.0.1", "-defaultIPv6", "", "-http01", "", "-https01", "", "-tlsalpn01", "",
                  *names, f"127.0.0.1:{self.dns}", "-management", f"127.0.0.1:{self.control}"], "dns.log")
        deadline = time.monotonic() + START_SECONDS
        while True:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self.control)) == 0:
                    return
            if time.monotonic() > deadline or self.processes[-1].poll() is not None:
                raise Broken(f"{dns} does not start: {(self.folder / 'dns.log').read_text()[-500:]}")
            time.sleep(0.02)

    def start(self) -> None:
        """Starts pebble; after `stop`, as an authority that has forgotten everything."""
        settings = {"listenAddress": f"127.0.0.1:{self.port}", "managementListenAddress": f"127.0.0.1:{self.management}",
                    "certificate": "cert.pem", "privateKey": "key.pem", "httpPort": self.http_port,
                    "tlsPort": self.tls_port, "certificateValidityPeriod": self.lifetime,
                    "profiles": {"default": {"description": "for all", "validityPeriod": self.lifetime},
                                 "shortlived": {"description": "six days", "validityPeriod": 6 * 86400}}}
        (self.folder / "pebble.json").write_text(json.dumps({"pebble": settings}))
        starts = self.starts()
        self.run([self.pebble, "-config", "pebble.json", "-dnsserver", f"127.0.0.1:{self.dns}"], self.log.name)
        deadline = time.monotonic() + START_SECONDS
        while self.starts() == starts:
            if time.monotonic() > deadline or self.processes[-1].poll() is not None:
                raise Broken(f"pebble does not start: {self.log.read_text()[-500:]}")
            time.sleep(0.02)

    def stop(self) -> None:
        """Stops pebble, but not the DNS server."""
        process = self.processes.pop()
        process.send_signal(signal.SIGKILL)
        process.wait()

    def starts(self) -> int:
        return self.log.read_text().count("ACME directory available") if self.log.exists() else 0

    def run(self, command: list, log: str) -> None:
        with (self.folder / log).open("a") as output:
            self.processes.append(subprocess.Popen(list(map(str, command)), cwd=self.folder, stdin=subprocess.DEVNULL,
                                                   stdout=output, stderr=subprocess.STDOUT, start_new_session=True,
                                                   env={**os.environ, **self.environment}))

    def orders(self) -> int:
        """How many orders there were."""
        return len(re.findall(r"POST /order-plz", self.log.read_text()))

    def issued(self) -> int:
        """How many certificates it has issued."""
        return len(re.findall(r"Issued certificate serial", self.log.read_text()))

    def windows(self) -> int:
        """How often servers have asked it when to renew."""
        return len(re.findall(r"GET /\S*renewalInfo", self.log.read_text()))

    def accounts(self) -> int:
        """How many accounts servers have created."""
        return len(re.findall(r"There are now \d+ accounts", self.log.read_text()))

    def tell_dns(self, path: str, message: dict) -> None:
        """A command for the DNS server."""
        request = urllib.request.Request(f"http://127.0.0.1:{self.control}/{path}", json.dumps(message).encode())
        urllib.request.urlopen(request, timeout=5).read()


def newest() -> pathlib.Path | None:
    """Pebble with ARI and profiles, built into the build folder if this machine's Go is new enough."""
    folder = target() / f"pebble-{VERSION}"
    pebble = folder / "pebble"
    if not pebble.exists() and (go := shutil.which("go")):
        environment = {**os.environ, "GOBIN": str(folder), "GOFLAGS": "-mod=mod"}
        modules = [f"{MODULE}/{name}@{VERSION}" for name in ("pebble-challtestsrv", "pebble")]
        subprocess.run([go, "install", *modules], env=environment, cwd="/", stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL)
    return pebble if pebble.exists() else None


def make_certificate(folder: pathlib.Path) -> None:
    """The authority's own certificate, and what it is verified with."""
    (folder / "names").write_text("subjectAltName=DNS:localhost,IP:127.0.0.1\n")
    for command in (
        "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout ca.key -out ca.pem -days 30 -subj /CN=test",
        "req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout key.pem -out request.pem -subj /CN=localhost",
        "x509 -req -in request.pem -CA ca.pem -CAkey ca.key -CAcreateserial -out cert.pem -days 30 -extfile names",
    ):
        subprocess.run(["openssl", *command.split()], cwd=folder, check=True, stdin=subprocess.DEVNULL, capture_output=True)
