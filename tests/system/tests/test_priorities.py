"""Tests of the priority benchmark's own parsing and arithmetic."""

import json
import unittest

from ..priorities import document, frames, matrix, servers, tile
from ..priorities.laboratory import Link, Outcome
from ..priorities.packets import HALF, Stream


class Frames(unittest.TestCase):
    def setUp(self) -> None:
        self.stream = b"".join((
            frames.settings({4: 65_535}), frames.frame(frames.DATA, 0, 1, b"abc"), frames.frame(frames.DATA, 0, 3),
            frames.frame(frames.HEADERS, 5, 3, b"\x88"), frames.frame(frames.DATA, frames.END_STREAM, 1, b"de"),
            frames.frame(frames.DATA, frames.END_STREAM, 3)))

    def read(self, *pieces: bytes) -> tuple[dict, list, list]:
        lengths, ended, others = {1: 0, 3: 0}, [], []

        def on_data(stream: int, length: int, last: bool) -> None:
            lengths[stream] += length
            if last:
                ended.append(stream)

        reader = frames.Reader(on_data, lambda kind, flags, stream, payload: others.append((kind, flags, stream, payload)))
        for piece in pieces:
            reader.feed(piece)
        return lengths, ended, others

    def test_whole_and_byte_by_byte(self) -> None:
        expected = ({1: 5, 3: 0}, [1, 3], [(4, 0, 0, b"\0\4\0\0\xff\xff"), (1, 5, 3, b"\x88")])
        self.assertEqual(self.read(self.stream), expected)
        self.assertEqual(self.read(*(bytes([byte]) for byte in self.stream)), expected)
        for place in range(len(self.stream)):
            self.assertEqual(self.read(self.stream[:place], self.stream[place:]), expected)

    def test_status(self) -> None:
        for block in (b"\x88", b"\x20\x88", b"\x3f\xe1\x1f\x88\x61", b"\x08\x03200", b"\x48\x82\x10\x01"):
            self.assertTrue(frames.is_success(block), block)
        for block in (b"", b"\x8d", b"\x20", b"\x48\x03404"):
            self.assertFalse(frames.is_success(block), block)

    def test_request(self) -> None:
        asked = frames.request(5, "https", "a", "/" + "x" * 150)
        self.assertEqual(int.from_bytes(asked[:3], "big"), len(asked) - frames.HEADER)
        self.assertEqual(asked[3:9], bytes([1, 5, 0, 0, 0, 5]))
        # The path's length: 127 in the prefix and 24 more.
        self.assertIn(b"\x05:path\x7f\x18/xxx", asked)


class Reckoning(unittest.TestCase):
    def test_places_in_a_connection_whose_numbers_begin_again(self) -> None:
        numbers = [(1 << 32) - 10, (1 << 32) - 20, 0, 100]
        segments = [{"sequence": number, "length": 10, "arrived": 1.0} for number in numbers]
        stream = Stream([*segments, {"sequence": 5, "length": 9, "arrived": None}])
        self.assertEqual([segment["place"] for segment in stream.segments], [0, -10, 10, 110])
        self.assertEqual(stream.first_with(15)["sequence"], 0)
        self.assertRaises(StopIteration, stream.first_with, 50)
        self.assertLess(max(segment["place"] for segment in stream.segments), HALF)

    def test_steady(self) -> None:
        # Nothing in the first second, 1,000 bytes in each of the next three.
        steps = [(0.0, 0), (1.0, 0), (2.0, 1_000), (3.0, 2_000), (4.0, 3_000)]
        self.assertEqual(matrix.steady(steps), 8_000)

    def test_figures(self) -> None:
        # The picture's request is 100 bytes, the script's 50; one way takes 100 ms, a packet of 1,000 bytes and 52 a second.
        def segment(source: int, sequence: int, length: int, entered: float, took: float) -> dict:
            destination = 9 if source == servers.PORT else servers.PORT
            return {"source": source, "destination": destination, "sequence": sequence, "length": length, "entered": entered,
                    "left": entered + took, "arrived": entered + took + 0.1}

        forth = [segment(9, 0, 100, 70.0, 0.0), segment(9, 100, 50, 72.0, 0.0)]
        back = [segment(servers.PORT, 500 + 1_000 * number, 1_000, 70.1 + number, 1.0) for number in range(4)]
        told = {"began": {"monotonic": 70.0}, "resources": [
            {"path": "/picture.png", "sent": 100, "bytes": 3_000, "end": 4.2,
             "pieces": [[1.2, 1_000, 0], [2.2, 1_000, 1_000], [4.2, 1_000, 3_000]]},
            {"path": "/script.js", "sent": 150, "bytes": 1_000, "end": 3.2, "pieces": [[3.2, 1_000, 2_000]]}]}
        report = {"to_client": {"late_us": {"p99": 250}}}
        outcome = Outcome(json.dumps(told), report, back, forth)
        found = tile.figures(outcome, Link(str(1_052 * 8), 200))
        expected = {"available": 2.1, "first_byte": 1.1, "entered": 0.0, "left": 1.0, "floor": 1.0 + 1_500 / 1_052 + 0.1,
                    "link_queue": 1_052, "before": 1_000, "picture_finished": 4.2, "script_finished": 3.2,
                    "rate": 4_000 * 8 / 4.0, "busy": 1.0, "late_ms": 0.25}
        for name, value in expected.items():
            self.assertAlmostEqual(getattr(found, name), value, msg=name)

    def test_figures_over_quic(self) -> None:
        # A packet of 1,000 bytes and 28 takes a second, one way 100 ms. The first datagram after the script was asked for is
        # lost on its way; what the server had sent before its first byte is not told apart by its contents.
        def datagram(entered: float, left: float, arrived: float | None, length: int = 1_000) -> dict:
            return {"source": 1, "destination": 2, "sequence": None, "length": length, "entered": entered, "left": left,
                    "arrived": arrived}

        forth = [datagram(70.0, 70.0, 70.1, 100), datagram(72.0, 72.0, None, 50), datagram(72.5, 72.5, 72.6, 50)]
        back = [datagram(70.1 + number, 71.1 + number, None if number == 1 else 71.2 + number) for number in range(4)]
        told = {"version": "HTTP/3", "began": {"monotonic": 70.0}, "resources": [
            {"path": "/picture.png", "asked": 0.0, "sent": 100, "bytes": 1_000, "end": 1.2, "pieces": [[1.2, 1_000, 0]]},
            {"path": "/script.js", "asked": 2.0, "sent": 150, "bytes": 2_000, "end": 4.21,
             "pieces": [[3.21, 1_000, 2_000], [4.21, 1_000, 3_000]]}]}
        outcome = Outcome(json.dumps(told), {"to_client": {"late_us": {"p99": 250}}}, back, forth)
        found = tile.figures(outcome, Link(str(1_028 * 8), 200))
        expected = {"available": 2.1, "first_byte": 1.11, "entered": 0.0, "left": 1.0, "link_queue": 1_028, "busy": 1.0}
        for name, value in expected.items():
            self.assertAlmostEqual(getattr(found, name), value, msg=name)

    def test_text_outside_the_markers_is_kept(self) -> None:
        page = document.replaced("# A\n", "x", "1")
        self.assertEqual(document.replaced(page + "\nend\n", "x", "\\2"), page.replace("1", "\\2") + "\nend\n")


if __name__ == "__main__":
    unittest.main()
