"""The relay between Serow and other projects' HTTP/3 clients."""

from __future__ import annotations

import socket
import unittest

from ..http3_clients.relay import HANDSHAKE, RETRY, Link, Relay, long_headers
from ..polling import wait_until

IDS = b"\x00\x00\x00\x01" + b"\x02ab" + b"\x03cde"
INITIAL = b"\xc0" + IDS + b"\x01t" + b"\x05hello"
HANDSHAKE_PACKET = b"\xe0" + IDS + b"\x40\x06packet"


class LongHeaders(unittest.TestCase):
    def test_coalesced_packets_are_told_apart(self) -> None:
        found = long_headers(INITIAL + HANDSHAKE_PACKET + b"\x40short")
        self.assertEqual(found, [(0, len(INITIAL)), (HANDSHAKE, len(HANDSHAKE_PACKET))])

    def test_retry_is_the_whole_datagram(self) -> None:
        datagram = b"\xf0" + IDS + b"token"
        self.assertEqual(long_headers(datagram), [(RETRY, len(datagram))])

    def test_short_headers_and_garbage_have_none(self) -> None:
        for datagram in (b"", b"\x40short", b"\xc0", b"\xc0\x00\x00\x00\x00versions"):
            self.assertEqual(long_headers(datagram), [])


class Relaying(unittest.TestCase):
    def setUp(self) -> None:
        self.server, self.client = (socket.socket(type=socket.SOCK_DGRAM) for _ in range(2))
        for one in (self.server, self.client):
            one.bind(("127.0.0.1", 0))
            one.settimeout(5)
            self.addCleanup(one.close)

    def test_the_server_sees_another_port_after_a_rebinding(self) -> None:
        with Relay(self.server.getsockname(), Link(rebind_after=(1,))) as relay:
            ports = []
            for _ in range(2):
                self.client.sendto(b"request", ("127.0.0.1", relay.port))
                data, port = self.server.recvfrom(100)
                self.assertEqual(data, b"request")
                ports.append(port)
                self.server.sendto(b"response", port)
                self.assertEqual(self.client.recv(100), b"response")
            self.assertNotEqual(*ports)
            self.assertEqual([flow.rebound for flow in relay.flows], [1])

    def test_the_same_seed_loses_the_same_datagrams(self) -> None:
        self.assertEqual(self.arrived(), self.arrived())
        self.assertTrue(0 < len(self.arrived()) < 100)

    def arrived(self) -> list[bytes]:
        with Relay(self.server.getsockname(), Link(loss=0.5, seed=3)) as relay:
            for number in range(100):
                self.client.sendto(bytes([number]), ("127.0.0.1", relay.port))
            wait_until(lambda: relay.flows and relay.flows[0].to_server >= 100)
        # The relay has ended, and all that it passed on is here.
        return [self.server.recv(100) for _ in range(100 - relay.flows[0].lost)]


if __name__ == "__main__":
    unittest.main()
