"""Compares the requests that the upstream saw with those in the proxy's log, and with the answers to the client."""

from __future__ import annotations

import collections
import dataclasses
import re

from .client import Exchange
from .corpus import Case, Stream
from .programs import Logged
from .strict import Message, Violation

# The requests that carry a case's number; innocents are others' requests at the same time and after.
TARGET = re.compile(r"/(a|smuggled|next|innocent)-(\d{4})")


@dataclasses.dataclass
class Outcome:
    """The outcome of one case at the client's side."""

    case: Case
    exchange: Exchange
    # Pairs: the request, and the request that the upstream has seen according to the answer.
    innocents: list[tuple[str, str]]


@dataclasses.dataclass(frozen=True)
class Seen:
    """A request that an upstream saw; one that only logs has nothing but the name."""

    name: str
    is_whole: bool = True
    message: Message | None = None


def by_number(texts) -> dict[int, list]:
    """Pairs of a text and anything, by the number in the text; (name, anything) in their order."""
    found = collections.defaultdict(list)
    for text, thing in texts:
        if target := TARGET.search(text):
            found[int(target.group(2))].append((target.group(1), thing))
    return found


def seen_by_strict(messages: list[Message]) -> dict[int, list[Seen]]:
    return {number: [Seen(name, message.is_whole, message) for name, message in pairs]
            for number, pairs in by_number((message.target, message) for message in messages).items()}


def seen_by_lines(lines: list[str]) -> dict[int, list[Seen]]:
    return {number: [Seen(name) for name, _ in pairs] for number, pairs in by_number((line, None) for line in lines).items()}


def broken(violations: list[Violation]) -> dict[int, list[str]]:
    """The violations of the grammar, by the case that was last on the connection; 0 where none was."""
    found = collections.defaultdict(list)
    for violation in violations:
        numbers = re.findall(rb"/(?:a|smuggled|next)-(\d{4})", violation.received)
        found[int(numbers[-1]) if numbers else 0].append(f"the upstream is sent no HTTP: {violation.what}")
    return found


def findings(outcome: Outcome, seen: list[Seen], logged: list[tuple[str, Logged]], is_strict: bool) -> list[str]:
    """One line for each fault."""
    own = [each for each in seen if each.name != "innocent"]
    known = [(name, line) for name, line in logged if name != "innocent"]
    found = [*smuggled(outcome.case, own), *unknown(own, known), *answers(outcome, known), *poisoned(outcome),
             *unexpected(outcome, own)]
    return [*found, *unanswered(own, known), *content(outcome.case, own)] if is_strict else found


def smuggled(case: Case, seen: list[Seen]) -> list[str]:
    if "smuggled" in case.expected.words or not any(each.name == "smuggled" for each in seen):
        return []
    return ["the upstream sees /smuggled as a request"]


def unknown(seen: list[Seen], known: list[tuple[str, Logged]]) -> list[str]:
    more = collections.Counter(each.name for each in seen) - collections.Counter(name for name, _ in known)
    return [f"the upstream sees /{name} {count} times more than the proxy" for name, count in more.items()]


def unanswered(seen: list[Seen], known: list[tuple[str, Logged]]) -> list[str]:
    said = collections.Counter(name for name, line in known if line.status == 200)
    missing = said - collections.Counter(each.name for each in seen if each.is_whole)
    return [f"the proxy says 200 for /{name}, which the upstream has not had whole" for name in missing]


def answers(outcome: Outcome, known: list[tuple[str, Logged]]) -> list[str]:
    """The answers are to this client's requests, in the order in which the proxy has taken them."""
    case, exchange = outcome.case, outcome.exchange
    found, names = [], []
    for answer in exchange.answers:
        if answer.seen in (None, "OPTIONS *"):
            continue
        target = TARGET.search(answer.seen)
        if not target or int(target.group(2)) != case.number or target.group(1) == "innocent":
            found.append(f"the client is given another's answer: {answer.seen[:80]}")
        else:
            names.append(target.group(1))
    said = [name for name, line in known if line.status == 200]
    if isinstance(case.sent, Stream):
        names, said = sorted(names), sorted(said)
    if names != said[:len(names)]:
        found.append(f"the client is answered {names}, the proxy's log has {said}")
    if exchange.rest and not b"HTTP/1.".startswith(exchange.rest[:7]):
        found.append(f"the client is sent what is no answer: {exchange.rest[:80]!r}")
    return found


def poisoned(outcome: Outcome) -> list[str]:
    return [f"another's {asked} is answered with {answer}" for asked, answer in outcome.innocents
            if answer != f"GET {asked}"]


def unexpected(outcome: Outcome, seen: list[Seen]) -> list[str]:
    expected, exchange = outcome.case.expected, outcome.exchange
    names, whole = [each.name for each in seen], [each.name for each in seen if each.is_whole]
    statuses = [answer.status for answer in exchange.answers]
    over_http2 = isinstance(outcome.case.sent, Stream)
    if expected.kind == "seen":
        wanted = sorted(expected.words) if over_http2 else list(expected.words)
        got = sorted(whole) if over_http2 else whole
        return [] if got == wanted else [f"the upstream sees {got} instead of {wanted}; the client is answered {statuses}"]
    if expected.kind == "either":
        return []
    # Another stream of HTTP/2 has nothing to do with one that is refused.
    others = {"next"} if over_http2 else set()
    if expected.kind == "cut":
        return [f"the upstream sees {names}, whole: {whole}"] if set(whole) - others or set(names) - others - {"a"} else []
    wrong = [f"the upstream sees {names} of what is to be refused"] if set(names) - others else []
    if not over_http2:
        if is_unanswered(outcome):
            # A reset overtakes an answer where more was sent than was read.
            return wrong
        if not statuses or not 400 <= statuses[0] < 600:
            wrong.append(f"refused with {statuses or 'nothing'}")
        elif expected.words and str(statuses[0]) not in expected.words:
            wrong.append(f"refused with {statuses[0]} instead of {' or '.join(expected.words)}")
        if not exchange.is_closed:
            wrong.append("the connection stays open behind what is refused")
    return wrong


def is_unanswered(outcome: Outcome) -> bool:
    """Whether what was to be refused was cut off without a word."""
    exchange = outcome.exchange
    return outcome.case.expected.kind == "refused" and exchange.is_closed and not exchange.answers


def content(case: Case, seen: list[Seen]) -> list[str]:
    message = next((each.message for each in seen if each.name == "a" and each.message), None)
    if message is None:
        return []
    found = []
    for name, value in case.expected.has:
        if value not in message.values(name):
            found.append(f"the upstream has {name} {message.values(name)} instead of {value!r}")
    found += [f"the upstream has {name} {message.values(name)}" for name in case.expected.lacks if message.values(name)]
    if case.expected.body is not None and message.body != case.expected.body:
        found.append(f"the upstream has the body {message.body[:80]!r}")
    return found
