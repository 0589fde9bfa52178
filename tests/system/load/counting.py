"""The server and the generator count the same, request for request."""

from __future__ import annotations

import json
import pathlib
import subprocess
import time

from .. import wire
from ..polling import attempts
from ..server import Server, program
from ..verdict import Verdict
from .generator import Outcome, bench_json
from .peers import BODY, Nginx

# Of all runs together.
BAR = 1_000_000
SHORT_BAR = 100_000
VERSIONS = {"HTTP/2": ["-c", "4", "--http2", "-m", "32"], "HTTP/1.1": ["-c", "16"]}


class Counted(Server):
    """`serow files` with a door for its status, at a port and at a socket."""

    @classmethod
    def serving(cls, folder: pathlib.Path) -> "Counted":
        site = folder / "site"
        site.mkdir()
        (site / "index.html").write_text(BODY)
        door, unix = f"unix:{folder}/door", str(folder / "socket")
        server = cls.files(site, "--access-log", "off", "--admin", door, "--listen", f"unix:{unix}")
        server.door, server.unix = door, unix
        return server

    def status(self) -> dict[str, int]:
        asked = subprocess.run([program("serow"), "status", "--json", "--admin", self.door], capture_output=True, check=True)
        status = json.loads(asked.stdout)
        return {name: status["requests"][name] for name in ("total", "status_2xx", "http1", "http2", "body_bytes_sent")} \
            | {"connections": status["connections"]["accepted"]}

    def since(self, before: dict[str, int], requests: int) -> dict[str, int]:
        """The counts since then. The server may count the last responses when they have arrived already."""
        after = {}
        for _ in attempts(2):
            after = {name: count - before[name] for name, count in self.status().items()}
            if after["status_2xx"] == requests:
                break
        return after


def runs(short: bool) -> list[tuple[str, str, list[str]]]:
    """The version, where to, and the options."""
    number, seconds, few = ("25k", "500ms", "1000") if short else ("250k", "5s", "10k")
    return [(version, place, [*options, *amount])
            for version, options in VERSIONS.items() for place in ("TCP", "unix")
            for amount in (["-n", number], ["-d", seconds], ["-n", few, "--no-keepalive"])]


def consistent(outcome: Outcome, requests: int) -> list[str]:
    """The results that contradict so many requests, all answered with 200."""
    results = outcome.results
    found = {
        "statuses": results["statuses"].get("200"),
        "latencies": results["latency"]["count"],
        "histogram": sum(row["count"] for row in results["histogram"]),
        "course": sum(row["requests"] for row in results["course"]),
    }
    return [f"{name} {count}" for name, count in found.items() if count != requests] + \
        [f"{count} errors ({kind})" for kind, count in outcome.errors.items()]


def serow(verdict: Verdict, folder: pathlib.Path, short: bool) -> None:
    """Requests, connections, statuses and bytes, as the server's status has them."""
    total = 0
    with Counted.serving(folder) as server:
        url = f"http://127.0.0.1:{server.port}/"
        for version, place, options in runs(short):
            where = ["-P", server.unix] if place == "unix" else []
            name = f"counting: {version} over {place}, {' '.join(options)}"
            # A file that was written just now has a weak entity tag, which is two bytes longer.
            while wire.ask_once(server.address, "/").headers["etag"].startswith("W/"):
                time.sleep(0.1)
            one = bench_json(*[option for option in options if option in ("--http2", "--no-keepalive")], *where, "-n", "1", url)
            before = server.status()
            outcome = bench_json(*options, *where, url)
            requests = outcome.requests
            counted = server.since(before, requests)
            # One more connection shows whether the server is there at all.
            expected = {"total": requests, "status_2xx": requests, "http1": requests * (version == "HTTP/1.1"),
                        "http2": requests * (version == "HTTP/2"), "body_bytes_sent": requests * len(BODY),
                        "connections": outcome.results["summary"]["connections_made"] + 1}
            verdict.check(counted == expected, f"{name}: the server has {counted}, the generator {expected}")
            verdict.check(not (wrong := consistent(outcome, requests)), f"{name}: {requests} requests, but {wrong}")
            # With fields that are compressed against those before, the second response is smaller than the first.
            if version == "HTTP/1.1":
                size = one.results["summary"]["bytes"]
                verdict.check(outcome.results["summary"]["bytes"] == requests * size,
                              f"{name}: {outcome.results['summary']['bytes']} bytes, not {requests} times {size}")
            verdict.say(f"{name}: {requests} and {counted['total']} requests")
            total += requests
    verdict.check(total >= (SHORT_BAR if short else BAR), f"counting: only {total} requests")
    verdict.figure(f"counted alike with serow files: {total} requests in {len(runs(short))} runs")


