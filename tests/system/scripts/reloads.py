"""New versions of a script while requests come, and versions that cannot be run."""

from __future__ import annotations

import concurrent.futures
import os
import pathlib
import signal
import subprocess
import time
from collections.abc import Callable

from ..restarts.running import Running, bench, outcome
from ..server import program, resident_bytes
from ..verdict import Verdict

VERSION = 'return { request = function() return { headers = { x_version = "%d" }, body = "%s" } end }'
ROOM_BYTES = 5_000_000


def replace(path: pathlib.Path, text: str) -> None:
    other = path.with_suffix(".new")
    other.write_text(text)
    os.replace(other, path)


def outcome_amid(run: subprocess.Popen, change: Callable[[int], object]) -> tuple[dict, int]:
    """The outcome of a load beside which something changes each second, and how often it did. The report is longer than a pipe
    holds, so it is read meanwhile."""
    with concurrent.futures.ThreadPoolExecutor(1) as reader:
        report, changes = reader.submit(outcome, run), 0
        while not report.done():
            changes += 1
            change(changes)
            time.sleep(1)
        return report.result(), changes


def another_version_each_second(verdict: Verdict, folder: pathlib.Path, short: bool) -> None:
    """1,000,000 requests while another version of the script is loaded every second; in short, 20,000."""
    server = Running(folder)
    script = folder / "rules.lua"
    script.write_text(VERSION % (0, "x" * 100))
    server.file.write_text('script = "rules.lua"\n' + server.settings)
    requests = 20_000 if short else 1_000_000
    with server:
        outcome(bench("-c32", "-t1", "-n", "5000", url=f"http://127.0.0.1:{server.port}/"))
        server.reload()
        before = resident_bytes(server.process.pid) + resident_bytes(server.serving())
        run = bench("-c32", "-t1", "-n", str(requests), "-R", "5000", url=f"http://127.0.0.1:{server.port}/")

        def next_version(number: int) -> None:
            replace(script, VERSION % (number, "x" * 100))
            server.reload()

        found, version = outcome_amid(run, next_version)
        errors = {kind: number for kind, number in found["errors"].items() if number}
        verdict.check(not errors and found["statuses"] == {"200": requests}, f"{errors} {found['statuses']}")
        url = f"http://127.0.0.1:{server.port}/"
        said = subprocess.run(["curl", "-si", url], capture_output=True, text=True).stdout
        verdict.check(f"x-version: {version}" in said, f"version {version} is not there: {said[:300]}")
        grown = resident_bytes(server.process.pid) + resident_bytes(server.serving()) - before
        verdict.check(grown < ROOM_BYTES, f"master and generation have grown by {grown / 1e6:.1f} MB")
        verdict.figure(f"{version} versions during {requests} requests: 0 failed; memory {grown / 1e6:+.1f} MB")


# A script, and a part of the error message.
WRONG = [
    ("return { request = function( end }", "rules.lua:1:30: "),
    ("return { reqest = function() end }", "\"reqest\" is not a function that Serow calls"),
    ("return { setup = function() while true do end end, request = function() end }", "has reached its limit of time"),
    ("require('missing')", "rules.lua:1: require \"missing\""),
    (None, "No such file"),
]


def wrong_versions_are_refused(verdict: Verdict, folder: pathlib.Path, _short: bool) -> None:
    """`serow check` names the place; a reload fails, and the old version goes on."""
    server = Running(folder)
    script = folder / "rules.lua"
    script.write_text(VERSION % (1, "old"))
    server.file.write_text('script = "rules.lua"\n' + server.settings)
    with server:
        for text, expected in WRONG:
            script.unlink(missing_ok=True)
            if text is not None:
                script.write_text(text)
            checked = subprocess.run([program("serow"), "check", "-c", server.file], capture_output=True, text=True)
            verdict.check(checked.returncode != 0 and expected in checked.stderr, f"{text}: {checked.stderr[:300]}")
            reloaded = server.command("reload")
            verdict.check(reloaded.returncode != 0, f"{text}: the reload succeeds")
            body = subprocess.run(["curl", "-s", f"http://127.0.0.1:{server.port}/"], capture_output=True, text=True).stdout
            verdict.check(body == "old", f"{text}: the old version is gone: {body[:200]}")
    verdict.figure(f"{len(WRONG)} wrong versions refused, the old one went on")


