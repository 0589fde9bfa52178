"""The cases: what each starts, what the client does, and how its output and what the relay has seen are judged."""

from __future__ import annotations

import hashlib
import os
import signal
import time
from collections.abc import Iterator

from . import place
from .program import Program
from .relay import Link, Relay

# Of the server's Handshake packets: the certificate alone has more than 2,500 bytes, a resumed handshake a third at most.
MAX_RESUMED = 1_000
ROUND_TRIP, LOSS = 0.3, 0.02
REQUESTS = 1_000
# Serow closes an idle connection, so that browsers open a second one.
IDLE = 1
AT_A_TIME = 8
RELOADS = 2
# Until the next generation answers after kill -9: a second for the restart, and a margin for busy machines.
MAX_GAP = 5.0


def handshake(program: Program, where: place.Place) -> Iterator[str]:
    with where.files() as server, Relay(server.address) as relay:
        yield from page(program.run("get", relay.port), "index.html")
        yield from connections(relay, 1, program)


def retry(program: Program, where: place.Place) -> Iterator[str]:
    with where.files("--workers", "1") as server, place.Flood(server.address), Relay(server.address) as relay:
        yield from page(program.run("get", relay.port), "index.html")
        if not relay.flows or relay.flows[0].retries == 0:
            yield "Serow sent no Retry"


def resumption(program: Program, where: place.Place) -> Iterator[str]:
    with where.files("--idle-timeout", f"{IDLE}s") as server, Relay(server.address) as relay:
        found = program.run("twice", relay.port)
        yield from page(found, "index.html")
        if found.get("resumed") is False:
            yield "the client says that the session was not resumed"
        sizes = [flow.handshake for flow in relay.flows if flow.handshake]
        if len(sizes) < 2:
            yield f"{len(sizes)} connections instead of 2"
        elif sizes[0] <= 2 * MAX_RESUMED or sizes[-1] > MAX_RESUMED:
            yield f"the server's Handshake packets had {sizes} bytes"


def early_data(program: Program, where: place.Place) -> Iterator[str]:
    """A second connection where early data is accepted: the request is answered, whether the client sends it early or not."""
    log = where.folder / f"early-{time.monotonic_ns()}.log"
    form = ("--access-log-format", "early=$ssl_early_data $uri")
    options = ("--early-data", "on", "--idle-timeout", f"{IDLE}s")
    with where.files(*options, log=(str(log), *form)) as server, Relay(server.address) as relay:
        yield from page(program.run("twice", relay.port), "index.html")
    lines = [line for line in log.read_text().splitlines() if line.endswith(" /")]
    if len(lines) < 2:
        yield f"the log has {lines}"
    program.note("the request came early" if "early=1 /" in lines else "the client did not send it early")


def key_update(program: Program, where: place.Place) -> Iterator[str]:
    with where.files() as server, Relay(server.address) as relay:
        found = program.run("update", relay.port, path="large")
        yield from page(found, "large")
        if not found.get("updates"):
            yield "the client did not change keys"


def server_key_update(program: Program, where: place.Place) -> Iterator[str]:
    """Serow changes its keys after at most 1,000 packets, and then again after as many as the cipher suite permits."""
    with where.files() as server, Relay(server.address) as relay:
        yield from page(program.run("get", relay.port, path="large"), "large")
        packets = max((flow.to_client for flow in relay.flows), default=0)
        if packets < 2_000:
            yield f"only {packets} packets"


def rebinding(program: Program, where: place.Place) -> Iterator[str]:
    """As a NAT does it (RFC 9000 §9.3), three times within a download."""
    with where.files() as server, Relay(server.address, Link(rebind_after=(500, 1_500, 3_000))) as relay:
        yield from page(program.run("get", relay.port, path="large"), "large")
        rebound = max((flow.rebound for flow in relay.flows), default=0)
        if rebound < 3:
            yield f"the port changed {rebound} times instead of 3"


def migration(program: Program, where: place.Place) -> Iterator[str]:
    """To another port with another connection ID (RFC 9000 §9.2), three times within a download; without the relay."""
    with where.files() as server:
        found = program.run("migrate", server.port, path="large")
        yield from page(found, "large")
        if found.get("migrations") != 3:
            yield f"{found.get('migrations')} migrations instead of 3"


