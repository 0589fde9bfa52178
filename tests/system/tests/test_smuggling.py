"""The judge of smuggling finds what a naive proxy does, and only that; its letter is the RFC's."""

from __future__ import annotations

import contextlib
import io
import pathlib
import unittest
import unittest.mock

from ..smuggling import check, client, corpus, grammar, judge, programs
from ..smuggling.client import Answer
from ..verdict import Verdict

HEADS = {
    "GET /a HTTP/1.1\r\nHost: a": 0,
    "POST /a?b=%2f&c HTTP/1.1\r\nhost: a:80\r\ncontent-length: 5": 5,
    "POST / HTTP/1.1\r\nHost: [::1]\r\nTransfer-Encoding: chunked\r\nX-A: \t\r\nConnection: close": None,
    "OPTIONS * HTTP/1.1\r\nHost:": 0,
}
WRONG_HEADS = (
    "GET /a HTTP/1.0\r\nHost: a", "GET a HTTP/1.1\r\nHost: a", "GET /a#b HTTP/1.1\r\nHost: a", "GET  /a HTTP/1.1\r\nHost: a",
    "GET /a HTTP/1.1", "GET /a HTTP/1.1\r\nHost: a\r\nHost: a", "GET /a HTTP/1.1\r\nHost: a, b", "GET * HTTP/1.1\r\nHost: a",
    "GET /a HTTP/1.1\nHost: a", "GET /a HTTP/1.1\r\nHost: a\r\nX-A: a\nb", "GET /a HTTP/1.1\r\nHost: a\r\nX-A: a\rb",
    "GET /a HTTP/1.1\r\nHost: a\r\nX-A : a", "GET /a HTTP/1.1\r\nHost: a\r\n X-A: a",
    "GET /a HTTP/1.1\r\nHost: a\r\nX-A: a\0",
    "GET /a HTTP/1.1\r\nHost: a\r\nConnection: x-a", "GET /a HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 1",
    "GET /a HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked",
    "GET /a HTTP/1.1\r\nHost: a\r\nContent-Length: +1",
    "GET /a HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked, chunked",
    "GET /a HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: x",
    "GET /a HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked",
)


class Letter(unittest.TestCase):
    def test_heads(self) -> None:
        for head, length in HEADS.items():
            self.assertEqual(grammar.length(grammar.head(head.encode())[2]), length, head)
        for head in WRONG_HEADS:
            with self.assertRaises(grammar.Malformed, msg=head):
                grammar.length(grammar.head(head.encode("latin-1"))[2])

    def test_chunk_sizes(self) -> None:
        for line, size in ((b"5", 5), (b"0A", 10), (b"a;b", 10), (b'a ; b = "c;\\""', 10), (b"0", 0)):
            self.assertEqual(grammar.chunk_size(line), size, line)
        for line in (b"", b"0x5", b"+5", b" 5", b"5 ", b"5;", b"5;a\n", b"5;a=\"b", b"5\r", b"g", b"f" * 16):
            with self.assertRaises(grammar.Malformed, msg=line):
                grammar.chunk_size(line)

    def test_trailers(self) -> None:
        self.assertEqual(grammar.trailers([b"X-A: a"]), [("x-a", "a")])
        for line in (b"Content-Length: 5", b"host: a", b"X-A", b"X-A : a"):
            with self.assertRaises(grammar.Malformed, msg=line):
                grammar.trailers([line])


class Corpus(unittest.TestCase):
    def test_a_case_is_read(self) -> None:
        text = ("== a\n> POST /a-NNNN HTTP/1.1\n> Content-Length: LENGTH, SIZE\n> VALUE\n>\n| hello\\\n| \\x00\\t\n"
                "? b\\r\\n\n= refused 400\n")
        written = corpus.read("x.txt", text)[0]
        case = corpus.made(7, "x", written, written.values[0], is_http2=False)
        self.assertEqual(case.sent, b"POST /a-0007 HTTP/1.1\r\nContent-Length: 9, 9\r\nb\r\n\r\n\r\nhello\0\t\r\n")
        self.assertEqual(case.expected, corpus.Expected("refused", ("400",)))

    def test_wrong_files_are_refused(self) -> None:
        for text in ("> a\n= refused\n", "== a\na\n"):
            with self.assertRaises(corpus.Wrong):
                corpus.read("x.txt", text)
        with self.assertRaises(ValueError):
            corpus.expected(["maybe"])

    def test_the_whole_corpus_can_be_read(self) -> None:
        cases = corpus.cases()
        self.assertGreater(len(cases), 1500)
        self.assertLess(len(cases), 10_000)
        self.assertEqual(len({case.name for case in cases}), len(cases))


