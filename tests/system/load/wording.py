"""Programs that read wrk's report can read this one, and the figures in it are those of the JSON."""

from __future__ import annotations

import concurrent.futures
import math
import pathlib
import re

from ..verdict import Verdict
from .generator import Outcome, bench, wrk
from .peers import Nginx, Raw, requests

TIME = r"(\d+\.\d\d)(us|ms|s|m|h)"
SIZE = r"(\d+\.\d\d)([KMGT]?B)"
NUMBER = r"(\d+\.\d\d)([kMGT]?)"
# As scripts have them; each must find exactly one place.
ALWAYS = {
    "running": r"^Running (\d+)(s|m|h) test @ (\S+)$",
    "connections": r"^  (\d+) threads and (\d+) connections$",
    "heading": r"^  Thread Stats   Avg      Stdev     Max   \+/- Stdev$",
    "latency": rf"^    Latency +{TIME} +{TIME} +{TIME} +(\d+\.\d\d)%$",
    "rate": rf"^    Req/Sec +{NUMBER} +{NUMBER} +{NUMBER} +(\d+\.\d\d)%$",
    "total": rf"^  (\d+) requests in {TIME}, {SIZE} read$",
    "requests per second": r"^Requests/sec: +(\d+\.\d\d)$",
    "bytes per second": rf"^Transfer/sec: +{SIZE}$",
}
DISTRIBUTION = {f"{percent}%": rf"^ +{percent}% +{TIME} *$" for percent in (50, 75, 90, 99)} | {
    "distribution": r"^  Latency Distribution$"}
FAILED = {"errors": r"^  Socket errors: connect (\d+), read (\d+), write (\d+), timeout (\d+)$"}
STATUS = {"statuses": r"^  Non-2xx or 3xx responses: (\d+)$"}
UNITS = {"us": 1.0, "ms": 1e3, "s": 1e6, "m": 6e7, "h": 3.6e9, "B": 1.0, "KB": 1024.0, "MB": 1024.0 ** 2, "GB": 1024.0 ** 3,
         "TB": 1024.0 ** 4, "": 1.0, "k": 1e3, "M": 1e6, "G": 1e9}
COMMON = ("-t", "2", "-c", "4", "-d", "1")
# Half of the last digit that is printed, of the smallest number that is printed in a unit: 0.85.
PRECISION = 0.006
# Says everything again as it was measured.
DONE = """
function done(summary, latency, requests)
   local said = {summary.requests, summary.bytes, summary.duration, summary.errors.status, summary.errors.read, latency.mean,
      latency.max, latency.stdev, latency:percentile(50), latency:percentile(90), latency:percentile(99), requests.mean, requests.max}
   io.stderr:write(table.concat(said, " "), "\\n")
end
"""
NAMES = ("requests", "bytes", "duration", "status", "read", "mean", "max", "stdev", "p50", "p90", "p99", "rate", "fastest")


def half(connection) -> None:
    """Answers every other request."""
    for number, _ in enumerate(requests(connection)):
        if number % 2:
            return
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")


def read(verdict: Verdict, name: str, text: str, patterns: dict[str, str]) -> dict[str, tuple]:
    found = {}
    for what, pattern in patterns.items():
        places = re.findall(pattern, text, re.M)
        if verdict.check(len(places) == 1, f"wording: {name}: {what} is there {len(places)} times"):
            found[what] = places[0]
    return found


def parsed(verdict: Verdict, folder: pathlib.Path, short: bool) -> None:
    """Every line of wrk's is found by the same expression in the reports of both; none is there that should not be."""
    with Nginx(folder) as server, Raw(half) as broken:
        runs = [(program, name, patterns, [program, *COMMON, *options]) for name, options, patterns in (
            ("plain", [server.url()], ALWAYS),
            ("latency", ["--latency", server.url()], ALWAYS | DISTRIBUTION),
            ("status", [f"{server.url()}/missing"], ALWAYS | STATUS),
            ("errors", [broken.url], ALWAYS | FAILED),
        ) for program in (wrk, bench)]
        outcomes = together([command for *_, command in runs])
    for (program, name, patterns, _), outcome in zip(runs, outcomes):
        name = f"{program.__name__}, {name}"
        found = read(verdict, name, outcome.output, patterns)
        for what in set(DISTRIBUTION | STATUS | FAILED) - set(patterns):
            pattern = (DISTRIBUTION | STATUS | FAILED)[what]
            verdict.check(not re.search(pattern, outcome.output, re.M), f"wording: {name}: {what} is there")
        verdict.check(found.get("running", ())[:2] == ("1", "s") and found.get("connections") == ("2", "4"),
                      f"wording: {name}: {found.get('running')}, {found.get('connections')}")
    verdict.say(f"wording: {len(ALWAYS | DISTRIBUTION | STATUS | FAILED)} lines of wrk's found in both reports")


