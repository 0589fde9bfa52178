"""The map-tile exam: a picture is on its way when a script that matters more is asked for. When does the script come?"""

from __future__ import annotations

import os
import pathlib
from dataclasses import dataclass

from . import client, laboratory, servers
from .client import Ask, Wish
from .laboratory import Link, Outcome
from .servers import Server

PICTURE, SCRIPT = 1, 3
PACKET = 1_500
# Of IPv4 and TCP, with time stamps.
HEADERS = 52
# Segments of less than this much of the sequence space are behind the first one, not before it.
HALF = 1 << 31


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
    # seconds since the picture was asked for, bytes: of the picture, of the script
    picture: list[tuple[float, int]]
    script: list[tuple[float, int]]
    congestion: str



def make_site(site: pathlib.Path, size: int) -> None:
    site.mkdir()
    site.chmod(0o755)
    for name in ("picture.png", "script.js"):
        (site / name).write_bytes(os.urandom(size))
    (site / "index.html").write_text("<p>Hello!</p>\n")


def wishes(server: Server, after: float) -> list[Wish]:
    """In the signals that the server understands. Those of RFC 7540 are Chromium's: what matters more comes between the root
    and all the rest, so that it is to be served alone."""
    if server.signals == servers.RFC9218:
        return [Wish("/picture.png", 0.0, priority="u=3"), Wish("/script.js", after, priority="u=2")]
    return [Wish("/picture.png", 0.0, weight=(0, 147, True)), Wish("/script.js", after, weight=(0, 220, True))]


def sit(server: Server, tls: bool, link: Link, size: int, after: float, site: pathlib.Path) -> Run:
    limit = 3 * 16 * size / link.bits + 30
    ask = Ask(servers.ADDRESS, servers.PORT, tls, wishes(server, after), limit, server.signals == servers.RFC9218)
    with laboratory.place(tls, site) as place:
        outcome = laboratory.run(link, server, place, laboratory.python("client", client.encoded(ask)), limit + 30)
    told = outcome.told
    if told["failures"]:
        raise laboratory.Broken(f"{server.label}: {'; '.join(told['failures'])}")
    lanes = {stream: [(when - told["began"], length) for of, when, length, _ in told["arrivals"] if of == stream]
             for stream in (PICTURE, SCRIPT)}
    for stream, lane in lanes.items():
        if sum(length for _, length in lane) != size:
            raise laboratory.Broken(f"{server.label}: stream {stream} is not of {size} bytes")
    return Run(server.name, tls, link.name, size, after, figures(outcome, link), lanes[PICTURE], lanes[SCRIPT],
               told["congestion"])


def figures(outcome: Outcome, link: Link) -> Figures:
    told = outcome.told
    began, ports = told["began"], told["ports"]
    forth = Stream(outcome.trace_back, ports[0])
    back = Stream(outcome.trace, ports[1])
    available = forth.first_with(told["asked"][str(SCRIPT)][2] - 1)["arrived"]
    arrivals = told["arrivals"]
    _, first_byte, _, script_place = next(arrival for arrival in arrivals if arrival[0] == SCRIPT)
    packet = back.first_with(script_place)
    queued_until = max((segment["left"] for segment in back.segments if segment["entered"] <= available), default=available)
    waiting = max(queued_until - available, 0.0)
    one_way = link.rtt_ms / 2000
    # The first byte could be here a round trip after it was asked for.
    ends = arrivals[-1][1]
    total = sum(length for _, _, length, _ in arrivals)
    sent = [segment for segment in back.segments if segment["entered"] > began]
    finished = {int(stream): when - began for stream, when in told["finished"].items()}
    sending = sum(segment["length"] + HEADERS for segment in sent) * 8 / link.bits
    sent_for = sent[-1]["left"] - sent[0]["entered"]
    return Figures(
        available=available - began, first_byte=first_byte - available, entered=packet["entered"] - available,
        left=packet["left"] - available, floor=waiting + PACKET * 8 / link.bits + one_way,
        link_queue=round(waiting * link.bits / 8),
        before=sum(length for of, when, length, _ in arrivals if of == PICTURE and available < when <= first_byte),
        picture_finished=finished[PICTURE], script_finished=finished[SCRIPT], rate=total * 8 / (ends - began - link.rtt_ms / 1000),
        busy=min(sending / sent_for, 1.0), late_ms=outcome.report["to_client"]["late_us"]["p99"] / 1000)


class Stream:
    """The segments of one direction of a connection that were not dropped, by their place in it."""

    def __init__(self, segments: list[dict], source: int) -> None:
        self.segments = [segment for segment in segments if segment["source"] == source and segment["arrived"]]
        first = self.segments[0]["sequence"] if self.segments else 0
        for segment in self.segments:
            segment["place"] = (segment["sequence"] - first + HALF) % (1 << 32) - HALF

    def first_with(self, place: int) -> dict:
        """The first segment that carried this byte."""
        return next(segment for segment in self.segments if segment["place"] <= place < segment["place"] + segment["length"])
