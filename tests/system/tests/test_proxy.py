"""Whether the account of requests behind a proxy finds what is wrong."""

from __future__ import annotations

import unittest

from system.proxy import content
from system.proxy.account import Row, account
from system.proxy.incoming import Body
from system.proxy.load import Asked
from system.proxy.upstream import Seen


def asked(name: str, method: str = "POST", began: float = 1.0, failure: str = "status 502") -> Asked:
    return Asked(name, method, began, 0.0, began + 0.1, failure)


def seen(name: str, event: str = "did") -> Seen:
    return Seen(event, 1.0, "POST", name, "/bytes/1")


class Judging(unittest.TestCase):
    def judge(self, requests: list[Asked], noted: list[Seen], windows=(), cuts: bool = False) -> Row:
        return account(requests, noted, list(windows), cuts)

    def test_answered_requests_are_not_failures(self) -> None:
        row = self.judge([asked("a", failure=""), asked("b", "GET", failure="")], [seen("a"), seen("b")])
        self.assertEqual((row.gets, row.posts, row.gets_failed, row.posts_failed, row.twice), (1, 1, 0, 0, 0))

    def test_a_failed_get_counts_also_if_a_server_saw_it(self) -> None:
        self.assertEqual(self.judge([asked("a", "GET")], [seen("a")], [(1.0, 1.1)]).gets_failed, 1)

    def test_a_post_that_no_server_saw_failed_needlessly(self) -> None:
        row = self.judge([asked("a")], [])
        self.assertEqual((row.posts_failed, row.needless), (1, 1))

    def test_a_post_that_somebody_saw_may_fail(self) -> None:
        for event in ("did", "late", "part"):
            self.assertEqual(self.judge([asked("a")], [seen("a", event)]).needless, 0, event)

    def test_a_post_under_way_when_a_server_fell_may_fail(self) -> None:
        for window, needless in (((1.05, 1.06), 0), ((0.5, 1.05), 0), ((1.05, 9.0), 0), ((0.5, 0.6), 1), ((1.5, 1.6), 1)):
            self.assertEqual(self.judge([asked("a")], [], [window]).needless, needless, window)

    def test_a_post_that_was_done_twice(self) -> None:
        row = self.judge([asked("a", failure=""), asked("b", "GET", failure="")], [seen("a"), seen("a"), seen("b"), seen("b")])
        self.assertEqual(row.twice, 1)

    def test_a_cut_is_a_failure_unless_it_had_to_be(self) -> None:
        noted = [seen("a", "cut"), seen("b", "cut")]
        requests = [asked("a", "GET"), asked("b"), asked("c", "GET")]
        row = self.judge(requests, noted, cuts=True)
        self.assertEqual((row.cut, row.gets_failed, row.posts_failed), (2, 1, 0))
        row = self.judge(requests, noted)
        self.assertEqual((row.cut, row.gets_failed, row.posts_failed), (0, 2, 1))

    def test_an_answer_to_somebody_else(self) -> None:
        self.assertEqual(self.judge([asked("a", failure="wrong answer")], [seen("a")]).wrong, 1)


class Bodies(unittest.TestCase):
    def test_pieces_make_the_whole(self) -> None:
        for size in (0, 1, 3, content.PIECE, content.PIECE + 1, 200_001):
            text = content.whole("ab", size)
            self.assertEqual((len(text), text), (size, (b"ab\n" * (size // 3 + 1))[:size]), size)

    def test_a_body_is_whole_when_its_end_is_there(self) -> None:
        chunks = b"3\r\nhel\r\n2;x=y\r\nlo\r\n0\r\na: b\r\n\r\n"
        for headers, text in (({"content-length": "5"}, b"hello"), ({"transfer-encoding": "chunked"}, chunks)):
            body, buffer = Body(headers), bytearray()
            for place, byte in enumerate(text):
                buffer.append(byte)
                self.assertEqual(body.take(buffer), place == len(text) - 1, (headers, place))
            self.assertEqual(f"{body.sum:08x}", content.checksum(iter([b"hello"])))


if __name__ == "__main__":
    unittest.main()
