"""The machine: its cores, what it can count, and what a reader must know to judge the figures."""

from __future__ import annotations

import datetime
import os
import pathlib
import platform
import re
import resource
import shutil
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
BENCH = ROOT / "bench"

# 10,000 held connections in one process, twice (the server's and ours), and room for what else is open.
OPEN_FILES = 20_000


def cores() -> tuple[int | None, int | None]:
    """One core for the server and one for the load; nothing to choose from on a machine with one."""
    usable = sorted(os.sched_getaffinity(0))
    return (usable[0], usable[1]) if len(usable) > 1 else (None, None)


def pinned(core: int | None) -> list[str]:
    return [] if core is None else ["taskset", "-c", str(core)]


def raise_open_files(wanted: int = OPEN_FILES) -> int:
    """The soft limit is inherited by everything started from here; returns what was reached."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < wanted:
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, wanted))
            return wanted
        except (ValueError, OSError):
            pass
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return hard


def output(*command: str) -> str:
    """The output of a program, or nothing if it fails or is not installed."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=30, cwd=ROOT)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return (done.stdout or done.stderr).strip() if done.returncode == 0 else ""


def package_version(package: str) -> str:
    version = output("dpkg-query", "-W", "-f", "${Version}", package)
    return re.sub(r"^\d+:", "", version)


def locked_version(crate: str, lock: pathlib.Path) -> str:
    found = re.search(rf'name = "{crate}"\nversion = "([^"]+)"', lock.read_text()) if lock.exists() else None
    return found.group(1) if found else ""


def versions() -> dict[str, str]:
    lock = BENCH / "peers/hyper/Cargo.lock"
    found = {name: package_version(package) for name, package in
             (("nginx", "nginx"), ("h2o", "h2o"), ("HAProxy", "haproxy"), ("Warp", "libghc-warp-dev"), ("wrk", "wrk"),
              ("valgrind", "valgrind"), ("strace", "strace"))}
    found |= {crate: locked_version(crate, lock) for crate in ("hyper", "axum", "tokio")}
    found["gcc"] = output("cc", "-dumpfullversion")
    found["rustc"] = output("rustc", "--version").removeprefix("rustc ").split(" (")[0]
    return {name: version for name, version in found.items() if version}


def commit() -> str:
    name = output("git", "rev-parse", "--short", "HEAD")
    changed = output("git", "status", "--porcelain", "--", "crates", "examples", "bench", "Cargo.toml")
    return f"{name} with changes" if name and changed else name


def processor() -> str:
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.machine()


def distribution() -> str:
    for line in pathlib.Path("/etc/os-release").read_text().splitlines():
        if line.startswith("PRETTY_NAME="):
            return line.split("=", 1)[1].strip('"')
    return platform.system()


def about() -> dict:
    """Stored with every result, so that a table never stands without the machine it was measured on."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    virtual = output("systemd-detect-virt") if shutil.which("systemd-detect-virt") else ""
    hypervisor = "hypervisor" in pathlib.Path("/proc/cpuinfo").read_text()
    return {
        "date": datetime.date.today().isoformat(),
        "commit": commit(),
        "processor": processor(),
        "cores": len(os.sched_getaffinity(0)),
        "virtual": bool(hypervisor or virtual not in ("", "none")),
        "memory_gib": round(memory),
        "kernel": platform.release(),
        "system": distribution(),
        "load_average": os.getloadavg()[0],
        "versions": versions(),
    }
