"""Which responses of the faults of PHP are found wrong."""

from __future__ import annotations

import unittest

from ..php_faults.client import Outcome, Request
from ..php_faults.judge import judge
from ..php_faults.site import Row

POST, GET = Request(1, "post"), Request(1, "index", method="GET")
AFTER = Request(1, "after")
FIRST, SECOND, WORK = Row(70, "response"), Row(71, "response"), Row(70, "after")


def outcome(request: Request, status: int = 200, text: str = "1 70 ") -> Outcome:
    return Outcome(request, status, text, began=10, ended=20)


class Judge(unittest.TestCase):
    def test_requests_are_judged_by_the_ledger_and_the_kills(self) -> None:
        # The outcome, the rows of its request, the child that was killed and when, and how many are wrong.
        for name, found, rows, kills, wrong in (
            ("once", outcome(POST), [FIRST], {}, 0),
            ("twice", outcome(POST), [FIRST, SECOND], {}, 1),
            ("twice, in a killed child", outcome(POST), [FIRST, SECOND], {70: 15}, 1),
            ("not at all", outcome(POST), [], {}, 1),
            ("in another process", outcome(POST), [SECOND], {}, 1),
            ("another text", outcome(POST, text="2 70 "), [FIRST], {}, 1),
            ("no response", outcome(POST, 0, "ConnectionResetError"), [FIRST], {70: 15}, 1),
            ("503", outcome(POST, 503, ""), [], {70: 15}, 1),
            ("502 in a killed child", outcome(POST, 502, ""), [FIRST], {70: 15}, 0),
            ("502 in another child", outcome(POST, 502, ""), [FIRST], {71: 15}, 1),
            ("502 in a child that was killed later", outcome(POST, 502, ""), [FIRST], {70: 25}, 1),
            ("502 before its row", outcome(POST, 502, ""), [], {71: 15}, 0),
            ("502 before its row, without a kill", outcome(POST, 502, ""), [], {71: 5}, 1),
            ("502 after two runs", outcome(POST, 502, ""), [FIRST, SECOND], {70: 15, 71: 16}, 1),
            ("a page", outcome(GET), [], {}, 0),
            ("502 for a page with one kill", outcome(GET, 502, ""), [], {70: 15}, 1),
            ("502 for a page with two kills", outcome(GET, 502, ""), [], {70: 15, 71: 16}, 0),
            ("work after the response", outcome(AFTER), [FIRST, WORK], {}, 0),
            ("no work after the response", outcome(AFTER), [FIRST], {}, 1),
            ("no work after the response in a killed child", outcome(AFTER), [FIRST], {70: 15}, 0),
            ("work twice", outcome(AFTER), [FIRST, WORK, WORK], {}, 1),
        ):
            with self.subTest(name):
                self.assertEqual(len(judge([found], {1: rows}, kills).wrong), wrong)

    def test_a_kill_excuses_one_request(self) -> None:
        outcomes = [Outcome(Request(number, "post"), 502, "", 10, 20) for number in (1, 2)]
        self.assertEqual(len(judge(outcomes, {}, {70: 15}).wrong), 1)
        self.assertEqual(len(judge(outcomes, {}, {70: 15, 71: 16}).wrong), 0)

    def test_a_row_without_a_request_is_wrong(self) -> None:
        self.assertEqual(len(judge([], {1: [FIRST]}, {}).wrong), 1)
