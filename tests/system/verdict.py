"""The last line that a test prints, and its exit code."""

from __future__ import annotations

import argparse
import json
import os
import sys
import time


class Verdict:
    """Collects what was measured and what was missed. `finish` prints the verdict and ends the program."""

    # Whether a time beyond its bar is missed: in the measuring form, not in the gate (`--short`).
    judges_times = True

    def __init__(self, name: str) -> None:
        self.name = name
        self.misses: list[str] = []
        self.times = 0
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
        """An invariant: whether it holds does not depend on how busy the machine is."""
        if not holds:
            self.misses.append(miss)
            self.say(f"MISS: {miss}")
        return holds

    def compare_time(self, holds: bool, miss: str) -> bool:
        """A comparison of times, rates or shares of a processor, which a busy machine can miss by itself.

        The gate (`--short`) prints and counts it; in the measuring form, which `bench/nightly` runs, it is a miss.
        """
        self.times += 1
        if not holds:
            self.late.append(miss)
            self.say(f"{'MISS' if self.judges_times else 'late, not judged'}: {miss}")
        return holds

    def finish(self) -> None:
        seconds = time.monotonic() - self.began
        self.record(seconds)
        missed = [*self.misses, *(self.late if self.judges_times else ())]
        if missed:
            print(f"{self.name}: FAILED in {seconds:.0f} s: {len(missed)} missed; {missed[0]}", flush=True)
            sys.exit(1)
        measured = [f"{self.times} times measured, {len(self.late)} late"] if self.times else []
        print(f"{self.name}: PASSED in {seconds:.0f} s: {'; '.join([*measured, *self.figures])}", flush=True)
        sys.exit(0)

    def record(self, seconds: float) -> None:
        """Adds a line of JSON to the file that `bench/nightly` names."""
        if path := os.environ.get("SEROW_RECORD"):
            found = {"test": self.name, "seconds": round(seconds, 1), "times": self.times, "late": self.late,
                     "misses": self.misses, "figures": self.figures}
            with open(path, "a") as file:
                file.write(json.dumps(found, ensure_ascii=False) + "\n")


class Short(argparse.Action):
    """The short form tests the programs that `./test unit` has built, with their assertions; the full form measures."""

    def __call__(self, parser, namespace, values, option_string=None) -> None:
        os.environ.setdefault("SEROW_PROFILE", "checked")
        Verdict.judges_times = False
        namespace.short = True


def arguments(name: str, what: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog=f"tests/{name}", description=what)
    length = parser.add_mutually_exclusive_group()
    length.add_argument("--short", action=Short, nargs=0, default=False, help="half a minute at most, for CI: of programs of the profile "
                                                             "checked; times are printed and not judged")
    length.add_argument("--full", action="store_true", help="the whole targets, also those of times (the default)")
    return parser
