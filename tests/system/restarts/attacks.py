"""Attacks on a master: strangers in place of generations, storms of signals, processes that hang or die at the worst
moment."""

from __future__ import annotations

import contextlib
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import time

from ..server import program
from ..verdict import Verdict
from .running import Running, bench, exists, outcome


def replaced_by_stranger(server: Running, folder: pathlib.Path, way: str) -> None:
    """From now on, the program of this name is not Serow."""
    (folder / "way").write_text(way)
    shutil.copy(pathlib.Path(__file__).with_name("stranger.py"), folder / "next")
    (folder / "next").chmod(0o755)
    (folder / "next").rename(server.path)


def with_a_name(folder: pathlib.Path, extra: str = "") -> Running:
    """A server whose program can be replaced."""
    shutil.copy(program("serow"), folder / "serow")
    return Running(folder, extra, path=folder / "serow")


def strangers(verdict: Verdict, folder: pathlib.Path, short: bool) -> None:
    """A program that is no generation does not start; one that was taken over gets nothing of the master."""
    with with_a_name(folder) as server:
        before = server.serving()
        for way, expected in (("ends", "ended before it was ready"), ("garbage", "not compatible with this master")):
            replaced_by_stranger(server, folder, way)
            done = server.command("reload")
            verdict.check(done.returncode == 1 and expected in done.stderr, f"{way}: {done}")
            verdict.check(server.serving() == before, f"{way}: another generation serves")
        replaced_by_stranger(server, folder, "taken over")
        server.reload()
        stranger = server.serving()
        server.wait_for("the last word was heard", lambda: "an invalid message" in server.said().split("has exited")[-1])
        verdict.check(stranger != before and server.serving() == stranger, "a stranger ended the master")
        stolen = [name for name in ("stolen.sock", "stolen-door.sock") if (folder / name).exists()]
        verdict.check(not stolen, f"the master opened {stolen}")
        verdict.check("\x1b" not in server.said() + server.command("status").stdout, "control characters got through")
        shutil.copy(program("serow"), folder / "next")
        (folder / "next").rename(server.path)
        server.reload()
        if short:
            os.kill(stranger, signal.SIGKILL)
        server.wait_for("the stranger is killed", lambda: not exists(stranger))
        verdict.check(server.status()["generations"][0]["answers"], "the next generation does not answer")


