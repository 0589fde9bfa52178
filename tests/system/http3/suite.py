"""The parts of `tests/http3`, one after the other."""

from __future__ import annotations

from ..verdict import Verdict, arguments
from . import assault, conversations, early_data, errors, generations

PARTS = ("conversations", "early-data", "errors", "generations", "attacks")
# In the short form; all attacks take two minutes, and one still amplifies by 3.08 instead of 3.
SHORT = PARTS[:4]
SHORT_ATTACKS = "never opened"


def main() -> None:
    parser = arguments("http3", "HTTP/3 with other projects' programs, with invalid input, and under attack.")
    parser.add_argument("--part", choices=PARTS, action="append", help="this part only (repeatable)")
    parser.add_argument("--only", help="of the cases and attacks those whose name contains this")
    options = parser.parse_args()
    verdict = Verdict("http3")
    parts = {
        "conversations": lambda: conversations.run(options.only, verdict),
        "early-data": lambda: early_data.run(options.only, verdict),
        "errors": lambda: errors.run(options.only, verdict),
        "generations": lambda: generations.run(options.short, verdict),
        "attacks": lambda: assault.run(options.short, options.only, verdict),
    }
    for name in options.part or (SHORT if options.short else PARTS):
        parts[name]()
    if options.short and not options.part and not options.only:
        assault.run(True, SHORT_ATTACKS, verdict)
    verdict.finish()