def many_requests(program: Program, where: place.Place) -> Iterator[str]:
    with where.files() as server, Relay(server.address) as relay:
        found = program.run("many", relay.port, REQUESTS)
        if found["succeeded"] != REQUESTS:
            yield f"{found['succeeded']} of {REQUESTS} requests succeeded: {found.get('failed')}"
        yield from connections(relay, 1, program)


def slow_link(program: Program, where: place.Place) -> Iterator[str]:
    link = Link(one_way=ROUND_TRIP / 2, loss=LOSS, seed=2)
    with where.files() as server, Relay(server.address, link) as relay:
        yield from page(program.run("get", relay.port, path="part"), "part")
        if not any(flow.lost for flow in relay.flows):
            yield "nothing was lost"


def reloads(program: Program, where: place.Place) -> Iterator[str]:
    """GOAWAY: all requests succeed, over one more connection per reload.

    Chromium gives up a request that waits for its stream when GOAWAY comes (ERR_CONNECTION_CLOSED), whatever stream GOAWAY
    names: these requests are never sent.
    """
    with where.running() as running, Relay(("127.0.0.1", running.port)) as relay:
        with program.started("during", relay.port, 4, AT_A_TIME) as run:
            run.wait_for_first_response()
            for _ in range(RELOADS):
                time.sleep(0.8)
                running.replace()
            found = run.result()
        unsent = found.get("unsent", 0)
        if len(found["failed"]) > unsent:
            yield f"{len(found['failed'])} requests failed, {len(found['answered'])} did not: {found['failed'][:2]}"
        opened = sum(flow.handshake > 0 for flow in relay.flows)
        if opened <= RELOADS:
            yield f"{opened} connections at {RELOADS} reloads"
        program.note(f"{len(found['answered']):,} requests{f', and {unsent} that it did not send' if unsent else ''}")


def crash(program: Program, where: place.Place) -> Iterator[str]:
    """kill -9 of the generation that serves: the client learns it by a stateless reset, and connects again."""
    with where.running() as running, Relay(("127.0.0.1", running.port)) as relay:
        with program.started("during", relay.port, 6, 1) as run:
            run.wait_for_first_response()
            time.sleep(1)
            process = running.serving()
            killed = time.time()
            os.kill(process, signal.SIGKILL)
            found = run.result()
        # The longest pause is the one after the kill, if it is the only one that has a reason.
        times = [0.0, *sorted(when - killed for when in found["answered"] if when > killed)]
        if times[-1] < MAX_GAP / 2:
            yield f"the last response came {times[-1]:.3f} s after the crash: {found['failed'][:3]}"
            return
        gap, again = max((later - sooner, later) for sooner, later in zip(times, times[1:]))
        noticed = [float(text.split()[0]) - killed for text in found["failed"]]
        error = f"error after {noticed[0] * 1000:.0f} ms, " if noticed else ""
        program.note(f"{error}response after {again * 1000:.0f} ms")
        if gap > MAX_GAP:
            yield f"nothing was answered for {gap:.1f} s"


def upload(program: Program, where: place.Place) -> Iterator[str]:
    with where.proxy() as server, Relay(server.address) as relay:
        found = program.run("post", relay.port, where.upload, path="echo")
        yield from response(found, found.get("sent") or hashlib.sha256(place.UPLOAD).hexdigest())


def page(found: dict, name: str) -> Iterator[str]:
    yield from response(found, hashlib.sha256(place.PAGES[name]).hexdigest())


def response(found: dict, digest: str) -> Iterator[str]:
    if found["status"] != 200:
        yield f"status {found['status']}"
    elif found["body"] != digest:
        yield "another body"
    if found.get("protocol", "h3") != "h3":
        yield f"the protocol was {found['protocol']}"


def connections(relay: Relay, most: int, program: Program) -> Iterator[str]:
    """Browsers may open a second one, of which they use the first that is ready."""
    opened = sum(flow.handshake > 0 for flow in relay.flows)
    if not 1 <= opened <= most + program.client.is_browser:
        yield f"{opened} connections"


CASES = {
    "handshake": handshake, "Retry": retry, "resumption": resumption, "early data": early_data, "key update": key_update,
    "Serow's key update": server_key_update, "rebinding": rebinding, "migration": migration,
    "1,000 requests": many_requests, "slow link": slow_link, "reloads": reloads, "crash": crash, "upload": upload,
}
