"""Responses of every kind are taken for what they are, and those that are none for the failures that they are."""

from __future__ import annotations

import concurrent.futures
import pathlib
import socket
import time

from ..server import Server
from ..verdict import Verdict
from .generator import Outcome, bench_json
from .peers import Raw, answering, requests, silent

LINE = b"HTTP/1.1 "
OK = LINE + b"200 OK\r\nContent-Length: 2\r\n\r\nok"
LARGE = 100 << 20
NUMBER = 40


def at_once(connection: socket.socket) -> None:
    """Closes without a word."""


def after_reading(connection: socket.socket) -> None:
    """Closes when something was asked."""
    connection.recv(65536)


def garbage(connection: socket.socket) -> None:
    """Answers nine times, and the tenth time with nonsense."""
    for number, _ in enumerate(requests(connection), 1):
        connection.sendall(b"\0\xff nonsense\r\n\r\n" if number == 10 else OK)
        if number == 10:
            return


def in_pieces(connection: socket.socket) -> None:
    """Each byte by itself."""
    for _ in requests(connection):
        for byte in OK:
            connection.sendall(bytes([byte]))


def kinds() -> dict[str, tuple]:
    """Each kind with the server's behaviour, the options, and the expected results: statuses, and failures by kind."""
    chunked = b"200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n"
    answers = {
        "204": (b"204 No Content\r\n\r\n", 204),
        "304": (b'304 Not Modified\r\nContent-Length: 500\r\nETag: "a"\r\n\r\n', 304),
        "chunked": (chunked, 200),
        "chunked with more": (chunked.replace(b"5\r\n", b"5;a=b\r\n").replace(b"0\r\n", b"0\r\nX: y\r\n"), 200),
        "103": (b"103 Early Hints\r\nLink: </a>\r\n\r\n" + OK, 200),
        "100": (b"100 Continue\r\n\r\n" + OK, 200),
        "301": (b"301 Moved Permanently\r\nLocation: /\r\nContent-Length: 0\r\n\r\n", 301),
        "no reason": (OK[9:].replace(b" OK", b""), 200),
    }
    cases = {name: (answering(LINE + answer), [], {status: NUMBER}, {}) for name, (answer, status) in answers.items()}
    closing = b"200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok"
    return cases | {
        "HEAD": (answering(LINE + b"200 OK\r\nContent-Length: 1000\r\n\r\n" + b"x" * 1000), ["-X", "HEAD"], {200: NUMBER}, {}),
        "HEAD, chunked": (answering(LINE + chunked), ["-X", "HEAD"], {200: NUMBER}, {}),
        "to the end": (answering(LINE + b"200 OK\r\n\r\nto the end", keep=False), [], {200: NUMBER}, {}),
        "HTTP/1.0": (answering(OK.replace(b"1.1", b"1.0"), keep=False), [], {200: NUMBER}, {}),
        "closing": (answering(LINE + closing, keep=False), [], {200: NUMBER}, {}),
        "bytes": (in_pieces, [], {200: NUMBER}, {}),
        "500": (answering(LINE + b"500 Oh\r\nContent-Length: 0\r\n\r\n"), [], {500: NUMBER}, {"status": NUMBER}),
        "404": (answering(LINE + b"404 No\r\nContent-Length: 0\r\n\r\n"), [], {404: NUMBER}, {"status": NUMBER}),
        "cut off": (answering(LINE + b"200 OK\r\nContent-Length: 9\r\n\r\nok", keep=False), [], {}, {"read": NUMBER}),
        "closes at once": (at_once, [], {}, {"read": NUMBER}), "closes after reading": (after_reading, [], {}, {"read": NUMBER}),
        "closes after reading, HTTP/2": (after_reading, ["--http2", "-m", "4"], {}, {"read": NUMBER}),
        "nonsense in the middle": (garbage, [], {200: NUMBER - 4}, {"protocol": 4}),
        "silence": (silent, ["-T", "300ms", "-c", "20"], {}, {"timeout": NUMBER}),
        "silence, HTTP/2": (silent, ["-T", "300ms", "--http2", "-m", "10"], {}, {"timeout": NUMBER}),
    }


def one(case: tuple) -> Outcome:
    serve, options, *_ = case
    with Raw(serve) as server:
        return bench_json("-t", "1", "-c", "1", "-n", NUMBER, "-T", "10s", *options, server.url, patience=20)


