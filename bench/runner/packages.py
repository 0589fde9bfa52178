"""The peers and tools that come from Debian's packages."""

from __future__ import annotations

import os
import shutil
import subprocess

from . import machine

# Without a peer's package, the comparison leaves the peer out; without a tool's, the tool's subcommand does not run.
PACKAGES = ("nginx", "h2o", "haproxy", "ghc", "libghc-warp-dev", "wrk", "nghttp2-client", "valgrind", "strace", "gcc",
            "libc6-dev", "util-linux")
OF_TABLE = ("nginx", "haproxy", "nghttp2-client", "openssl", "gcc", "libc6-dev", "libssl-dev", "util-linux")

INSTALL_LIMIT = 900


def missing(packages: tuple[str, ...] = PACKAGES) -> list[str]:
    if not shutil.which("dpkg-query"):
        return []
    return [package for package in packages if not machine.package_version(package)]


def install(others: list[str] | None = None, packages: tuple[str, ...] = PACKAGES) -> str | None:
    """Installs which of the packages are missing where it may, and the others; otherwise returns the line to show."""
    wanted = missing(packages) + (others or [])
    if not wanted:
        return None
    command = ["apt-get", "install", "-y", "--no-install-recommends", *wanted]
    if os.geteuid() != 0:
        return f"not installed: {' '.join(wanted)}; run: sudo {' '.join(command)}"
    print(f"installing {' '.join(wanted)}", flush=True)
    environment = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
    try:
        for step in (["apt-get", "update"], command):
            subprocess.run(step, check=True, env=environment, timeout=INSTALL_LIMIT,
                           stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    except (OSError, subprocess.SubprocessError) as error:
        reason = (getattr(error, "stderr", None) or str(error)).strip().splitlines()[-1]
        return f"could not install {' '.join(wanted)}: {reason}"
    return None
