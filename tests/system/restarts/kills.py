"""The losses when processes are killed: no more than the work that they were doing."""

from __future__ import annotations

import os
import pathlib
import shutil
import signal
import socket
import subprocess
import time

from ..probe import Probe
from ..server import free_port, program
from ..verdict import Verdict
from ..wire import Connection, Response
from .running import Running, bench, exists, outcome

# The bar: how long it may take until a server is back.
BACK = 0.100
CONNECTIONS = 64
LARGE = 64 << 20


def worker_killed(verdict: Verdict, folder: pathlib.Path, short: bool) -> None:
    """kill -9 of the generation under load: what was in flight fails, nothing else, and it is back at once."""
    with Running(folder) as server:
        run = bench("-c", str(CONNECTIONS), "-t1", "-R", "4000", "-n", "12000", url=f"http://127.0.0.1:{server.port}/")
        time.sleep(1.0)
        pid = server.serving()
        with Probe(("127.0.0.1", server.port), "/", connect=Fresh) as probe:
            time.sleep(0.3)
            os.kill(pid, signal.SIGKILL)
            time.sleep(1.0)
        found = outcome(run)
        failed = sum(found["errors"].values())
        verdict.check(failed <= CONNECTIONS, f"{failed} requests failed, of {CONNECTIONS} connections: {found['errors']}")
        verdict.check(sum(found["statuses"].values()) + failed == 12000, f"lost count: {found['statuses']}, {failed}")
        failures = probe.latencies.failures
        verdict.check(len(failures) <= 1, f"new connections failed: {failures[:3]}")
        longest = probe.latencies.longest
        verdict.compare_time(longest < BACK, f"a new connection waited {longest * 1000:.0f} ms")
        verdict.check(server.serving() != pid and server.status()["reloads"]["crashes"] == 1, "no crash was counted")
        verdict.say(f"{failed} of {CONNECTIONS} connections' requests failed; {probe.latencies}")
    verdict.figure(f"kill -9 of the generation: the next one answers within {longest * 1000:.0f} ms")


class Fresh(Connection):
    """A connection for one question."""

    def ask(self, target: str, headers: dict[str, str] | None = None, method: str = "GET") -> Response:
        return super().ask(target, {"Connection": "close"}, method)


def master_killed(verdict: Verdict, folder: pathlib.Path, short: bool) -> None:
    """kill -9 of the master: the generation finishes what runs and leaves, and another server can begin at once."""
    with Running(folder) as server:
        with open(folder / "site" / "large", "wb") as file:
            file.truncate(LARGE)
        pid = server.serving()
        with socket.create_connection(("127.0.0.1", server.port)) as slow:
            slow.sendall(b"GET /large HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            received = len(slow.recv(1 << 16))
            server.process.kill()
            server.process.wait()
            began = time.monotonic()
            with Running(folder, port=server.port) as next_server:
                back = time.monotonic() - began
                verdict.figure(f"kill -9 of the master: the next 'serow run' serves after {back * 1000:.0f} ms")
                verdict.compare_time(back < 1.0, f"the next server served only after {back:.2f} s")
                verdict.check(exists(pid), "the old generation cut what was running")
                while piece := slow.recv(1 << 20):
                    received += len(piece)
                verdict.check(received > LARGE, f"the response was cut after {received} bytes")
                verdict.check(next_server.serving() != pid, "the old generation serves")
                server.wait_for("the old generation has left", lambda: not exists(pid), 30)
        verdict.check("the master is gone" in server.said(), f"nobody said that the master is gone: {server.said()[-300:]}")


def crashes_in_a_row(verdict: Verdict, folder: pathlib.Path, short: bool) -> None:
    """A generation that dies again and again is started again and again, with growing pauses."""
    with Running(folder) as server:
        pauses = []
        for _ in range(4):
            pid = server.serving()
            os.kill(pid, signal.SIGABRT)
            pauses.append(server.wait_for("another one serves", lambda: server.serving() not in (None, pid)))
        verdict.say("pauses: " + ", ".join(f"{pause * 1000:.0f} ms" for pause in pauses))
        verdict.compare_time(pauses[0] < 1.0, f"the first pause was {pauses[0]:.2f} s")
        verdict.check(all(pause >= least for pause, least in zip(pauses[1:], (0.1, 0.2, 0.4))), f"pauses: {pauses}")
        verdict.check("crashed (signal 6)" in server.said(), f"nobody said why: {server.said()[-300:]}")


def new_program(verdict: Verdict, folder: pathlib.Path, short: bool) -> None:
    """A reload takes the program that has the name by then."""
    for name in ("one", "two"):
        (folder / name).mkdir()
        shutil.copy(program("serow"), folder / name / "serow")
    (folder / "current").symlink_to("one")
    with Running(folder, path=folder / "current" / "serow") as server:
        before = os.readlink(f"/proc/{server.serving()}/exe")
        (folder / "next").symlink_to("two")
        (folder / "next").rename(folder / "current")
        server.reload()
        after = os.readlink(f"/proc/{server.serving()}/exe")
        verdict.check((before, after) == (str(folder / "one/serow"), str(folder / "two/serow")), f"{before}, then {after}")
        (folder / "current").unlink()
        done = server.command("reload", "--new-process")
        verdict.check(done.returncode == 1 and "cannot start" in done.stderr, f"without a program: {done}")
        done = server.command("reload")
        verdict.check(done.returncode == 0, f"without a program, in the same process: {done}")
        verdict.check(os.readlink(f"/proc/{server.serving()}/exe") == after, "the old generation is gone")


def stuck(verdict: Verdict, folder: pathlib.Path, short: bool) -> None:
    """A generation that hangs does not keep the server from being asked, reloaded, or ended."""
    with Running(folder, 'grace = "1s"\nreload-grace = "1s"') as server:
        pid = server.serving()
        os.kill(pid, signal.SIGSTOP)
        began = time.monotonic()
        status = server.status()
        verdict.compare_time(time.monotonic() - began < 2.0, "a stuck generation makes the status wait")
        verdict.check(status["generations"][0]["answers"] is False, f"{status['generations']}")
        server.reload()
        verdict.check(server.serving() not in (None, pid), "no other generation serves")
        if not short:
            server.wait_for("the stuck one is killed", lambda: not exists(pid), 10)
        else:
            os.kill(pid, signal.SIGKILL)


def taken(verdict: Verdict, folder: pathlib.Path, short: bool) -> None:
    """An address that somebody else has: said at the start, and at a reload nothing changes."""
    port = free_port()
    with socket.create_server(("127.0.0.1", port)):
        with Running(folder) as server:
            pid = server.serving()
            server.file.write_text(server.settings.replace(f":{server.port}", f":{port}"))
            done = server.command("reload")
            verdict.check(done.returncode == 1 and "is in use" in done.stderr, f"a taken port: {done}")
            verdict.check(server.serving() == pid, "another generation serves")
            verdict.check(server.status()["reloads"]["failed"] == 1, "the failed reload was not counted")
        began = time.monotonic()
        done = subprocess.run([program("serow"), "run", "-c", server.file], capture_output=True, text=True, timeout=60)
        verdict.check(done.returncode == 1 and "is in use" in done.stderr, f"a taken port at the start: {done}")
        verdict.compare_time(time.monotonic() - began < 5, "it took long to say so")


CASES = [worker_killed, master_killed, crashes_in_a_row, new_program, stuck, taken]