# Counts requests, beside values that come and go.
COUNTER = """
return { request = function(request)
  local sum = serow.shared.incr("sum")
  serow.shared.set("beside " .. sum % 100, ("x"):rep(sum % 3000), 5)
  return { body = ("%d"):format(sum) }
end }
"""
CLEARED = "serow.shared was cleared: "
# After more crashes, the master waits before it starts the next generation.
KILLS = 5


def counting_server(folder: pathlib.Path) -> Running:
    server = Running(folder)
    (folder / "rules.lua").write_text(COUNTER)
    server.file.write_text('script = "rules.lua"\n' + server.settings)
    return server


def counted(server: Running) -> int | None:
    """The number of requests, with this one; None without a response."""
    url = f"http://127.0.0.1:{server.port}/"
    said = subprocess.run(["curl", "-s", "-m", "10", url], capture_output=True, text=True).stdout
    return int(said) if said.isdecimal() else None


def the_dictionary_outlives_reloads(verdict: Verdict, folder: pathlib.Path, short: bool) -> None:
    """A reload each second: `incr` counts each request once, whichever generation handles it."""
    requests = 20_000 if short else 200_000
    with counting_server(folder) as server:
        run = bench("-c32", "-t1", "-n", str(requests), "-R", "4000", url=f"http://127.0.0.1:{server.port}/")
        found, reloads = outcome_amid(run, lambda _: server.replace())
        verdict.check(found["statuses"] == {"200": requests}, f"{found['errors']} {found['statuses']}")
        sum_after = counted(server)
        verdict.check(sum_after == requests + 1, f"{requests} requests, and 1: {sum_after}")
        verdict.check(CLEARED not in server.said(), "a reload cleared the dictionary")
    verdict.figure(f"{requests} requests during {reloads} reloads, counted in the dictionary: {sum_after - 1}")


def kill_amid_changes(verdict: Verdict, server: Running) -> int:
    """Kills generations under load; says how often the dictionary was cleared."""
    last, resets = 0, 0
    for _ in range(KILLS):
        load = bench("-c16", "-t1", "-n", "1000000", "-R", "4000", url=f"http://127.0.0.1:{server.port}/")
        pid = server.serving()
        for step in range(20):
            now = counted(server)
            if now is not None:
                resets += now <= last
                last = now
            if step == 7:
                os.kill(pid, signal.SIGKILL)
                server.wait_for("another generation serves", lambda: server.serving() not in (pid, None))
        load.kill()
        load.communicate()
    clears = server.said().count(CLEARED)
    verdict.check(last > 0, "nothing was counted")
    verdict.check(resets <= clears, f"the counter went back {resets} times, and the log has {clears} clears")
    verdict.check("panic" not in server.said(), server.said()[-300:])
    return clears


def the_dictionary_outlives_crashes(verdict: Verdict, folder: pathlib.Path, short: bool) -> None:
    """kill -9 of the generation amid changes: the counter goes on, or the log says that the dictionary was cleared."""
    rounds, clears = 1 if short else 10, 0
    for number in range(rounds):
        place = folder / str(number)
        place.mkdir()
        with counting_server(place) as server:
            clears += kill_amid_changes(verdict, server)
    verdict.figure(f"{rounds * KILLS} kills amid changes: {clears} cleared the dictionary, the others kept the counter")


CASES = [
    another_version_each_second, wrong_versions_are_refused, the_dictionary_outlives_reloads,
    the_dictionary_outlives_crashes,
]
