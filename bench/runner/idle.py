"""Many connections that have asked once and now wait: what they cost in memory and in processor time."""

from __future__ import annotations

import time

from . import load, machine, meter, servers, store, works
from .matrix import matches, say
from .process import Broken, Running

CONNECTIONS = 10_000
SECONDS = 10.0
# One source address has some 28,000 ports, but other runs may still hold many of them.
ADDRESSES = 4
SETTLE = 0.5
SUBJECTS = ("serow-hello", "hyper", "nginx", "epoll")


def measure(run: store.Run, only: tuple[str, ...], connections: int = CONNECTIONS, seconds: float = SECONDS) -> dict:
    reached = machine.raise_open_files()
    if reached < connections + 100:
        raise load.Failed(f"only {reached} open files allowed; run: ulimit -n {machine.OPEN_FILES}")
    rows = []
    for name in SUBJECTS:
        label = f"idle/tcp/{connections}/{name}"
        if servers.server(name).program not in run.programs or not matches(label, only):
            continue
        row = {"server": name, "connections": connections, "seconds": seconds, "error": None}
        try:
            row |= held(run, servers.server(name), connections, seconds)
            say(f"{label}: {row['pss'] / 1024:.2f} KB a connection, {row['cpu_ms']:.2f} ms in {seconds:.0f} s")
        except (Broken, load.Failed, OSError) as error:
            row["error"] = str(error)
            say(f"{label}: {error}")
        rows.append(row)
    return {"rows": rows}


def held(run: store.Run, server: servers.Server, connections: int, seconds: float) -> dict:
    with Running(server, works.work("memory"), "tcp", run.programs[server.program], run.folder) as running:
        pids = running.pids()
        time.sleep(SETTLE)
        resident, proportional = meter.memory(pids)
        with load.Own(run.programs["load"], running, connections, requests=1, keep=True, addresses=ADDRESSES) as own:
            own.count()
            time.sleep(SETTLE)
            resident_after, proportional_after = meter.memory(pids)
            before = meter.on_processor(pids)
            time.sleep(seconds)
            used = meter.on_processor(pids) - before
            still_open = own.let_go()["open"]
    if still_open != connections:
        raise load.Failed(f"the server closed {connections - still_open} of {connections} idle connections")
    return {
        "rss": (resident_after - resident) / connections,
        "pss": (proportional_after - proportional) / connections,
        "cpu_ms": used / 1e6,
    }
