"""What a test says in the end, and its exit code."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable


# How often something is looked at that was late: in CI (short) other things run on the machine.
LOOKS = {True: 3, False: 1}
# Before it is looked at again, in seconds; twice as long before the third time.
PAUSE = 3.0


class Verdict:
    """Collects what was measured and what was missed. `finish` prints the verdict and ends the program."""

    def __init__(self, name: str, pause: Callable[[float], None] = time.sleep) -> None:
        self.name = name
        self.pause = pause
        self.misses: list[str] = []
        self.late: list[str] = []
        self.figures: list[str] = []
        self.began = time.monotonic()

    def say(self, text: str) -> None:
        print(f"{self.name}: {text}", flush=True)

    def figure(self, text: str) -> None:
        """A measured result, repeated in the summary."""
        self.figures.append(text)
        self.say(text)

    def check(self, holds: bool, miss: str) -> bool:
        if not holds:
            self.misses.append(miss)
            self.say(f"MISS: {miss}")
        return holds

    def check_in_time(self, holds: bool, miss: str) -> None:
        """As `check`, of something that a machine may miss by itself. Within `look_again` only."""
        if not holds:
            self.late.append(miss)
            self.say(f"late: {miss}")

    def look_again(self, run: Callable[[], None], looks: int) -> None:
        """Runs something. What was late is missed if it was late each time that it was looked at.

        A virtual machine stands still for some milliseconds now and then, and no counter in it says so. A server that keeps
        others waiting does so each time. What else runs on the machine may take some seconds, and is let finish.
        """
        for look in range(looks):
            if look > 0:
                self.say("once more, since it was late")
                self.pause(PAUSE * look)
            self.late = []
            run()
            if not self.late:
                return
        for miss in self.late:
            self.check(False, miss)

    def finish(self) -> None:
        seconds = time.monotonic() - self.began
        if self.misses:
            print(f"{self.name}: FAILED in {seconds:.0f} s: {len(self.misses)} missed; {self.misses[0]}", flush=True)
            sys.exit(1)
        print(f"{self.name}: PASSED in {seconds:.0f} s: {'; '.join(self.figures)}", flush=True)
        sys.exit(0)


class Short(argparse.Action):
    """The short form tests the programs that `./test unit` has built, with their assertions; the full form measures."""

    def __call__(self, parser, namespace, values, option_string=None) -> None:
        os.environ.setdefault("SEROW_PROFILE", "checked")
        namespace.short = True


def arguments(name: str, what: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog=f"tests/{name}", description=what)
    length = parser.add_mutually_exclusive_group()
    length.add_argument("--short", action=Short, nargs=0, default=False, help="half a minute at most, for CI; the targets are the same "
                                                             "unless the output says otherwise; of programs of the "
                                                             "profile checked")
    length.add_argument("--full", action="store_true", help="the whole targets (the default)")
    return parser
