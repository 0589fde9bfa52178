"""The map-tile benchmark: a client requests an urgent script while a picture is being sent. When does the script arrive?"""

from __future__ import annotations

import os
import pathlib
from dataclasses import dataclass

from ..server import program
from . import laboratory, packets, servers
from .laboratory import Link, Outcome
from .servers import Place, Server

PICTURE, SCRIPT = "/picture.png", "/script.js"
PACKET = 1_500
# The client's names for the signals of a server.
SIGNALS = {servers.RFC9218: "rfc9218", servers.RFC7540: "rfc7540"}


@dataclass
class Figures:
    """Of one run. Seconds since the picture was asked for, unless they say otherwise."""

    # When the script's request is at the server.
    available: float
    # Seconds after that: the script's first byte at the client; when its packet was given to the link, when it left it.
    first_byte: float
    entered: float
    left: float
    # Seconds after it that any server could do at best, given what was before it in the link.
    floor: float
    # Bytes of the picture that had been handed to the link when the script was available, and waited there.
    link_queue: int
    # Bytes of the picture that came after the script's request was at the server and before its first byte.
    before: int
    picture_finished: float
    script_finished: float
    # Bits per second of both bodies, from a round trip after the first request; the share of that time the link was sending.
    rate: float
    busy: float
    # Milliseconds that 99 of 100 packets were late at most: the laboratory's own fault.
    late_ms: float

    @property
    def script_first(self) -> bool:
        return self.script_finished < self.picture_finished


@dataclass
class Run:
    server: str
    tls: bool
    link: str
    size: int
    after: float
    figures: Figures
    # SVG: who got which bytes when.
    drawing: str
    http3: bool = False


def make_site(site: pathlib.Path, size: int) -> None:
    site.mkdir()
    site.chmod(0o755)
    for name in ("picture.png", "script.js"):
        (site / name).write_bytes(os.urandom(size))
    (site / "index.html").write_text("<p>Hello!</p>\n")


def client(server: Server, link: Link, after: float, place: Place, http3: bool = False) -> list[str]:
    """Asks for both over one connection; prints what came when, and draws it."""
    origin = f"{'https' if place.tls else 'http'}://{servers.ADDRESS}:{servers.PORT}"
    wishes = [f"{origin}{PICTURE},u=3", f"{SCRIPT},u=2,after={after}s"]
    title = f"{server.label}: {laboratory.spelled(link.name)}"
    return [str(program("serow")), "bench", "waterfall", "-k", "--json", "--svg", str(place.drawing), "--title", title,
            "--signals", SIGNALS[server.signals], *(["--http3"] if http3 else []), *wishes]


def sit(server: Server, tls: bool, link: Link, size: int, after: float, site: pathlib.Path, http3: bool = False) -> Run:
    limit = 3 * 16 * size / link.bits + 60
    with laboratory.place(tls, site) as place:
        outcome = laboratory.run(link, server, place, client(server, link, after, place, http3), limit)
        drawing = place.drawing.read_text()
    if is_over_quic(outcome) != http3:
        raise laboratory.Broken(f"{server.label}: the client spoke {outcome.told.get('version')}")
    for resource in outcome.told["resources"]:
        if (resource["status"], resource["bytes"]) != (200, size):
            raise laboratory.Broken(f"{server.label}: {resource['path']}: status {resource['status']}, {resource['bytes']} bytes")
    return Run(server.name, tls, link.name, size, after, figures(outcome, link), drawing, http3)


def figures(outcome: Outcome, link: Link) -> Figures:
    picture, script = outcome.told["resources"]
    began = outcome.told["began"]["monotonic"]
    seen = packets.datagrams(outcome, link) if is_over_quic(outcome) else packets.segments(outcome)
    available, packet = seen.available - began, seen.packet
    first_byte = script["pieces"][0][0]
    entered = [segment for segment in seen.sent if segment["entered"] - began <= available]
    queued_until = max((segment["left"] - began for segment in entered), default=available)
    waiting = max(queued_until - available, 0.0)
    one_way = link.rtt_ms / 2000
    # The first byte could be here a round trip after it was asked for.
    ends = max(picture["end"], script["end"])
    sent = [segment for segment in seen.sent if 0 < segment["entered"] - began <= ends]
    sending = sum(segment["length"] + seen.headers for segment in sent) * 8 / link.bits
    sent_for = sent[-1]["left"] - sent[0]["entered"]
    return Figures(
        available=available, first_byte=first_byte - available, entered=packet["entered"] - began - available,
        left=packet["left"] - began - available, floor=waiting + PACKET * 8 / link.bits + one_way,
        link_queue=round(waiting * link.bits / 8),
        before=sum(length for when, length, _ in picture["pieces"] if available < when <= first_byte),
        picture_finished=picture["end"], script_finished=script["end"],
        rate=(picture["bytes"] + script["bytes"]) * 8 / (ends - link.rtt_ms / 1000),
        busy=min(sending / sent_for, 1.0), late_ms=outcome.report["to_client"]["late_us"]["p99"] / 1000)


def is_over_quic(outcome: Outcome) -> bool:
    return outcome.told.get("version") == "HTTP/3"
