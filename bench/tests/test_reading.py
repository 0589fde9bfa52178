"""Tests of the parsers, with the real output of other programs."""

import unittest

from runner import instructions, load, meter, syscalls

STRACE = """\
% time     seconds  usecs/call     calls    errors syscall
------ ----------- ----------- --------- --------- ----------------
 52.20    0.121212           6     20000           sendto
 47.70    0.110000           5     20010        10 recvfrom
  0.10    0.000200           0       464           epoll_wait
------ ----------- ----------- --------- --------- ----------------
100.00    0.231412           5     40474        10 total
"""
PERF = """\
41500000,,instructions:u,1000000,100.00,,
1305000000,,instructions:k,1000000,100.00,,
<not supported>,,cycles,0,100.00,,
"""
CALLGRIND = """\
version: 1
events: Ir
fn=(1) main
16 400
totals: 123456
"""


def told(**changes: int) -> dict:
    return {"requests": 1000, "bytes": 115_000, "connect": 0, "read": 0, "write": 0, "status": 0, "timeout": 0} | changes


class Reading(unittest.TestCase):
    def test_strace_counts_by_name(self):
        self.assertEqual(syscalls.parse(STRACE), {"recvfrom": 20010, "sendto": 20000, "epoll_wait": 464})

    def test_perf_leaves_out_what_was_not_counted(self):
        self.assertEqual(meter.parse_perf(PERF, meter.EVENTS),
                         {"instructions:u": 41_500_000, "instructions:k": 1_305_000_000})

    def test_callgrind_total(self):
        self.assertEqual(instructions.total(CALLGRIND), 123_456)

    def test_callgrind_without_a_total_is_no_figure(self):
        with self.assertRaises(load.Failed):
            instructions.total("version: 1\n")


class Judging(unittest.TestCase):
    def test_whole_responses(self):
        self.assertEqual(load.judged(told(), 115, 64), 1000)

    def test_answers_under_way_at_the_end(self):
        self.assertEqual(load.judged(told(bytes=115_000 + 64 * 100), 115, 64), 1000)

    def test_any_error_is_no_figure(self):
        for kind in ("connect", "read", "write", "status", "timeout"):
            with self.assertRaisesRegex(load.Failed, f"2 {kind} errors"):
                load.judged(told(**{kind: 2}), 115, 64)

    def test_a_wrong_length_is_no_figure(self):
        for size in (114, 200, 0):
            with self.assertRaises(load.Failed):
                load.judged(told(bytes=1000 * size), 115, 64)

    def test_a_large_response_counts_by_its_part(self):
        size = 1_000_000
        self.assertEqual(load.judged(told(requests=10, bytes=10 * size + size // 2), size, 64), 10.5)


if __name__ == "__main__":
    unittest.main()
