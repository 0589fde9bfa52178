"""The requests of clients beside those that servers saw: which failures were unavoidable, and which were not."""

from __future__ import annotations

import collections
import dataclasses

from .load import Asked
from .upstream import Seen

# A moment, from and to, at which a server fell: requests that were sent to it just then are lost with it.
Window = tuple[float, float]
# How long a proxy may take to notice that, on a machine that does other things too.
SLACK = 0.03


@dataclasses.dataclass
class Row:
    """Counts of requests and of failures."""

    gets: int
    posts: int
    # Those that failed, less those whose response was cut when it had begun.
    gets_failed: int
    posts_failed: int
    # POSTs that failed though no server had seen anything of them and none fell meanwhile.
    needless: int
    # POSTs that were carried out twice.
    twice: int
    # Responses that were cut when they had begun.
    cut: int
    # Responses that were taken for whole, and were not what the server had sent.
    wrong: int
    # Requests that the server got when the fault was over.
    back: int
    # Seconds until an answer began.
    longest: float


def account(asked: list[Asked], seen: list[Seen], windows: list[Window], cuts: bool) -> Row:
    """`cuts`: whether servers broke responses off, which no proxy can make good."""
    failed = [each for each in asked if each.failure]
    events = collections.defaultdict(collections.Counter)
    for each in seen:
        events[each.id][each.event] += 1
    cut = {each.id for each in failed if events[each.id]["cut"] and cuts}
    failed_posts = [each for each in failed if each.method == "POST" and each.id not in cut]
    needless = [each for each in failed_posts if not events[each.id]
                and not any(each.began < to + SLACK and start < each.ended for start, to in windows)]
    return Row(
        gets=sum(each.method == "GET" for each in asked), posts=sum(each.method == "POST" for each in asked),
        gets_failed=sum(each.method == "GET" and each.id not in cut for each in failed), posts_failed=len(failed_posts),
        needless=len(needless), twice=sum(events[each.id]["did"] > 1 for each in asked if each.method == "POST"), cut=len(cut),
        wrong=sum(each.failure == "wrong answer" for each in failed), back=0,
        longest=max((each.seconds for each in asked), default=0.0))