def nginx(verdict: Verdict, folder: pathlib.Path, short: bool) -> None:
    """The same with nginx, which logs each request, and closes each connection after a thousand of them."""
    total = refused = 0
    with Nginx(folder) as server:
        for number, (version, place, options) in enumerate(runs(short)):
            http2 = version == "HTTP/2"
            where = ["-P", server.unix(http2)] if place == "unix" else []
            outcome = bench_json(*options, *where, f"{server.url(http2)}/{number}")
            requests, logged = outcome.requests, server.logged(f"/{number}")
            name = f"counting: nginx, {version} over {place}, {' '.join(options)}"
            verdict.check(logged == ["200"] * requests, f"{name}: {len(logged)} logged, {requests} counted")
            # With GOAWAY nginx refuses what was asked for in the meantime (RFC 9113 §6.8): it is sent again.
            refused += outcome.results["summary"]["sent_again"]
            verdict.check(not outcome.errors, f"{name}: {outcome.errors}")
            if "-n" in options:
                sent = int(options[options.index("-n") + 1].replace("k", "000"))
                verdict.check(requests + outcome.unanswered == sent, f"{name}: {requests} and {outcome.errors} of {sent}")
            total += requests
    verdict.figure(f"with nginx: {total} requests, {refused} refused by GOAWAY and sent again")


def weights(verdict: Verdict, folder: pathlib.Path, short: bool) -> None:
    """Several URLs are asked for as often as their weights say, and their statuses are told apart."""
    with Nginx(folder) as server:
        (folder / "urls").write_text(f"7 {server.url()}/a\n2 /b\n# nothing\n1 /missing\n")
        outcome = bench_json("-t", "1", "-n", "5000", "--urls", folder / "urls")
        logged = {path: len(server.logged(path)) for path in ("/a", "/b", "/missing")}
        failing = bench_json("-n", "10", "--fail-on-error", "--urls", folder / "urls")
    results = outcome.results
    verdict.check(logged == {"/a": 3500, "/b": 1000, "/missing": 500}, f"weights: {logged}")
    verdict.check(results["statuses"] == {"200": 4500, "404": 500} and outcome.errors == {"status": 500},
                  f"weights: {results['statuses']}, {outcome.errors}")
    verdict.check((outcome.code, failing.code) == (0, 1) and "1 had a status of 400 or above" in failing.line,
                  f"weights: exit codes {outcome.code} and {failing.code}: {failing.line}")
    verdict.say(f"weights: {logged}")


def warm_up(verdict: Verdict, folder: pathlib.Path, short: bool) -> None:
    """Requests of the warm-up reach the server and are in no figure."""
    with Nginx(folder) as server:
        for number, options in enumerate((["-c", "8"], ["-c", "8", "--http2", "-m", "8"], ["-R", "1000"])):
            url = f"{server.url('--http2' in options)}/{number}"
            outcome = bench_json(*options, "--warmup", "300ms", "-n", "500", url)
            logged = len(server.logged(f"/{number}"))
            verdict.check(outcome.requests + outcome.unanswered == 500 and logged > 500,
                          f"warm-up: {' '.join(options)}: {outcome.requests} counted, {outcome.errors}, {logged} logged")
            verdict.check(not (wrong := consistent(outcome, outcome.requests)) or outcome.errors,
                          f"warm-up: {' '.join(options)}: {wrong}")
    verdict.say("warm-up: 500 counted of all that were sent, three times")


CASES = (serow, nginx, weights, warm_up)
