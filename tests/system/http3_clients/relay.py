"""A UDP relay on loopback between a client and Serow: it delays and drops datagrams, changes the port that Serow sees,
and counts what can be read without keys (RFC 9000 §17.2)."""

from __future__ import annotations

import contextlib
import dataclasses
import heapq
import random
import select
import socket
import threading
import time

LARGEST_DATAGRAM = 1 << 16
# A busy machine loses datagrams where the buffer is small.
BUFFER = 8 << 20
# Types of long headers.
HANDSHAKE, RETRY = 2, 3


@dataclasses.dataclass
class Link:
    """Delay, loss and new ports of a link. With the same seed, each run loses the same datagrams of a direction."""

    one_way: float = 0.0
    loss: float = 0.0
    seed: int = 1
    # After how many datagrams to the client it seems to have another port.
    rebind_after: tuple[int, ...] = ()


@dataclasses.dataclass
class Flow:
    """The datagrams of one port of the client: one connection."""

    client: tuple[str, int]
    upstream: socket.socket
    to_client: int = 0
    to_server: int = 0
    lost: int = 0
    retries: int = 0
    rebound: int = 0
    # Bytes of the server's Handshake packets: few if a session was resumed, as there is no certificate.
    handshake: int = 0


class Relay:
    """Relays while the `with` block lasts."""

    def __init__(self, server: tuple[str, int], link: Link | None = None) -> None:
        self.server, self.link = server, link or Link()
        self.socket = bound()
        self.socket.bind(("127.0.0.1", 0))
        self.port = self.socket.getsockname()[1]
        self.flows: list[Flow] = []
        self._by_client: dict[tuple[str, int], Flow] = {}
        self._by_descriptor: dict[int, Flow] = {}
        self._dice = {True: random.Random(self.link.seed), False: random.Random(self.link.seed + 1)}
        self._delayed: list[tuple[float, int, socket.socket, bytes, tuple[str, int]]] = []
        self._number = 0
        self._poll = select.poll()
        self._is_over = False
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> "Relay":
        self._poll.register(self.socket, select.POLLIN)
        self._thread.start()
        return self

    def __exit__(self, *_) -> None:
        self._is_over = True
        self._thread.join(5)
        for flow in self.flows:
            flow.upstream.close()
        self.socket.close()

    def _run(self) -> None:
        while not self._is_over:
            wait = 0.1 if not self._delayed else min(0.1, max(0.0, self._delayed[0][0] - time.monotonic()))
            for descriptor, _ in self._poll.poll(wait * 1000):
                if descriptor == self.socket.fileno():
                    self._from_client()
                elif flow := self._by_descriptor.get(descriptor):
                    self._from_server(flow)
            while self._delayed and self._delayed[0][0] <= time.monotonic():
                self._send(*heapq.heappop(self._delayed)[2:])

    def _from_client(self) -> None:
        for _ in range(64):
            try:
                data, client = self.socket.recvfrom(LARGEST_DATAGRAM)
            except OSError:
                return
            flow = self._by_client.get(client) or self._open(client)
            flow.to_server += 1
            self._forward(flow, flow.upstream, data, self.server, True)

    def _from_server(self, flow: Flow) -> None:
        for _ in range(64):
            try:
                data = flow.upstream.recv(LARGEST_DATAGRAM)
            except OSError:
                return
            flow.to_client += 1
            for kind, length in long_headers(data):
                flow.retries += kind == RETRY
                flow.handshake += length if kind == HANDSHAKE else 0
            self._forward(flow, self.socket, data, flow.client, False)
            if flow.to_client in self.link.rebind_after:
                self._close(flow)
                flow.upstream = bound()
                self._connect(flow)
                flow.rebound += 1
                return

    def _forward(self, flow: Flow, through: socket.socket, data: bytes, to: tuple[str, int],
                 is_to_server: bool) -> None:
        if self._dice[is_to_server].random() < self.link.loss:
            flow.lost += 1
        elif self.link.one_way:
            self._number += 1
            heapq.heappush(self._delayed, (time.monotonic() + self.link.one_way, self._number, through, data, to))
        else:
            self._send(through, data, to)

    def _send(self, through: socket.socket, data: bytes, to: tuple[str, int]) -> None:
        with contextlib.suppress(OSError):
            if through is self.socket:
                through.sendto(data, to)
            else:
                through.send(data)

    def _open(self, client: tuple[str, int]) -> Flow:
        flow = Flow(client, bound())
        self._connect(flow)
        self._by_client[client] = flow
        self.flows.append(flow)
        return flow

    def _connect(self, flow: Flow) -> None:
        flow.upstream.connect(self.server)
        self._by_descriptor[flow.upstream.fileno()] = flow
        self._poll.register(flow.upstream, select.POLLIN)

    def _close(self, flow: Flow) -> None:
        self._poll.unregister(flow.upstream)
        del self._by_descriptor[flow.upstream.fileno()]
        flow.upstream.close()


def bound() -> socket.socket:
    made = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    for option in (socket.SO_RCVBUF, socket.SO_SNDBUF):
        made.setsockopt(socket.SOL_SOCKET, option, BUFFER)
    made.setblocking(False)
    return made


def long_headers(datagram: bytes) -> list[tuple[int, int]]:
    """The types and lengths of the packets with long headers in a datagram."""
    found, at = [], 0
    with contextlib.suppress(IndexError):
        while at < len(datagram) and datagram[at] & 0x80:
            kind, start = datagram[at] >> 4 & 3, at
            if int.from_bytes(datagram[at + 1:at + 5], "big") == 0:
                break
            at += 5
            for _ in range(2):
                at += 1 + datagram[at]
            if kind == RETRY:
                found.append((RETRY, len(datagram) - start))
                break
            if kind == 0:
                token, at = varint(datagram, at)
                at += token
            length, at = varint(datagram, at)
            at += length
            found.append((kind, at - start))
    return found


def varint(data: bytes, at: int) -> tuple[int, int]:
    """RFC 9000 §16: the number, and where the next byte is."""
    length = 1 << (data[at] >> 6)
    return int.from_bytes(data[at:at + length], "big") & ((1 << 8 * length - 2) - 1), at + length
