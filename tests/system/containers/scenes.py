"""Containers start, stop and are replaced, and clients send requests meanwhile."""

from __future__ import annotations

import json
import pathlib
import signal
import socket
import statistics
import subprocess
import threading
import time

from ..polling import wait_until
from ..server import Broken, program
from ..verdict import Verdict
from .front import Front
from .podman import Podman

BUSYBOX = "/bin/busybox"


def life(verdict: Verdict, podman: Podman, folder: pathlib.Path) -> None:
    """Containers start, pause, scale, stop and come back; so do the service and the server."""
    settings = 'hosts = ["*.example"]\nkeep = "6s"\nallowed-keys = ["max-body"]'
    site = '[[site]]\nhosts = ["taken.example"]\n[[site.route]]\npath = "/*"\nrespond = { body = "own" }'
    with Front(folder, str(podman.socket), settings, site) as front:
        def check(status: int, host: str, what: str, path: str = BUSYBOX) -> None:
            verdict.check(front.becomes(status, host, path), f"{what}: {front.answer(host, path)[0]} and not {status}")

        verdict.check(front.becomes(421, "one.example"), "a host without containers is served")
        one = podman.small("one", {"serow.host": "one.example", "serow.port": "8080"}).start()
        check(200, "one.example", "a started container")
        one.post("pause")
        check(503, "one.example", "a paused container")
        one.post("unpause")
        check(200, "one.example", "a container that goes on")
        one.post("restart?t=0")
        check(200, "one.example", "a container that was restarted")
        two = podman.small("two", {"serow.host": "one.example", "serow.port": "8080"}).start()
        verdict.check(wait_until(lambda: front.containers()["servers"] == 2), "a second replica is not a server")
        one.remove()
        check(200, "one.example", "the other replica")
        two.remove()
        check(503, "one.example", "a host whose containers have gone")
        check(421, "one.example", "a host whose containers have gone for some time")

        rule = "Host(`t.example`) && PathPrefix(`/bin`)"
        traefik = {"traefik.enable": "true", "traefik.http.routers.t.rule": rule,
                   "traefik.http.services.t.loadbalancer.server.port": "8080"}
        third = podman.small("three", traefik).start()
        check(200, "t.example", "labels of Traefik")
        check(404, "t.example", "a path that no label has", "/other")

        for name, labels, reason in (
                ("thief", {"serow.host": "taken.example", "serow.port": "8080"}, "a site of the settings has this host"),
                ("foreign", {"serow.host": "elsewhere.test", "serow.port": "8080"}, "`hosts` of [docker] does not allow"),
                ("program", {"serow.host": "p.example", "serow.app": "sh"}, "labels may not set this key"),
                ("portless", {"serow.host": "q.example"}, "names no port")):
            container = podman.small(name, labels).start()
            verdict.check(wait_until(lambda: any(name in text and reason in text for text in front.containers()["refused"])),
                          f"{name} is not refused: {front.containers()['refused']}")
            container.remove()
        verdict.check(front.answer("taken.example") == (200, "own"), "a container has taken the host of a site")

        # Whatever happens to the service, what is known is served; what happened meanwhile is seen afterwards.
        podman.stop_service()
        verdict.check(wait_until(lambda: not front.is_connected()), "the end of the service is not noticed")
        verdict.check(front.answer("t.example", BUSYBOX)[0] == 200, "routes have gone with the service")
        podman.start_service()
        verdict.check(wait_until(front.is_connected), "the service is not connected again")
        fourth = podman.small("four", {"serow.host": "four.example", "serow.port": "8080"}).start()
        check(200, "four.example", "a container after the service was restarted")
        front.end(signal.SIGKILL)
        wait_until(lambda: subprocess.run(["fuser", "-s", f"{front.port}/tcp"]).returncode != 0, 5)
        front.start()
        check(200, "four.example", "a container after the server was killed")
        third.remove()
        fourth.remove()
        verdict.check("panicked" not in front.said(), f"it panicked: {front.said()[-1000:]}")


