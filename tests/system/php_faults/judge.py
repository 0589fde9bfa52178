"""Compares responses with the ledger: no request is lost, and none runs twice."""

from __future__ import annotations

import collections
import dataclasses

from .client import Outcome
from .site import Row


@dataclasses.dataclass(slots=True)
class Judgement:
    """Lines that say which request is wrong, and how many were excused."""

    wrong: list[str] = dataclasses.field(default_factory=list)
    statuses: collections.Counter[int] = dataclasses.field(default_factory=collections.Counter)
    # Responses 502 to requests whose child was killed, and work after a response that was lost with its child.
    killed: int = 0
    lost_work: int = 0


def judge(outcomes: list[Outcome], rows: dict[int, list[Row]], kills: dict[int, int]) -> Judgement:
    """`kills`: when which child was killed."""
    judgement = Judgement(statuses=collections.Counter(outcome.status for outcome in outcomes))
    # A child has one request at a time, so that a kill explains one failure, or the loss of one piece of work.
    left = dict(kills)
    unexplained = []
    for outcome in sorted(outcomes, key=lambda outcome: outcome.ended):
        row = rows.get(outcome.request.number, [])
        responses = [each.process for each in row if each.stage == "response"]
        if outcome.status == 502 and len(responses) < 2:
            process = responses[0] if responses else None
            if process is None:
                # It was killed before its row was written, or is a page.
                unexplained.append(outcome)
            elif outcome.began < left.get(process, 0) < outcome.ended:
                del left[process]
                judgement.killed += 1
            else:
                judgement.wrong.append(f"{described(outcome)}, and {process} was not killed with it")
            continue
        if fault := misfit(outcome, responses, len(row)):
            judgement.wrong.append(f"{described(outcome)}: {fault}")
        elif outcome.request.script == "after" and all(each.stage != "after" for each in row):
            if left.pop(outcome.process, None) is None:
                judgement.wrong.append(f"{described(outcome)}: its work after the response is lost, and {outcome.process} was not killed")
            judgement.lost_work += 1
    # Each with the first kills that happened while it ran.
    for outcome in unexplained:
        fitting = [process for process, at in left.items() if outcome.began < at < outcome.ended]
        # Another child runs a page again whose child was killed.
        needed = 2 if outcome.request.is_get else 1
        if len(fitting) < needed:
            judgement.wrong.append(f"{described(outcome)}, and {len(fitting)} children were killed meanwhile, not {needed}")
            continue
        for process in sorted(fitting, key=left.__getitem__)[:needed]:
            del left[process]
        judgement.killed += 1
    known = {outcome.request.number for outcome in outcomes}
    judgement.wrong += [f"{number}: {row}, and nobody sent it" for number, row in rows.items() if number not in known]
    return judgement


def misfit(outcome: Outcome, responses: list[int], rows: int) -> str:
    """The fault of a response, apart from the work behind it."""
    expected = 0 if outcome.request.is_get else 1
    if not outcome.is_right:
        return f"a wrong response; ran in {responses}"
    if len(responses) != expected or rows > expected + (outcome.request.script == "after"):
        return f"ran in {responses}, {rows} rows"
    if responses and responses[0] != outcome.process:
        return f"ran in {responses}"
    return ""


def described(outcome: Outcome) -> str:
    request = outcome.request
    return f"{request.number} {request.script} (pause {request.pause} µs): {outcome.status} {outcome.text[:80]!r}"