class Answers(unittest.TestCase):
    def test_answers_are_taken_apart(self) -> None:
        received = (b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nX-Seen: GET /a\r\nContent-Length: 2\r\n\r\nab"
                    b"HTTP/1.1 200 OK\r\nX-Seen: HEAD /b\r\nContent-Length: 2\r\n\r\n"
                    b"HTTP/1.1 400 No\r\nContent-Length: 9\r\n\r\nab")
        self.assertEqual(client.answers_in(received),
                         ([Answer(200, "GET /a"), Answer(200, "HEAD /b"), Answer(400, None, False)], b""))
        self.assertEqual(client.answers_in(b"nonsense\r\n\r\n"), ([], b"nonsense\r\n\r\n"))


class Judge(unittest.TestCase):
    """Cases through the naive proxy, which passes heads on as they came and believes lengths only."""

    def missed(self, words: str, before) -> list[str]:
        verdict = Verdict("test")
        cases = [case for case in corpus.cases() if words in case.name]
        self.assertTrue(cases)
        with contextlib.redirect_stdout(io.StringIO()):
            before(cases, verdict)
        return verdict.misses

    def test_malformed_requests_are_found(self) -> None:
        missed = self.missed("chunked and a length [Content-Length: LENGTH\\r\\nTransfer",
                             lambda cases, verdict: check.before_strict("naive", cases, verdict))
        self.assertTrue(any("is sent no HTTP: Content-Length" in line for line in missed), missed)

    def test_a_smuggled_request_and_its_victims_are_found(self) -> None:
        def lenient_node(folder: pathlib.Path) -> programs.Upstream:
            return programs.node_upstream(folder, "--insecure-http-parser")

        def before_lenient_node(cases: list[corpus.Case], verdict: Verdict) -> None:
            check.before_program("naive", lenient_node, cases, verdict)

        missed = self.missed("chunked and a length [Content-Length: LENGTH\\r\\nTransfer", before_lenient_node)
        for what in ("sees /smuggled as a request", "/smuggled 1 times more than the proxy", "is to be refused"):
            self.assertTrue(any(what in line for line in missed), (what, missed))
        # One case behind the other, so that it is certain whom a poisoned connection meets; connections stay open that others
        # close, and nobody is to wait for that.
        with unittest.mock.patch.multiple(check, LANES=1, PATIENCE=0.5):
            missed = self.missed("chunked and a length [Content-Length: LENGTH", before_lenient_node)
        self.assertTrue(any("another's /innocent" in line for line in missed), missed)

    def test_ordinary_requests_are_not_found(self) -> None:
        for words in ("requests one behind the other", "have no case [content-length", "a request in a value"):
            self.assertEqual(self.missed(words, lambda cases, verdict: check.before_strict("naive", cases, verdict)), [])

    def test_contradictions_are_found(self) -> None:
        case = corpus.Case(17, "x", b"", corpus.Expected("seen", ("a", "next")))
        answered = programs.Logged(200, "")
        logged = judge.by_number([("GET /a-0017", answered), ("GET /next-0017", answered)])[17]
        fine = judge.Outcome(case, client.Exchange([Answer(200, "GET /a-0017"), Answer(200, "GET /next-0017")], False), [])
        seen = judge.seen_by_lines(["GET /a-0017", "GET /next-0017", "GET /a-0018"])[17]
        self.assertEqual(judge.findings(fine, seen, logged, False), [])
        self.assertEqual(len(judge.findings(fine, seen[:1], logged, False)), 1)
        self.assertEqual(len(judge.findings(fine, seen, logged[:1], False)), 2)
        turned = judge.Outcome(case, client.Exchange(fine.exchange.answers[::-1], False), [])
        self.assertEqual(len(judge.findings(turned, seen, logged, False)), 1)
        alien = judge.Outcome(case, client.Exchange([Answer(200, "GET /a-0018")], False, b"x"),
                              [("/innocent-0017-1", "GET /a-0017")])
        self.assertEqual(len(judge.findings(alien, seen, logged, False)), 3)


if __name__ == "__main__":
    unittest.main()
