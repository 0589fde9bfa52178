"""The packets of the script's request and of its first byte, as the link saw them: TCP segments by their place in the
connection; UDP datagrams, whose contents are encrypted, by their time."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from . import servers
from .laboratory import Link, Outcome

# Of IPv4 and TCP, with time stamps; of IPv4 and UDP.
HEADERS, DATAGRAM_HEADERS = 52, 28
# Segments of less than this much of the sequence space are behind the first one, not before it.
HALF = 1 << 31


@dataclass
class Seen:
    """Times are those of the link's clock."""

    # When the script's request was at the server, or would have been if it was lost.
    available: float
    # The packet with the script's first byte.
    packet: dict
    # All packets from the server that took the link's time, and the bytes of headers that each of them has.
    sent: list[dict]
    headers: int


class Stream:
    """The segments of one direction of a connection that were not dropped, by their place in it."""

    def __init__(self, segments: Iterable[dict]) -> None:
        self.segments = [segment for segment in segments if segment["arrived"] and segment["sequence"] is not None]
        first = self.segments[0]["sequence"] if self.segments else 0
        for segment in self.segments:
            segment["place"] = (segment["sequence"] - first + HALF) % (1 << 32) - HALF

    def first_with(self, place: int) -> dict:
        """The first segment that carried this byte."""
        return next(segment for segment in self.segments if segment["place"] <= place < segment["place"] + segment["length"])


def segments(outcome: Outcome) -> Seen:
    """Of HTTP/2: the client says which bytes of the connection they were."""
    script = outcome.told["resources"][1]
    forth = Stream(segment for segment in outcome.trace_back if segment["destination"] == servers.PORT)
    back = Stream(segment for segment in outcome.trace if segment["source"] == servers.PORT)
    _, _, place = script["pieces"][0]
    return Seen(forth.first_with(script["sent"] - 1)["arrived"], back.first_with(place), back.segments, HEADERS)


def datagrams(outcome: Outcome, link: Link) -> Seen:
    """Of HTTP/3: the request is in the client's first datagram after it was made; the first byte in the server's last one that
    had arrived when the client noted it. On slow links the next one is far away."""
    began, script = outcome.told["began"]["monotonic"], outcome.told["resources"][1]
    request = next(datagram for datagram in outcome.trace_back
                   if datagram["sequence"] is None and datagram["entered"] >= began + script["asked"])
    available = request["arrived"] or (request["left"] or request["entered"]) + link.rtt_ms / 2000
    back = [datagram for datagram in outcome.trace if datagram["sequence"] is None and datagram["left"]]
    first_byte = began + script["pieces"][0][0]
    there = [datagram for datagram in back if datagram["arrived"] and datagram["arrived"] <= first_byte]
    return Seen(available, max(there, key=lambda datagram: datagram["arrived"]), back, DATAGRAM_HEADERS)
