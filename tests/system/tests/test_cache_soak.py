"""Which responses the soak test of the cache finds wrong."""

from __future__ import annotations

import unittest

from ..cache.soak_judge import SLACK, Body, Request
from ..cache.soak_resources import COUNT, LARGE, PIECE, Resource, byte_range, resource
from ..wire import Response


def example(**properties) -> Resource:
    values = {"number": 7, "base_length": 3 * PIECE, "period": 10.0, "offset": 0.0, "max_age": 3,
              "stale_while_revalidate": 0, "is_stored": True, "has_etag": True, "has_date": True, "varies": False,
              "accepts_ranges": True, "framing": "length", "is_cut_at_times": True}
    return Resource(**values | properties)


class Judge(unittest.TestCase):
    def wrong(self, request: Request, version: int, *, status: int = 200, headers: dict | None = None,
              body: bytes | None = None, is_whole: bool = True) -> str:
        """The fault in a response whose head comes a tenth of a second after the request."""
        response = Response(status, {"x-version": str(version), **(headers or {})})
        found = Body(request, response, request.asked + 0.1)
        if body is None:
            body = whole(request.resource, version)
        for start in range(0, len(body), 10_000):
            found.take(body[start:start + 10_000])
        found.is_whole = is_whole
        return found.judge()

    def test_versions_are_right_within_their_lifetime(self) -> None:
        # Version 4 is current from 40 to 50.
        late = 53 + SLACK + 0.1
        for asked, version, is_right in ((45, 4, True), (45, 5, False), (45, 3, False), (52, 4, True), (late, 4, False),
                                         (49.95, 5, True), (49.8, 5, False)):
            wrong = self.wrong(Request(example(), 0, asked=asked), version)
            self.assertEqual(not wrong, is_right, f"{asked} {version}: {wrong}")
        longer = example(stale_while_revalidate=4)
        self.assertEqual(self.wrong(Request(longer, 0, asked=56), 4), "")
        self.assertTrue(self.wrong(Request(longer, 0, asked=58.1), 4))

    def test_responses_that_are_not_stored_are_current(self) -> None:
        never = example(is_stored=False)
        self.assertEqual(self.wrong(Request(never, 0, asked=50.1), 5), "")
        self.assertTrue(self.wrong(Request(never, 0, asked=50.1), 4))

    def test_nothing_is_older_than_a_purge(self) -> None:
        self.assertEqual(self.wrong(Request(example(), 0, asked=52, purged=49.9), 4), "")
        self.assertTrue(self.wrong(Request(example(), 0, asked=52, purged=50.1), 4))

    def test_a_mixture_of_versions_is_found(self) -> None:
        old, new = whole(example(), 4), whole(example(), 5)
        request = Request(example(), 0, asked=51)
        self.assertIn("something else", self.wrong(request, 5, body=new[:PIECE] + old[PIECE:len(new)]))
        self.assertIn("its end is version 4", self.wrong(request, 5, body=old))
        self.assertIn("something else", self.wrong(request, 5, body=new[4096:] + new[:4096]))
        self.assertTrue(self.wrong(request, 5, headers={"etag": '"4-0"'}))

    def test_cut_bodies_are_not_whole(self) -> None:
        request = Request(example(), 0, asked=45)
        cut = whole(example(), 4)[:-1]
        self.assertIn("as a whole", self.wrong(request, 4, body=cut))
        self.assertEqual(self.wrong(request, 4, body=cut, is_whole=False), "")
        self.assertTrue(self.wrong(request, 4, body=cut + b"??"))

    def test_parts_are_those_that_were_requested(self) -> None:
        content = whole(example(), 4)
        part = {"content-range": f"bytes 10-19/{len(content)}"}
        request = Request(example(), 0, asked=45, fields={"Range": "bytes=10-19"})
        self.assertEqual(self.wrong(request, 4, status=206, headers=part, body=content[10:20]), "")
        self.assertTrue(self.wrong(request, 4, status=206, headers=part, body=content[11:21]))
        self.assertTrue(self.wrong(request, 4, status=206, headers=part, body=content[10:19]))
        other = {"content-range": f"bytes 11-20/{len(content)}"}
        self.assertTrue(self.wrong(request, 4, status=206, headers=other, body=content[11:21]))
        self.assertTrue(self.wrong(Request(example(), 0, asked=45), 4, status=206, headers=part, body=content[10:20]))
        request.fields["If-Range"] = '"3-0"'
        self.assertTrue(self.wrong(request, 4, status=206, headers=part, body=content[10:20]))

    def test_304_is_about_the_version_that_the_client_has(self) -> None:
        request = Request(example(), 0, asked=45, fields={"If-None-Match": '"4-0"'})
        self.assertEqual(self.wrong(request, 4, status=304, body=b""), "")
        request.fields["If-None-Match"] = '"3-0"'
        self.assertTrue(self.wrong(request, 4, status=304, body=b""))
        self.assertTrue(self.wrong(request, 3, status=304, body=b""))

    def test_variants_and_errors_are_told_apart(self) -> None:
        varied = example(varies=True)
        self.assertTrue(self.wrong(Request(varied, 1, asked=45), 4))
        self.assertEqual(self.wrong(Request(varied, 0, asked=45), 4), "")
        self.assertTrue(self.wrong(Request(example(), 0, asked=45), 4, status=502))


class Resources(unittest.TestCase):
    def test_all_sizes_add_up_to_a_gigabyte(self) -> None:
        total = sum(resource(number).base_length for number in range(COUNT + LARGE))
        self.assertTrue(0.9e9 < total < 1.1e9, total)

    def test_parts_of_a_length(self) -> None:
        cases = {"bytes=0-9": (0, 10), "bytes=90-": (90, 100), "bytes=-10": (90, 100), "bytes=-200": (0, 100),
                 "bytes=99-300": (99, 100), "bytes=100-": None}
        for text, expected in cases.items():
            self.assertEqual(byte_range(text, 100), expected, text)


def whole(wanted: Resource, version: int) -> bytes:
    content = wanted.content(version, 0)
    return b"".join(content.pieces(0, content.length))


if __name__ == "__main__":
    unittest.main()
