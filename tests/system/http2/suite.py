"""The parts of `tests/http2`, one after the other."""

from __future__ import annotations

from ..verdict import Verdict, arguments
from . import assault, browsers, conformity, programs, seeds, websocket

PARTS = ("h2spec", "programs", "browsers", "websocket", "seeds", "attacks")


def main() -> None:
    parser = arguments("http2", "HTTP/2 with other projects' programs, and under attack.")
    parser.add_argument("--part", choices=PARTS, action="append", help="this part only (repeatable)")
    parser.add_argument("--only", help="of the attacks those whose name contains this")
    options = parser.parse_args()
    verdict = Verdict("http2")
    parts = {
        "h2spec": lambda: conformity.run(options.short, verdict),
        "programs": lambda: programs.run(options.short, verdict),
        "browsers": lambda: browsers.run(verdict),
        "websocket": lambda: websocket.run(verdict),
        "seeds": lambda: seeds.run(options.short, verdict),
        "attacks": lambda: assault.run(options.short, options.only, verdict),
    }
    for name in options.part or PARTS:
        parts[name]()
    verdict.finish()
