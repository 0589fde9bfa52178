"""The provider of OpenID Connect: the server of zitadel's library, which is certified by the OpenID Foundation."""

from __future__ import annotations

import os
import pathlib
import shutil
import signal
import subprocess
import time
import urllib.error
import urllib.request

from ..server import free_port, target

# The version is fixed: it has to have the users and the client of `example/server`.
MODULE = "github.com/zitadel/oidc/v3/example/server@v3.51.17"
CLIENT, SECRET = "web", "secret"
USER, PASSWORD, SUBJECT, EMAIL = "test-user@localhost", "verysecure", "id1", "test-user@zitadel.ch"


class Missing(Exception):
    """It cannot be built here."""


def built() -> pathlib.Path:
    """Installed beside what cargo builds, once."""
    folder = target().resolve() / "tools/oidc"
    path = folder / "server"
    if not path.is_file():
        folder.mkdir(parents=True, exist_ok=True)
        go = shutil.which("go", path=os.environ.get("PATH", "") + ":/usr/local/go/bin")
        if not go:
            raise Missing("go is missing; run: tests/install login")
        made = subprocess.run([go, "install", MODULE], capture_output=True, text=True,
                              env=os.environ | {"GOBIN": str(folder), "CGO_ENABLED": "0"})
        if made.returncode != 0:
            raise Missing(f"the provider needs Go 1.26 or newer: {made.stderr.strip()[-200:]}")
    return path


class Provider:
    """Runs while the `with` block does, and can be stopped and started meanwhile."""

    def __init__(self, redirect: str) -> None:
        self.port = free_port()
        self.issuer = f"http://localhost:{self.port}/"
        self.environment = os.environ | {"PORT": str(self.port), "REDIRECT_URI": redirect}
        self.process: subprocess.Popen | None = None

    def start(self) -> None:
        self.process = subprocess.Popen([built()], env=self.environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL, start_new_session=True)
        until = time.monotonic() + 20
        while True:
            try:
                urllib.request.urlopen(f"{self.issuer}.well-known/openid-configuration", timeout=2).close()
                return
            except (OSError, urllib.error.URLError):
                if time.monotonic() > until:
                    raise TimeoutError("the provider does not respond") from None
                time.sleep(0.05)

    def stop(self) -> None:
        if self.process is not None:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait()
            self.process = None

    def __enter__(self) -> "Provider":
        self.start()
        return self

    def __exit__(self, *_) -> None:
        self.stop()