def kinds_of(verdict: Verdict, folder: pathlib.Path, short: bool) -> None:
    """Each kind of response, and of none."""
    cases = kinds()
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        outcomes = list(pool.map(one, cases.values()))
    for (name, (_, _, statuses, errors)), outcome in zip(cases.items(), outcomes):
        found = {int(status): count for status, count in outcome.results["statuses"].items()}
        verdict.check((found, outcome.errors, outcome.code) == (statuses, errors, 0),
                      f"bodies: {name}: {found} and {outcome.errors}, not {statuses} and {errors}; code {outcome.code}")
    verdict.say(f"bodies: {len(cases)} kinds of responses")


def large(verdict: Verdict, folder: pathlib.Path, short: bool) -> None:
    """100 MB come in, and 10 MB go out."""
    with open(folder / "large", "wb") as file:
        file.truncate(LARGE)
    (folder / "body").write_bytes(bytes(range(256)) * 40_000)
    expected = (folder / "body").read_bytes()
    with Server.files(folder, "--access-log", "off") as server:
        for options in ([], ["--http2", "-m", "2"]):
            began = time.monotonic()
            outcome = bench_json("-n", "6", "-c", "2", "-T", "60s", *options, f"http://127.0.0.1:{server.port}/large")
            seconds, size = time.monotonic() - began, outcome.results["summary"]["bytes"]
            verdict.check(outcome.requests == 6 and 6 * LARGE < size < 6.01 * LARGE and not outcome.errors,
                          f"large: {outcome.requests} requests, {size} bytes, {outcome.errors}")
            verdict.say(f"large: 6 times 100 MB {' '.join(options)} in {seconds:.1f} s")
    came = []

    def take(connection: socket.socket) -> None:
        for request in requests(connection):
            came.append(request.partition(b"\r\n\r\n")[2] == expected and request.startswith(b"POST "))
            connection.sendall(OK)

    with Raw(take) as server:
        outcome = bench_json("-n", "4", "-c", "2", "-T", "60s", "--body-file", folder / "body", server.url)
    verdict.check(came == [True] * 4 and outcome.requests == 4, f"large: {came} arrived, {outcome.errors}")


def combinations(verdict: Verdict, folder: pathlib.Path, short: bool) -> None:
    """Options that say little, much, or the same twice: how many requests there are, and how many connections at most."""
    (folder / "index.html").write_text("Hello!\n")
    cases = {
        "-n 1": (1, 1), "-n 3 -c 10": (3, 3), "-n 1 -c 10 --http2 -m 100": (1, 1), "-R 1 -c 100 -d 500ms": (1, 1),
        "-R 0.5 -d 500ms": (1, 1), "-R 1000 -n 100": (100, 10), "-R 1000 -n 5000 -d 500ms": (500, 10),
        "-n 5k -d 60s": (5000, 10), "-n 100k -d 1ms": (None, 10), WARMED_UP: (None, 10),
        "-t 100 -c 100 -d 500ms": (None, 100), "-t 3 -c 10 -n 1000": (1000, 10), "--no-keepalive -n 50": (50, 50),
        "--no-keepalive --http2 -n 50": (50, 50), "--no-keepalive --http2 -m 10 -n 50": (50, 50),
        "-R 200 -d 500ms --warmup 300ms": (100, 10), "-R 200 -d 500ms --http2 -m 4": (100, 10), "-n 10 -X OPTIONS": (10, 10),
        "-d 300ms -c 300 --http2 -m 10": (None, 300),
    }
    with Server.files(folder, "--access-log", "off") as server:
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            url = f"http://127.0.0.1:{server.port}/"
            outcomes = list(pool.map(lambda words: bench_json(*words.split(), url, patience=20), cases))
        for (words, (expected, most)), outcome in zip(cases.items(), outcomes):
            results, summary = outcome.results, outcome.results["summary"]
            sent = outcome.requests + summary["unsent"]
            verdict.check((sent == expected if expected else sent > 0) and outcome.code == 0 and not outcome.unanswered,
                          f"combinations: {words}: {sent} requests, {outcome.errors}, code {outcome.code}")
            verdict.check(summary["connections_made"] <= most, f"combinations: {words}: {summary['connections_made']} connections")
            if words == WARMED_UP:
                # Those are made before the time that counts, unless the machine takes as long for them.
                verdict.compare_time(summary["connections_made"] == 0,
                                     f"combinations: {words}: {summary['connections_made']} connections after the warm-up")
            course = sum(row["requests"] for row in results["course"])
            verdict.check(course == outcome.requests, f"combinations: {words}: {course} in the course, {outcome.requests} in all")
    verdict.say(f"combinations: {len(cases)}")


WARMED_UP = "--warmup 600ms -d 300ms"
CASES = (kinds_of, large, combinations)
