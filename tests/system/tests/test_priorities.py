"""Whether the exam's own reading and reckoning can be trusted."""

import unittest

from ..priorities import document, frames, matrix, waterfall
from ..priorities.tile import HALF, Figures, Run, Stream


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
        asked = frames.request(5, "https", "a", "/" + "x" * 150, "u=2", frames.Weight(3, 220, True))
        self.assertEqual(int.from_bytes(asked[:3], "big"), len(asked) - frames.HEADER)
        self.assertEqual(asked[3:14], bytes([1, 0x25, 0, 0, 0, 5, 0x80, 0, 0, 3, 219]))
        # The path's length: 127 in the prefix and 24 more.
        self.assertIn(b"\x05:path\x7f\x18/xxx", asked)


class Reckoning(unittest.TestCase):
    def test_places_in_a_connection_whose_numbers_begin_again(self) -> None:
        numbers = [(1 << 32) - 10, (1 << 32) - 20, 0, 100]
        segments = [{"source": 1, "sequence": number, "length": 10, "arrived": 1.0} for number in numbers]
        stream = Stream([{"source": 2, "sequence": 5, "length": 9, "arrived": 1.0}, *segments], 1)
        self.assertEqual([segment["place"] for segment in stream.segments], [0, -10, 10, 110])
        self.assertEqual(stream.first_with(15)["sequence"], 0)
        self.assertRaises(StopIteration, stream.first_with, 50)
        self.assertLess(max(segment["place"] for segment in stream.segments), HALF)

    def test_steady(self) -> None:
        # Nothing in the first second, 1,000 bytes in each of the next three.
        steps = [(0.0, 0), (1.0, 0), (2.0, 1_000), (3.0, 2_000), (4.0, 3_000)]
        self.assertEqual(matrix.steady(steps), 8_000)

    def test_the_link_carries_one_byte_after_the_other(self) -> None:
        figures = Figures(0, 0, 0, 0, 0, 0, 0, 2, 2, 0, 0, 0)
        # At 8 kbit/s: 1,000 bytes each, all noticed after two seconds.
        run = Run("serow", True, "8kbit, 300 ms", 1_000, 0.2, figures, [(2.0, 1_000)], [(2.0, 1_000)], "cubic")
        self.assertEqual(waterfall.on_the_link(run), [("picture", 0.0, 1.0), ("script", 1.0, 2.0)])

    def test_what_stands_outside_the_markers_is_kept(self) -> None:
        page = document.replaced("# A\n", "x", "1")
        self.assertEqual(document.replaced(page + "\nend\n", "x", "\\2"), page.replace("1", "\\2") + "\nend\n")


if __name__ == "__main__":
    unittest.main()
