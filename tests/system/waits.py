"""How long something waited for a processor: what a server is not to blame for."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import pathlib

_TICK = os.sysconf("SC_CLK_TCK")


@dataclasses.dataclass(frozen=True)
class Waits:
    """What each thread and each processor has waited since it exists, in seconds."""

    server: dict[str, float]
    probe: dict[str, float]
    # Of a virtual machine: while the host's processors did something else.
    host: dict[str, float]

    @classmethod
    def of(cls, server: int) -> "Waits":
        """Of a server and of the process that asks."""
        return cls(_of_threads(server), _of_threads(os.getpid()), _of_processors())

    def since(self, before: "Waits") -> float:
        """How long a request may have waited meanwhile.

        It goes through one thread of the server, so that the one counts that has waited longest of all meanwhile.
        """
        return sum(_longest(then, now) for then, now in (
            (before.server, self.server), (before.probe, self.probe), (before.host, self.host)))


def _longest(before: dict[str, float], after: dict[str, float]) -> float:
    return max((time - before.get(name, 0.0) for name, time in after.items()), default=0.0)


def _of_threads(pid: int) -> dict[str, float]:
    """In the scheduler's queue."""
    times = {}
    with contextlib.suppress(OSError):
        for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
            times[task.name] = int((task / "schedstat").read_text().split()[1]) / 1e9
    return times


def _of_processors() -> dict[str, float]:
    """The field `steal` of /proc/stat."""
    lines = pathlib.Path("/proc/stat").read_text().splitlines()
    return {fields[0]: int(fields[8]) / _TICK for fields in map(str.split, lines) if fields[0].startswith("cpu") and fields[0] != "cpu"}
