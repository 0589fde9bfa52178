"""All cases through a proxy, a few at a time, and the judgement in the end."""

from __future__ import annotations

import collections
import os
import pathlib
import tempfile
import threading

from ..verdict import Verdict, arguments
from . import client, corpus, judge, programs
from .client import Delivery
from .corpus import Case
from .judge import Outcome
from .programs import Proxy
from .strict import Strict

LANES = 8
# A case that ends by itself, with an answer to the last request or a closed connection, may take so many seconds on a
# busy machine.
PATIENCE = 3.0
# The client leaves a proxy that waits for more than it was sent after so many seconds.
BRIEFLY = 0.25
# The part of the cases whose answer may be lost to a reset.
SILENT = 0.01
# Of the cases before nginx and Node in the short test: each so manieth.
SAMPLE = 4


def main() -> None:
    parser = arguments("smuggling", "Ambiguous requests through `serow proxy`.")
    parser.add_argument("--only", help="the cases whose name contains this")
    parser.add_argument("--proxy", choices=programs.PROXIES, default="serow", help="another proxy, to test the judge")
    parser.add_argument("--list", action="store_true", help="print the cases' names")
    options = parser.parse_args()
    chosen = [case for case in corpus.cases() if not options.only or options.only in case.name]
    if options.list:
        print("\n".join(f"{case.number:04} {case.name}" for case in chosen))
        return
    verdict = Verdict("smuggling")
    sample = chosen[::SAMPLE] if options.short and not options.only else chosen
    try:
        for delivery in (Delivery.WHOLE,) if options.short else Delivery:
            before_strict(options.proxy, chosen, verdict, delivery)
        for upstream in (programs.nginx_upstream, programs.node_upstream):
            before_program(options.proxy, upstream, sample, verdict)
    except programs.Missing as missing:
        verdict.check(False, str(missing))
    verdict.finish()


def before_strict(name: str, cases: list[Case], verdict: Verdict, delivery: Delivery = Delivery.WHOLE) -> None:
    with tempfile.TemporaryDirectory() as folder, Strict() as upstream:
        os.chmod(folder, 0o755)
        with programs.PROXIES[name](pathlib.Path(folder), upstream.port) as proxy:
            outcomes = played(proxy, cases, delivery)
            logged = judge.by_number((line.request, line) for line in proxy.settled())
            check_alive(proxy, verdict)
        seen, broken = judge.seen_by_strict(upstream.messages), judge.broken(upstream.violations)
    found = {}
    for outcome in outcomes:
        number = outcome.case.number
        found[outcome.case] = [*broken.pop(number, []), *judge.findings(
            outcome, seen.get(number, []), logged.get(number, []), is_strict=True)]
    tell(f"{len(cases)} cases {delivery.value} before {upstream.name}", found, verdict)
    silent = [outcome.case.name for outcome in outcomes if judge.is_unanswered(outcome)]
    verdict.check(len(silent) <= len(cases) * SILENT, f"{len(silent)} refused without an answer: {', '.join(silent[:5])}")
    for lines in broken.values():
        verdict.check(False, f"of no case: {'; '.join(lines)}")


def before_program(name: str, program, cases: list[Case], verdict: Verdict) -> None:
    with tempfile.TemporaryDirectory() as first, tempfile.TemporaryDirectory() as second:
        for folder in (first, second):
            os.chmod(folder, 0o755)
        upstream = program(pathlib.Path(first))
        with upstream.server, programs.PROXIES[name](pathlib.Path(second), upstream.server.port) as proxy:
            outcomes = played(proxy, cases)
            logged = judge.by_number((line.request, line) for line in proxy.settled())
            check_alive(proxy, verdict)
            seen = judge.seen_by_lines(upstream.seen())
    found = {}
    for outcome in outcomes:
        number = outcome.case.number
        found[outcome.case] = judge.findings(outcome, seen.get(number, []), logged.get(number, []), is_strict=False)
    tell(f"{len(cases)} before {upstream.name}", found, verdict)


def tell(what: str, found: dict[Case, list[str]], verdict: Verdict) -> None:
    wrong = {case: lines for case, lines in found.items() if lines}
    for case, lines in wrong.items():
        verdict.check(False, f"{case.number:04} {case.name}: {'; '.join(lines)}")
    verdict.figure(f"{what}: {len(wrong) or 'no'} findings")


def check_alive(proxy: Proxy, verdict: Verdict) -> None:
    verdict.check(proxy.server.is_running() and not proxy.server.panics(), f"{proxy.name}: {proxy.server.said()[-300:]}")


def played(proxy: Proxy, cases: list[Case], delivery: Delivery = Delivery.WHOLE) -> list[Outcome]:
    waiting, outcomes = collections.deque(cases), []

    def lane() -> None:
        while waiting:
            try:
                case = waiting.popleft()
            except IndexError:
                return
            if outcome := play(proxy, case, delivery):
                outcomes.append(outcome)

    lanes = [threading.Thread(target=lane) for _ in range(LANES)]
    for each in lanes:
        each.start()
    for each in lanes:
        each.join()
    return sorted(outcomes, key=lambda outcome: outcome.case.number)


def play(proxy: Proxy, case: Case, delivery: Delivery) -> Outcome | None:
    """Plays the case, an innocent request while its connection is open and one behind it; None for a case over HTTP/2
    if the proxy does not speak it."""
    port = proxy.http2_port if isinstance(case.sent, corpus.Stream) else proxy.server.port
    if port is None:
        return None
    ends_itself = case.expected.kind == "refused" or "next" in case.expected.words
    innocents = []
    with client.Attack(("127.0.0.1", port), case, PATIENCE if ends_itself else BRIEFLY, delivery) as attack:
        innocents.append(innocent(proxy, case, 1))
    innocents.append(innocent(proxy, case, 2))
    return Outcome(case, attack.exchange, innocents)


def innocent(proxy: Proxy, case: Case, turn: int) -> tuple[str, str]:
    target = f"/innocent-{case.number:04}-{turn}"
    return target, client.ask(proxy.server.address, target)