def hanging_start(verdict: Verdict, folder: pathlib.Path, short: bool) -> None:
    """A generation that hangs before it is ready keeps nobody waiting but who asked for it, and not the end."""
    for way in ("silent", "closed"):
        place = folder / way
        place.mkdir()
        with with_a_name(place) as server:
            replaced_by_stranger(server, place, way)
            waiting = subprocess.Popen([program("serow"), "reload", "--admin", f"unix:{server.door}"],
                                       stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            server.wait_for("it starts", lambda: len(server.generations()) == 2)
            began = time.monotonic()
            verdict.check(server.status()["generations"][0]["stage"] == "starting", "nothing starts")
            verdict.compare_time(time.monotonic() - began < 0.4, f"{way}: the status waits for one that starts")
            server.process.send_signal(signal.SIGTERM)
            verdict.check(server.process.wait(30) == 0, f"{way}: no orderly end")
            verdict.check("is stopping" in waiting.communicate(timeout=30)[1], f"{way}: who waited was not told")


def storms(verdict: Verdict, folder: pathlib.Path, short: bool) -> None:
    """Reloads without number leave one generation, all askers answered, and the master as large as it was."""
    signals, askers = (200, 40) if short else (2000, 200)
    with Running(folder) as server:
        server.reload()
        descriptors, memory = size(server)
        ask = [program("serow"), "reload", "--admin", f"unix:{server.door}"]
        for _ in range(signals):
            server.process.send_signal(signal.SIGHUP)
        asking = [subprocess.Popen(ask, stdout=subprocess.PIPE, text=True) for _ in range(askers)]
        answers = [each.communicate(timeout=60)[0] for each in asking]
        verdict.check(all("serves" in answer for answer in answers), f"not all were answered: {set(answers)}")
        server.wait_for("one is left", lambda: len(server.generations()) == 1)
        reloads = server.status()["reloads"]
        verdict.check(reloads["failed"] == reloads["crashes"] == 0, f"{reloads}")
        if not short:
            for _ in range(1000 - reloads["done"]):
                server.reload()
        found = size(server)
        verdict.check(found[0] <= descriptors + 2, f"{descriptors} descriptors became {found[0]}")
        verdict.check(found[1] <= memory + 4096, f"{memory} KiB became {found[1]}")
        children = pathlib.Path(f"/proc/{server.process.pid}/task/{server.process.pid}/children").read_text().split()
        verdict.check(len(children) == 1, f"processes are left: {children}")
        verdict.figure(f"{server.status()['reloads']['done']} reloads: the master has {found[0]} descriptors and "
                       f"{found[1] / 1024:.1f} MiB, as before ({descriptors}, {memory / 1024:.1f} MiB)")


def size(server: Running) -> tuple[int, int]:
    """Open descriptors and KiB of memory of the master."""
    process = pathlib.Path(f"/proc/{server.process.pid}")
    memory = next(line for line in (process / "status").read_text().splitlines() if line.startswith("VmRSS"))
    return len(list((process / "fd").iterdir())), int(memory.split()[1])


def killed_while_reloading(verdict: Verdict, folder: pathlib.Path, short: bool) -> None:
    """Old and new die at any moment of a reload, each or both: another one serves."""
    with Running(folder) as server:
        children = pathlib.Path(f"/proc/{server.process.pid}/task/{server.process.pid}/children")
        for number in range(6 if short else 16):
            server.wait_for("a generation serves", lambda: server.serving() is not None, 30)
            server.process.send_signal(signal.SIGHUP)
            time.sleep(number % 6 * 0.007)
            for pid in children.read_text().split()[number % 2:]:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(int(pid), signal.SIGKILL)
        server.wait_for("a generation serves in the end", lambda: server.serving() is not None, 30)
        verdict.check(server.status()["reloads"]["crashes"] > 0, "nothing was killed")
        with socket.create_connection(("127.0.0.1", server.port), 30) as client:
            client.sendall(b"GET / HTTP/1.0\r\nHost: localhost\r\n\r\n")
            verdict.check(client.recv(100).startswith(b"HTTP/1.1 200"), "no answer in the end")
        verdict.check("panic" not in server.said(), f"{server.said()[-300:]}")


def changes(verdict: Verdict, folder: pathlib.Path, short: bool) -> None:
    """Workers and listeners come and go under load without keep-alive: nothing is lost at the address that stays."""
    rate, seconds = 1000, 2 if short else 10
    with Running(folder, "workers = 1") as server:
        load = bench("-c16", "-t1", "--no-keepalive", "-R", str(rate), "-n", str(rate * seconds),
                     url=f"http://127.0.0.1:{server.port}/")
        began, made = time.monotonic(), 0
        while time.monotonic() - began < seconds - 0.5:
            for workers, more in ((4, ""), (1, f'"unix:{folder}/more.sock", '), (3, '"127.0.0.1:0", ')):
                time.sleep(0.15)
                settings = server.settings.replace("workers = 1", f"workers = {workers}")
                server.file.write_text(settings.replace("listen = [", f"listen = [{more}"))
                server.reload()
                made += 1
        found = outcome(load)
        errors = {kind: number for kind, number in found["errors"].items() if number}
        verdict.check(not errors and found["statuses"] == {"200": rate * seconds}, f"{errors}, {found['statuses']}")
        # A socket that nobody accepts from answers nobody.
        verdict.compare_time(found["latency"]["max_us"] < 900_000, f"longest: {found['latency']['max_us'] / 1000:.0f} ms")
        verdict.check(not (folder / "more.sock").exists(), "the file of a socket that is not wanted is left")
        verdict.say(f"{made} changes; longest {found['latency']['max_us'] / 1000:.0f} ms")


def stopped_master(verdict: Verdict, folder: pathlib.Path, short: bool) -> None:
    """A master that does not run is not missed, until it has to do something."""
    with Running(folder, 'grace = "1s"') as server:
        pid = server.serving()
        server.process.send_signal(signal.SIGSTOP)
        found = outcome(bench("-c8", "-t1", "-n", "2000", url=f"http://127.0.0.1:{server.port}/"))
        verdict.check(found["statuses"] == {"200": 2000}, f"without the master: {found['statuses']}, {found['errors']}")
        server.process.send_signal(signal.SIGHUP)
        server.process.send_signal(signal.SIGCONT)
        server.wait_for("the reload was not forgotten", lambda: server.status()["reloads"]["done"] == 1)
        if not short:
            pid = server.serving()
            os.kill(pid, signal.SIGSTOP)
            began = time.monotonic()
            for _ in range(2):
                server.process.send_signal(signal.SIGTERM)
                time.sleep(0.2)
            server.process.wait(30)
            verdict.check(not exists(pid), "a stuck generation is left")
            verdict.compare_time(time.monotonic() - began < 7, "a stuck generation was waited for")


def systemd(verdict: Verdict, folder: pathlib.Path, short: bool) -> None:
    """The messages to systemd, with Type=notify-reload."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as told:
        told.bind(str(folder / "notify"))
        told.settimeout(30)
        hear = lambda: told.recv(1000).decode()
        with Running(folder, notify=folder / "notify") as server:
            verdict.check(hear() == "READY=1", "not ready")
            for settings in (server.settings, "nonsense"):
                server.file.write_text(settings)
                before = time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000
                server.process.send_signal(signal.SIGHUP)
                said = hear()
                moment = int(said.removeprefix("RELOADING=1\nMONOTONIC_USEC="))
                verdict.check(before <= moment, f"{said}, at {before}")
                verdict.compare_time(moment <= before + 5_000_000, f"{said}, at {before}")
                verdict.check(hear() == "READY=1", "not ready after a reload")
        verdict.check(hear() == "STOPPING=1", "the end was not announced")
        told.setblocking(False)
        with contextlib.suppress(BlockingIOError):
            verdict.check(False, f"one word too many: {told.recv(1000)}")


def stuck_askers(verdict: Verdict, folder: pathlib.Path, short: bool) -> None:
    """Clients that fill the door and say nothing keep a reload waiting for seconds, not for ever."""
    with Running(folder) as server, contextlib.ExitStack() as stack:
        for number in range(40):
            client = stack.enter_context(socket.socket(socket.AF_UNIX))
            client.connect(str(server.door))
            client.sendall(b"GET / HTTP/1.1\r\nHost: a\r\n" + (b"\r\n" if number % 2 else b"X: "))
        began = time.monotonic()
        done = server.command("status")
        verdict.check(done.returncode == 0, f"{done}")
        verdict.say(f"the status took {time.monotonic() - began:.1f} s")


CASES = [strangers, hanging_start, storms, killed_while_reloading, changes, stopped_master, systemd, stuck_askers]
