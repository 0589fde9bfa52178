"""The judge of tests/sites: requests are read as they are written, and differences are found."""

from __future__ import annotations

import unittest

from system import wire
from system.sites import comparison, requests
from system.sites.differences import Difference


def response(status: int, body: bytes = b"", **fields: str) -> wire.Response:
    return wire.Response(status, {name.replace("_", "-"): value for name, value in fields.items()}, body)


def differences(ours: wire.Response | str, theirs: wire.Response | str) -> dict[str, tuple[str, str]]:
    return comparison.differences(ours, theirs, {8001: "PORT", 8002: "PORT"}, "http://a.example")


class Requests(unittest.TestCase):
    def test_a_line_becomes_a_message(self) -> None:
        request = requests.parse(r"POST /a{b*3}\xfc | Host: h | X-A: 1 | body: x\x0ay", "default")
        expected = b"POST /abbb\xfc HTTP/1.1\r\nHost: h\r\nX-A: 1\r\nConnection: close\r\nContent-Length: 3\r\n\r\nx\ny"
        self.assertEqual(request.message(), expected)

    def test_host_version_and_entity_tag(self) -> None:
        request = requests.parse("GET / | Host: - | version: 1.0 | If-None-Match: W/{tag}", "default")
        self.assertTrue(request.needs_tag)
        expected = b'GET / HTTP/1.0\r\nIf-None-Match: W/"a"\r\nConnection: close\r\n\r\n'
        self.assertEqual(request.message('W/"a"'), expected)


class Comparison(unittest.TestCase):
    def test_equal_responses_have_no_differences(self) -> None:
        for one, other in [
            (response(200, b"x", etag='"1"', date="a"), response(200, b"x", etag='"2"', server="nginx")),
            (response(404, b"404 Not Found\n", content_type="text/plain"), response(404, b"<center>nginx</center>")),
            (response(301, location="/b"), response(301, location="http://a.example:8001/b")),
            (response(200, b"app: one\nfield host: a:8001\n  "), response(200, b"app: one\nfield host: a:8002\n ")),
        ]:
            self.assertEqual(differences(one, other), {})

    def test_each_part_is_compared(self) -> None:
        for one, other, part in [
            (response(200), response(404), "status"),
            ("closed", response(200), "response"),
            (response(200, b"x"), response(200, b"y"), "body"),
            (response(200, x_new="1"), response(200), "x-new"),
            (response(200, etag='W/"1"'), response(200, etag='"1"'), "etag"),
            (response(404, b"<p>own page"), response(404, b"<center>nginx</center>"), "body"),
            (response(301, location="/b"), response(301, location="http://evil.example/b"), "location"),
            (response(301, location="/b"), response(301, location="https://a.example/b"), "location"),
            (response(200, b"app: one\nfield a: 1\n"), response(200, b"app: one\n"), "application: field a"),
        ]:
            self.assertEqual(list(differences(one, other)), [part])

    def test_a_listed_difference_covers_what_it_says_only(self) -> None:
        request = requests.parse("GET /a", "h")
        known = Difference("n", part="vary", why="w", sites=["spa"], request="^GET /a$", ours="accept*", statuses=[200])
        self.assertTrue(known.covers("spa", request, 200, "vary", ("accept, x", "–")))
        for site, status, part, ours in [("rails", 200, "vary", "accept"), ("spa", 404, "vary", "accept"),
                                         ("spa", 200, "etag", "accept"), ("spa", 200, "vary", "origin")]:
            self.assertFalse(known.covers(site, request, status, part, (ours, "–")))


if __name__ == "__main__":
    unittest.main()