def update(verdict: Verdict, podman: Podman, folder: pathlib.Path, seconds: int, rate: int) -> None:
    """Versions of a container replace one another while requests come."""
    labels = {"serow.host": "shop.example", "serow.port": "8080"}
    with Front(folder, str(podman.socket)) as front:
        old = podman.serow("shop-0", labels, "version 0").start()
        verdict.check(front.becomes(200, "shop.example"), f"the first version is not reached: {front.said()[-1000:]}")
        command = [str(program("serow")), "bench", "-c", "20", "-t", "1", "-R", str(rate), "-d", f"{seconds}s", "--json",
                   "-H", "Host: shop.example", f"http://127.0.0.1:{front.port}/"]
        load = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        versions = 0
        while load.poll() is None:
            versions += 1
            new = podman.serow(f"shop-{versions}", labels, f"version {versions}").start()
            # As a deployment does: it waits until the new one serves.
            wait_until(lambda: front.answer("shop.example")[1] == f"version {versions}" or load.poll() is not None)
            # Every second one without any warning.
            if versions % 2:
                old.stop()
            else:
                old.post("kill?signal=KILL")
            old.remove()
            old = new
        output, said = load.communicate()
        if load.returncode != 0:
            raise Broken(f"serow bench: {said}")
        old.remove()
        found = json.loads(output)
        failed = failures(found)
        verdict.check(failed == {}, f"{versions} versions replaced one another, and requests failed: {failed}")
        verdict.figure(f"{versions} versions under {rate} requests/s for {seconds} s: {failed or 'no request failed'}")


def failures(found: dict) -> dict:
    """The requests without a response with status 200, by kind."""
    statuses = {status: count for status, count in found.get("statuses", {}).items() if status != "200" and count}
    errors = {kind: count for kind, count in found.get("errors", {}).items() if count}
    return {**statuses, **errors}


def latency(verdict: Verdict, podman: Podman, folder: pathlib.Path, count: int) -> None:
    """How long after its start a container answers through Serow, compared with its own server."""
    with Front(folder, str(podman.socket)) as front:
        verdict.check(wait_until(front.is_connected), "the containers are not seen")
        containers, answered, behind = [], [], []
        for number in range(count):
            host = f"c{number}.example"
            container = podman.small(f"c{number}", {"serow.host": host, "serow.port": "8080"})
            containers.append(container)
            routed = First(lambda: ask("127.0.0.1", front.port, host))
            container.start()
            began = time.monotonic()
            address = container.address()
            own = First(lambda: ask(address, 8080, host))
            answered.append(routed.time() - began)
            behind.append(routed.time() - max(own.time(), began))
        for name, times in (("from the answer to start", answered), ("from its own server's first answer", behind)):
            text = f"{count} containers, first answer {name}: p50 {quantile(times, 50):.0f} ms, p99 {quantile(times, 99):.0f} ms"
            verdict.figure(text)
        verdict.compare_time(quantile(answered, 99) <= 100, "p99 from the answer to start is more than 100 ms")
        for container in containers:
            container.remove()


class First:
    """When a request is answered with 200 for the first time, on a thread of its own."""

    def __init__(self, request) -> None:
        self.request, self.at = request, None
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def run(self) -> None:
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            if self.request():
                self.at = time.monotonic()
                return
            time.sleep(0.002)

    def time(self) -> float:
        self.thread.join()
        if self.at is None:
            raise Broken("a container is not reached within 30 s")
        return self.at


def ask(address: str, port: int, host: str) -> bool:
    try:
        with socket.create_connection((address, port), 5) as connection:
            connection.sendall(f"HEAD {BUSYBOX} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode())
            return connection.recv(100).split(b" ")[1:2] == [b"200"]
    except OSError:
        return False


def quantile(times: list[float], percent: int) -> float:
    """In milliseconds."""
    ordered = sorted(times)
    if percent == 50:
        return statistics.median(ordered) * 1000
    return ordered[min(len(ordered) - 1, len(ordered) * percent // 100)] * 1000