def amount(found: tuple[str, str]) -> float:
    return float(found[0]) * UNITS[found[1]]


def figures(verdict: Verdict, folder: pathlib.Path, short: bool) -> None:
    """The report, the JSON and what a script is told are of one run each: all are what was measured."""
    (folder / "done.lua").write_text(DONE)
    with Nginx(folder) as server, Raw(half) as broken:
        urls = (f"{server.url()}/missing", broken.url)
        scripted = [bench, *COMMON, "-s", folder / "done.lua"]
        outcomes = together([[*scripted, form, url] for form in ("--latency", "--json") for url in urls])
    for outcome, others in zip(outcomes, (STATUS, FAILED)):
        report(verdict, outcome, ALWAYS | DISTRIBUTION | others)
    for outcome in outcomes[2:]:
        document(verdict, outcome)
    verdict.say("wording: the figures of the report, of the JSON and of done() agree")


def report(verdict: Verdict, outcome: Outcome, patterns: dict[str, str]) -> None:
    told = dict(zip(NAMES, map(float, outcome.said.split())))
    found = read(verdict, "figures", outcome.output, patterns)
    same(verdict, "the report", {
        "requests": float(found["total"][0]), "duration": amount(found["total"][1:3]), "bytes": amount(found["total"][3:5]),
        "mean": amount(found["latency"][0:2]), "stdev": amount(found["latency"][2:4]), "max": amount(found["latency"][4:6]),
        "p50": amount(found["50%"]), "p90": amount(found["90%"]), "p99": amount(found["99%"]),
        "rate": amount(found["rate"][0:2]), "fastest": amount(found["rate"][4:6]),
        "status": float(found.get("statuses", "0")), "read": float(found.get("errors", ("0", "0"))[1]),
    }, told)
    rate = float(found["requests per second"])
    verdict.check(abs(rate * told["duration"] / 1e6 / told["requests"] - 1) < PRECISION,
                  f"wording: {rate} requests each second, {told}")


def document(verdict: Verdict, outcome: Outcome) -> None:
    told = dict(zip(NAMES, map(float, outcome.said.split())))
    results = outcome.results
    latency, summary, errors = results["latency"], results["summary"], results["errors"]
    same(verdict, "the JSON", {
        "requests": summary["requests"], "bytes": summary["bytes"], "duration": summary["elapsed_s"] * 1e6,
        "status": errors["status"], "read": errors["read"], "rate": results["thread_rate"]["mean"],
        "fastest": results["thread_rate"]["max"],
        **{name: latency[f"{name}_us"] for name in ("mean", "max", "stdev", "p50", "p90", "p99")},
    }, told)


def together(commands: list[list]) -> list[Outcome]:
    """Runs all commands at the same time, since no figure is judged by its size, and returns their outcomes."""
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        return list(pool.map(lambda command: command[0](*command[1:]), commands))


def same(verdict: Verdict, where: str, found: dict[str, float], told: dict[str, float]) -> None:
    # As in wrk, the report has the deviation of a sample, and the script that of the values: with few of them, they differ.
    told = told | {"stdev": told["stdev"] * math.sqrt(told["requests"] / max(1, told["requests"] - 1))}
    for name in NAMES:
        # The script's times are cut to whole microseconds.
        tolerance = told[name] * PRECISION + 1.01
        verdict.check(abs(found[name] - told[name]) <= tolerance, f"wording: {where} has {name} {found[name]}, done() {told[name]}")


CASES = (parsed, figures)
