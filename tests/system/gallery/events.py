"""Events of every application: a reload and a killed worker, with requests under way."""

from __future__ import annotations

import base64
import os
import signal
import threading

from .. import wire
from ..polling import wait_until
from .instance import Instance
from .visitor import Lost

CLIENTS = 3
# Responses before and after an event.
COUNT = 5


class Readers:
    """Clients that read the same page over and over, on connections that are kept alive."""

    def __init__(self, instance: Instance) -> None:
        self.instance = instance
        fields = {}
        if instance.credentials:
            fields["Authorization"] = f"Basic {base64.b64encode(instance.credentials.encode()).decode()}"
        self.request = wire.request(instance.prefix + instance.application.path, fields, host=f"127.0.0.1:{instance.port}")
        self.is_over = False
        self.responses = [0] * CLIENTS
        self.failures: list[str] = []
        self.threads = [threading.Thread(target=self.read, args=(index,), daemon=True) for index in range(CLIENTS)]

    def __enter__(self) -> "Readers":
        for thread in self.threads:
            thread.start()
        self.progress()
        return self

    def __exit__(self, *_) -> None:
        self.is_over = True
        for thread in self.threads:
            thread.join()

    def progress(self) -> bool:
        """Whether each client has had some more responses."""
        wanted = [count + COUNT for count in self.responses]
        return wait_until(lambda: all(count >= least for count, least in zip(self.responses, wanted)), 60.0)

    def read(self, index: int) -> None:
        connection, is_fresh = None, True
        while not self.is_over:
            try:
                if connection is None:
                    connection, is_fresh = wire.Connection(self.instance.server.address, 60.0), True
                connection.send(self.request)
                response = connection.receive()
            except (OSError, wire.Cut, wire.Malformed) as error:
                # An idle connection may be closed at any time; a new one gets its response (RFC 9112 §9.3.1).
                if is_fresh:
                    self.failures.append(f"{type(error).__name__}: {error}")
                connection = None
                continue
            self.responses[index] += 1
            is_fresh = False
            if response.status != self.instance.application.status:
                self.failures.append(f"{response.status} {response.body[:100].decode(errors='replace')}")
            if response.closes:
                connection.close()
                connection = None


def reload(instance: Instance) -> list[str]:
    """The failures of requests while new workers take over; or that they did not."""
    before = instance.workers()
    if not before:
        return ["no workers found"]
    with Readers(instance) as readers:
        instance.reload()
        if not wait_until(lambda: instance.workers() and not instance.workers() & before, 180.0, 0.1):
            readers.failures.append(f"old workers {instance.workers() & before} of {before} are still there after the reload")
        if not readers.progress():
            readers.failures.append("no responses after the reload")
    return [f"reload: {failure}" for failure in readers.failures]


def kill(instance: Instance) -> list[str]:
    """The failures of requests while a worker is killed and replaced."""
    before = instance.workers()
    victim = min(before)
    with Readers(instance) as readers:
        os.kill(victim, signal.SIGKILL)
        if not wait_until(lambda: victim not in instance.workers() and len(instance.workers()) >= len(before), 120.0, 0.1):
            readers.failures.append(f"{len(instance.workers())} of {len(before)} workers after one was killed")
        with instance.visitor() as visitor:
            wait_until(lambda: answers(instance, visitor), 120.0, 0.1)
        readers.progress()
        # A program that runs once fails until it is back.
        tolerated = 0 if instance.application.has_replicas else len(readers.failures)
        if not readers.progress():
            readers.failures.append("no responses after a worker was killed")
    failures = readers.failures[tolerated:]
    return [f"killed worker: {failure}" for failure in failures]


def answers(instance: Instance, visitor) -> bool:
    try:
        return visitor.get(instance.application.path).status == instance.application.status
    except Lost:
        return False
