"""Asks for changing files in every way a client may, and judges each response."""

from __future__ import annotations

import collections
import dataclasses
import random
import time
import zlib

from .. import wire
from .history import Kind
from .judge import Shown, Wrong, check_date, state_shown
from .writer import Changing, Way

# The promise is a second after the request is handled, which is after it is sent; the rest is scheduling.
FRESHNESS = 1.0
SCHEDULING = 0.1
MOST_SAMPLES = 20
# The server's option --cache-largest.
LARGEST_COPIED = 64 << 10


@dataclasses.dataclass
class Tally:
    """The observations of one reader."""

    counts: collections.Counter = dataclasses.field(default_factory=collections.Counter)
    wrong: list[str] = dataclasses.field(default_factory=list)
    swapped: list[str] = dataclasses.field(default_factory=list)
    tags: dict = dataclasses.field(default_factory=dict)
    oldest: float = 0.0
    slowest: float = 0.0

    def object(self, text: str) -> None:
        self.counts["wrong"] += 1
        if len(self.wrong) < MOST_SAMPLES:
            self.wrong.append(text)


@dataclasses.dataclass
class Asked:
    file: Changing
    form: str
    method: str
    headers: dict[str, str]
    sent: float
    range: tuple[int, int] | None = None
    tag: str | None = None


