"""Faults of the fleet: kills during orders, a restart of Redis, and one that loses everything."""

from __future__ import annotations

import dataclasses
import random
import threading
import time

from ..acme import Authority
from ..redis import Redis
from ..verdict import Verdict
from .balancer import Balancer
from .instances import Fleet

# The lease of a killed server has to end before another one continues, and several may be killed one after the other.
LEASE_SECONDS = 30.0
LIMIT_SECONDS = 300.0
# The limit that the manual promises.
PROPAGATION_SECONDS = 2.0
SAMPLE_INTERVAL = 0.1
KILL_INTERVAL = 0.3
# Names whose certificates are looked for on all servers while they are issued.
SAMPLES = 10
# No server orders for 5 s after Redis has lost its values; a fleet that orders again, which is a fault, does so then.
OBSERVATION_SECONDS = 9.0


@dataclasses.dataclass
class Scene:
    redis: Redis
    authority: Authority
    fleet: Fleet
    balancer: Balancer


def run(verdict: Verdict, scene: Scene, kills: int, short: bool) -> None:
    began = time.monotonic()
    watch = Watch(scene.fleet)
    watch.start()
    restarted = False
    killed = 0
    limit = time.monotonic() + LIMIT_SECONDS + LEASE_SECONDS * kills / 4
    while scene.redis.certificates() < len(scene.fleet.names) and time.monotonic() < limit:
        # The kills are spread over the orders: at the end, each would cost the last name another lease. In a short run, the
        # first server creates the account in peace, or the others wait for two leases.
        issued, names = scene.redis.certificates(), len(scene.fleet.names)
        is_time = killed < kills * (issued + 1) / names and (not short or issued > 0)
        if is_time and killed < kills and kill_holder(scene):
            killed += 1
        if not restarted and killed >= kills / 2 and scene.redis.certificates() > 0:
            restart_with_values(scene)
            restarted = True
        time.sleep(KILL_INTERVAL)
    seconds = time.monotonic() - began
    verdict.check(restarted, "Redis was not restarted: the orders were faster")
    verdict.check(killed == kills, f"{killed} servers were killed, not {kills}: the orders were faster")
    for instance in scene.fleet.instances:
        instance.wait()
    watch.finish()
    names, count = len(scene.fleet.names), len(scene.fleet.instances)
    check_issued(verdict, scene, "after the kills")
    missing = [(number, name) for name in scene.fleet.names for number, instance in enumerate(scene.fleet.instances)
               if instance.certificate(name) is None]
    verdict.check(not missing, f"{len(missing)} certificates are not in use, such as {missing[:3]}")
    verdict.check(0 < len(watch.delays), "no certificate was seen on all servers")
    longest = max(watch.delays, default=0.0)
    verdict.compare_time(longest <= PROPAGATION_SECONDS, f"a certificate was in use everywhere only after {longest:.1f} s")
    verdict.check(len(scene.balancer.used) == count, f"only {len(scene.balancer.used)} of {count} servers answered validations")
    back = lose_everything(verdict, scene)
    check_issued(verdict, scene, "after Redis had lost everything")
    for number, instance in enumerate(scene.fleet.instances):
        verdict.check("panicked" not in instance.said(), f"server {number} panicked")
    issued, accounts = scene.authority.issued(), scene.authority.accounts()
    verdict.check(accounts <= 1, f"{accounts} accounts were created")
    verdict.figure(f"{count} servers, {names} names, {killed} killed while they ordered, Redis restarted twice: "
                   f"{issued} certificates issued in {seconds:.0f} s, {accounts} accounts; the slowest server used a new one "
                   f"after {longest:.2f} s; written back after {back:.1f} s")


def check_issued(verdict: Verdict, scene: Scene, when: str) -> None:
    issued, names = scene.authority.issued(), len(scene.fleet.names)
    verdict.check(issued == names, f"{when}, {issued} certificates were issued for {names} names")


def kill_holder(scene: Scene) -> bool:
    """Kills a server that orders a certificate, and starts it again."""
    holders = list(scene.redis.holders().values())
    if not holders:
        return False
    instance = scene.fleet.of_process(random.choice(holders))
    if instance is None:
        return False
    instance.kill()
    instance.start()
    return True


def restart_with_values(scene: Scene) -> None:
    scene.redis.save()
    scene.redis.kill()
    scene.redis.start()


def lose_everything(verdict: Verdict, scene: Scene) -> float:
    """Restarts Redis without its values; returns after how many seconds they are there again."""
    scene.redis.kill()
    scene.redis.forget()
    name = scene.fleet.names[0]
    time.sleep(1)
    for instance in scene.fleet.instances:
        verdict.check(instance.certificate(name) is not None, "a server lost its certificate while Redis was down")
    scene.redis.start()
    began = time.monotonic()
    back = float("inf")
    while time.monotonic() < began + OBSERVATION_SECONDS:
        if back == float("inf") and scene.redis.certificates() == len(scene.fleet.names):
            back = time.monotonic() - began
        time.sleep(0.1)
    stored = scene.redis.certificates()
    verdict.check(stored == len(scene.fleet.names), f"{stored} certificates were written back")
    return back


class Watch(threading.Thread):
    """Looks for the certificates of some names on all servers: how long after the first the last one uses it."""

    def __init__(self, fleet: Fleet) -> None:
        super().__init__(daemon=True)
        self.fleet = fleet
        self.delays: list[float] = []
        self.is_finished = threading.Event()
        step = max(1, len(fleet.names) // SAMPLES)
        self.names = fleet.names[::step][:SAMPLES]

    def run(self) -> None:
        seen: dict[str, dict[int, float]] = {name: {} for name in self.names}
        while not self.is_finished.is_set() and seen:
            for name, times in list(seen.items()):
                for number, instance in enumerate(self.fleet.instances):
                    if number not in times and instance.certificate(name) is not None:
                        times[number] = time.monotonic()
                if len(times) == len(self.fleet.instances):
                    first = min(times.values())
                    # One that was started meanwhile could not have it earlier.
                    if all(instance.started < first for instance in self.fleet.instances):
                        self.delays.append(max(times.values()) - first)
                    del seen[name]
            time.sleep(SAMPLE_INTERVAL)

    def finish(self) -> None:
        self.is_finished.wait(PROPAGATION_SECONDS + 1)
        self.is_finished.set()
        self.join()
