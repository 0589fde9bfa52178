"""The map-tile benchmark: a client requests an urgent script while a picture is being sent. When does the script arrive?"""

from __future__ import annotations

import os
import pathlib
from collections.abc import Iterable
from dataclasses import dataclass

from ..server import program
from . import laboratory, servers
from .laboratory import Link, Outcome
from .servers import Place, Server

PICTURE, SCRIPT = "/picture.png", "/script.js"
PACKET = 1_500
# Of IPv4 and TCP, with time stamps.
HEADERS = 52
# Segments of less than this much of the sequence space are behind the first one, not before it.
HALF = 1 << 31
# What the client calls the signals of a server.
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


def make_site(site: pathlib.Path, size: int) -> None:
    site.mkdir()
    site.chmod(0o755)
    for name in ("picture.png", "script.js"):
        (site / name).write_bytes(os.urandom(size))
    (site / "index.html").write_text("<p>Hello!</p>\n")


def client(server: Server, link: Link, after: float, place: Place) -> list[str]:
    """Asks for both over one connection; prints what came when, and draws it."""
    origin = f"{'https' if place.tls else 'http'}://{servers.ADDRESS}:{servers.PORT}"
    wishes = [f"{origin}{PICTURE},u=3", f"{SCRIPT},u=2,after={after}s"]
    title = f"{server.label}: {laboratory.spelled(link.name)}"
    return [str(program("serow")), "bench", "waterfall", "-k", "--json", "--svg", str(place.drawing), "--title", title,
            "--signals", SIGNALS[server.signals], *wishes]


def sit(server: Server, tls: bool, link: Link, size: int, after: float, site: pathlib.Path) -> Run:
    limit = 3 * 16 * size / link.bits + 60
    with laboratory.place(tls, site) as place:
        outcome = laboratory.run(link, server, place, client(server, link, after, place), limit)
        drawing = place.drawing.read_text()
    for resource in outcome.told["resources"]:
        if (resource["status"], resource["bytes"]) != (200, size):
            raise laboratory.Broken(f"{server.label}: {resource['path']}: status {resource['status']}, {resource['bytes']} bytes")
    return Run(server.name, tls, link.name, size, after, figures(outcome, link), drawing)


def figures(outcome: Outcome, link: Link) -> Figures:
    picture, script = outcome.told["resources"]
    began = outcome.told["began"]["monotonic"]
    forth = Stream(segment for segment in outcome.trace_back if segment["destination"] == servers.PORT)
    back = Stream(segment for segment in outcome.trace if segment["source"] == servers.PORT)
    available = forth.first_with(script["sent"] - 1)["arrived"] - began
    first_byte, _, place = script["pieces"][0]
    packet = back.first_with(place)
    entered = [segment for segment in back.segments if segment["entered"] - began <= available]
    queued_until = max((segment["left"] - began for segment in entered), default=available)
    waiting = max(queued_until - available, 0.0)
    one_way = link.rtt_ms / 2000
    # The first byte could be here a round trip after it was asked for.
    ends = max(picture["end"], script["end"])
    sent = [segment for segment in back.segments if segment["entered"] > began]
    sending = sum(segment["length"] + HEADERS for segment in sent) * 8 / link.bits
    sent_for = sent[-1]["left"] - sent[0]["entered"]
    return Figures(
        available=available, first_byte=first_byte - available, entered=packet["entered"] - began - available,
        left=packet["left"] - began - available, floor=waiting + PACKET * 8 / link.bits + one_way,
        link_queue=round(waiting * link.bits / 8),
        before=sum(length for when, length, _ in picture["pieces"] if available < when <= first_byte),
        picture_finished=picture["end"], script_finished=script["end"],
        rate=(picture["bytes"] + script["bytes"]) * 8 / (ends - link.rtt_ms / 1000),
        busy=min(sending / sent_for, 1.0), late_ms=outcome.report["to_client"]["late_us"]["p99"] / 1000)


class Stream:
    """The segments of one direction of a connection that were not dropped, by their place in it."""

    def __init__(self, segments: Iterable[dict]) -> None:
        self.segments = [segment for segment in segments if segment["arrived"]]
        first = self.segments[0]["sequence"] if self.segments else 0
        for segment in self.segments:
            segment["place"] = (segment["sequence"] - first + HALF) % (1 << 32) - HALF

    def first_with(self, place: int) -> dict:
        """The first segment that carried this byte."""
        return next(segment for segment in self.segments if segment["place"] <= place < segment["place"] + segment["length"])