class Reader:
    """A few connections of one client process, all with a request under way."""

    def __init__(self, address: tuple[str, int], files: list[Changing], seed: int, connections: int, slow: bool,
                 zero_copy: bool) -> None:
        self.address, self.files, self.slow, self.zero_copy = address, files, slow, zero_copy
        self.random = random.Random(seed)
        self.connections: list[wire.Connection | None] = [None] * connections
        self.tally = Tally()
        self.last_tag: dict[int, str] = {}
        # Large files are asked for less often, so that checking them does not take all the time.
        self.weights = [1.0 if file.size < 100_000 else 0.25 if file.size < 1_000_000 else 0.06 if
                        file.size < 2_000_000 else 0.012 for file in files]
        if slow:
            self.weights = [1.0 if file.size > 60_000 else 0.1 for file in files]

    def run(self, requests: int, deadline: float) -> Tally:
        done = 0
        while done < requests and time.monotonic() < deadline:
            batch = []
            for place in range(len(self.connections)):
                if asked := self._send(place):
                    batch.append((place, asked))
            for place, asked in batch:
                self._receive(place, asked)
                done += 1
        for connection in self.connections:
            if connection:
                connection.close()
        self.connections = [None] * len(self.connections)
        return self.tally

    def _send(self, place: int) -> Asked | None:
        file = self.random.choices(self.files, self.weights)[0]
        asked = self._choose(file)
        try:
            connection = self.connections[place]
            if connection is None:
                buffer = 16384 if self.slow else None
                connection = self.connections[place] = wire.Connection(self.address, 60.0, buffer)
            asked.sent = time.monotonic()
            connection.send(wire.request(file.target, asked.headers, asked.method))
            return asked
        except (wire.Cut, OSError):
            self._drop(place)
            self.tally.counts["cut"] += 1
            return None

    def _choose(self, file: Changing) -> Asked:
        form = self.random.choices(("plain", "revalidation", "range", "gzip", "head"), (45, 20, 15, 10, 10))[0]
        asked = Asked(file, form, "GET", {}, 0.0)
        tag = self.last_tag.get(file.number)
        if form == "revalidation" and tag:
            asked.tag = tag
            asked.headers["If-None-Match"] = tag
        elif form == "range" and file.size > 100:
            start = self.random.randrange(file.size - 70)
            asked.range = start, self.random.randrange(start + 40, file.size)
            asked.headers["Range"] = f"bytes={asked.range[0]}-{asked.range[1]}"
            if tag and self.random.random() < 0.3:
                asked.tag = tag
                asked.headers["If-Range"] = tag
        elif form == "gzip" and file.size < 300_000:
            asked.headers["Accept-Encoding"] = "gzip"
        elif form == "head":
            asked.method = "HEAD"
        return asked

    def _drop(self, place: int) -> None:
        if connection := self.connections[place]:
            connection.close()
        self.connections[place] = None

    def _receive(self, place: int, asked: Asked) -> None:
        connection = self.connections[place]
        pause = None
        if self.slow:
            rest = self.random.uniform(0.0, 0.004)
            pause = lambda: time.sleep(rest)  # noqa: E731
            if self.random.random() < 0.3:
                time.sleep(self.random.uniform(0.0, 0.3))
        try:
            response = connection.receive(asked.method, pause)
        except wire.Cut:
            self.tally.counts["cut"] += 1
            return self._drop(place)
        except (wire.Malformed, TimeoutError) as error:
            self.tally.object(f"{asked.file.name}: {type(error).__name__}: {error}")
            return self._drop(place)
        self.tally.slowest = max(self.tally.slowest, time.monotonic() - asked.sent)
        if response.closes:
            self._drop(place)
        try:
            self._judge(asked, response)
        except Wrong as wrong:
            text = f"{asked.method} {asked.file.target} {asked.headers}: {response.status}: {wrong}"
            if self.zero_copy and may_be_swapped(asked.file):
                self.tally.counts["swapped"] += 1
                self.tally.swapped.append(text)
            else:
                self.tally.object(text)

    def _judge(self, asked: Asked, response: wire.Response) -> None:
        file, status = asked.file, response.status
        since = asked.sent - FRESHNESS - SCHEDULING
        self.tally.counts[str(status)] += 1
        if status == 503:
            return
        if status == 404:
            if not any(kind == Kind.MISSING for _, kind, _ in file.history.since(since)):
                raise Wrong("the file was there")
            return
        if status == 304:
            return self._judge_unmodified(asked, since)
        if status == 416 and asked.range:
            total = int(response.headers["content-range"].rpartition("/")[2])
            if total > asked.range[0]:
                raise Wrong(f"not satisfiable in {total} bytes")
            return self._judge_length(file, total, since)
        if status not in (200, 206) or status == 206 and not asked.range:
            raise Wrong("an unexpected status")
        if asked.method == "HEAD":
            return self._judge_length(file, int(response.headers["content-length"]), since)
        self._judge_content(asked, response, since)

    def _judge_unmodified(self, asked: Asked, since: float) -> None:
        shown = self.tally.tags.get((asked.file.number, plain(asked.tag or "")))
        if shown is None:
            raise Wrong("a tag that was never given")
        if shown.length == 0:
            return self._judge_length(asked.file, 0, since)
        kind = Kind.FULL if shown.kind is None else shown.kind
        if not asked.file.history.was(shown.sequence, kind, since):
            age = asked.file.history.age(shown.sequence, asked.sent)
            raise Wrong(f"not modified, but state {shown.sequence} ended {age:.3f} s before")

    def _judge_length(self, file: Changing, total: int, since: float) -> None:
        for _, kind, length in file.history.since(since):
            if kind != Kind.MISSING and length == total or kind == Kind.FULL and total < length and total % 4096 == 0:
                return
        raise Wrong(f"no state of {total} bytes in the last second")

    def _judge_content(self, asked: Asked, response: wire.Response, since: float) -> None:
        file, body, start = asked.file, response.body, 0
        if response.get("content-encoding") == "gzip":
            try:
                body = zlib.decompress(body, 31)
            except zlib.error as error:
                raise Wrong(f"{error} in what was compressed") from error
            self.tally.counts["compressed"] += 1
        total = len(body)
        if response.status == 206:
            places, _, whole = response.headers["content-range"].removeprefix("bytes ").partition("/")
            first, _, last = places.partition("-")
            start, total = int(first), int(whole)
            if start != asked.range[0] or int(last) != min(asked.range[1], total - 1) or len(body) != int(last) + 1 - start:
                raise Wrong(f"Content-Range {response.headers['content-range']} with {len(body)} bytes")
            if "If-Range" in asked.headers and plain(asked.tag) != plain(response.get("etag") or ""):
                raise Wrong("a part of another version than asked for")
        shown = state_shown(file, body, start, total, since)
        check_date(file, shown, response.get("last-modified"))
        kind = Kind.FULL if shown.kind is None else shown.kind
        if shown.kind is None:
            self.tally.counts["growing"] += 1
        self.tally.oldest = max(self.tally.oldest, file.history.age(shown.sequence, asked.sent))
        self.tally.counts["whole"] += 1
        self.tally.counts[f"kind {kind.name.lower()}"] += 1
        self._note_tag(asked, response, shown)

    def _note_tag(self, asked: Asked, response: wire.Response, shown: Shown) -> None:
        tag = response.get("etag")
        # A part of a half, or of zeros, does not tell which of the states it is of.
        if tag is None or response.status == 206 and asked.file.way == Way.RESIZE:
            return
        key = asked.file.number, plain(tag)
        known = self.tally.tags.get(key)
        if known is not None and known.content != shown.content:
            if not tag.startswith("W/"):
                raise Wrong(f"tag {tag} names both {known} and {shown}")
            self.tally.counts["weak tag twice"] += 1
        self.tally.tags[key] = shown
        self.last_tag[asked.file.number] = tag


def plain(tag: str) -> str:
    """A tag as weak comparison sees it."""
    return tag.removeprefix("W/")


def may_be_swapped(file: Changing) -> bool:
    """Whether sendfile may show what was written after the response: the kernel sends the pages of the file itself, and
    until the network has them they change with the file. nginx has it too. Files up to --cache-largest are copied, and
    so are those that were seen to be written in place before; --sendfile off copies all."""
    return file.way in (Way.IN_PLACE, Way.RESIZE) and file.size > LARGEST_COPIED
