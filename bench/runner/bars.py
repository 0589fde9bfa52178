"""The bars: what Serow promises, and whether the measured figures keep it. Nothing here is typed in by hand."""

from __future__ import annotations

from dataclasses import dataclass

from . import servers, works
from .figures import Figures

# Calls that ask the kernel for the time; the vDSO's readings do not show as calls.
CLOCK_CALLS = {"clock_gettime", "gettimeofday", "time"}
# "Processor ≈ 0": a thousandth of one core.
IDLE_SHARE = 0.001

# work, Serow's server, the bar as a ratio to the work's reference, what the bar is called
COSTS = (
    ("memory", "serow-hello", 1.12, "13 bytes from a handler"),
    ("file151", "serow-files", 1.18, "file of 151 bytes"),
    ("axum", "serow-axum", 1.00, "an axum router through the adapter"),
    ("file10k", "serow-files", 0.85, "file of 10 KB"),
    ("file1m", "serow-files", 0.95, "file of 1 MB"),
)
USER_INSTRUCTIONS = 2_800
SYSTEM_CALLS = 2.1
IDLE_BYTES = 6 * 1024


@dataclass(frozen=True)
class Bar:
    work: str
    bar: str
    measured: str
    # None: not measured.
    met: bool | None

    @property
    def verdict(self) -> str:
        return {None: "not measured", True: "met", False: "**missed**"}[self.met]


def unmeasured(work: str, bar: str, why: str = "–") -> Bar:
    return Bar(work, bar, why, None)


def all_bars(results: dict[str, dict | None]) -> list[Bar]:
    matrix = results.get("matrix")
    figures = Figures(matrix) if matrix else None
    bars = []
    for work, server, limit, title in COSTS:
        bars.append(cost(figures, work, server, limit, title))
        if work == "memory":
            bars.append(user_instructions(figures, results.get("instructions")))
    bars.append(sequential(figures))
    bars += system_calls(results.get("syscalls"))
    bars += idle(results.get("idle"))
    return bars


def cost(figures: Figures | None, work: str, server: str, limit: float, title: str) -> Bar:
    key = (work, "tcp", 64)
    below = figures and figures.reference(*key) or works.work(work).references[0]
    bar = f"≤ {limit:.2f} × {servers.server(below).label}"
    if not figures:
        return unmeasured(title, bar)
    if error := figures.failed(*key, server):
        return unmeasured(title, bar, f"failed: {error}")
    ratio = figures.ratio(*key, server)
    if not ratio:
        return unmeasured(title, bar)
    beside = [(name, figures.ratio(*key, name)) for name in ("hyper", "nginx", "nginx-read", "h2o", "warp")]
    others = ", ".join(f"{servers.server(name).label} {other.median:.2f}" for name, other in beside
                       if other and name != ratio.reference)
    measured = f"{ratio.median:.2f} × ({ratio.low:.2f}–{ratio.high:.2f})" + (f"; {others}" if others else "")
    return Bar(title, bar, measured, ratio.median <= limit)


def user_instructions(figures: Figures | None, counted: dict | None) -> Bar:
    title, bar = "13 bytes from a handler", f"≤ {USER_INSTRUCTIONS:,} user instructions"
    values = {}
    for name in ("serow-hello", "hyper", "nginx"):
        by_perf = figures.median(("memory", "tcp", 64, name), "instructions:u") if figures else None
        values[name] = by_perf or by_callgrind(counted, "memory", name, 64)
    mine = values.pop("serow-hello")
    if mine is None:
        return unmeasured(title, bar)
    others = ", ".join(f"{servers.server(name).label} {value:,.0f}" for name, value in values.items() if value)
    return Bar(title, bar, f"{mine:,.0f}" + (f"; {others}" if others else ""), mine <= USER_INSTRUCTIONS)


def by_callgrind(counted: dict | None, work: str, server: str, connections: int) -> float | None:
    for row in counted["rows"] if counted else []:
        if (row["work"], row["server"], row["connections"]) == (work, server, connections):
            return row.get("instructions")
    return None


def sequential(figures: Figures | None) -> Bar:
    title, bar, key = "one connection, sequential 151-byte files", "≥ nginx's requests/s", ("file151", "tcp", 1)
    if not figures:
        return unmeasured(title, bar)
    if error := figures.failed(*key, "serow-files"):
        return unmeasured(title, bar, f"failed: {error}")
    speeds = {name: figures.median((*key, name), "per_second") for name in ("nginx", "nginx-read")}
    there = {name: speed for name, speed in speeds.items() if speed}
    if not there:
        return unmeasured(title, bar)
    best = max(there, key=there.get)
    ratio = figures.ratio(*key, "serow-files", best, "per_second")
    if not ratio:
        return unmeasured(title, bar)
    slowest = figures.median((*key, "serow-files"), "p99_us")
    measured = (f"{ratio.median:.2f} × {servers.server(best).label} ({ratio.low:.2f}–{ratio.high:.2f}); "
                f"p99 {slowest:.0f} µs")
    return Bar(title, bar, measured, ratio.median >= 1)


def system_calls(counted: dict | None) -> list[Bar]:
    title = "system calls per request, 64 connections"
    rows = [row for row in counted["rows"] if row["server"].startswith("serow")] if counted else []
    totals, clocks = f"≤ {SYSTEM_CALLS} for memory and small files", "none for the clock"
    if not rows:
        return [unmeasured(title, totals), unmeasured(title, clocks)]
    if error := next((row["error"] for row in rows if row["error"]), None):
        return [unmeasured(title, totals, f"failed: {error}"), unmeasured(title, clocks)]
    sums = {row["work"]: sum(row["calls"].values()) for row in rows}
    asked = sum(count for row in rows for name, count in row["calls"].items() if name in CLOCK_CALLS)
    told = ", ".join(f"{work} {total:.2f}" for work, total in sums.items())
    return [Bar(title, totals, told, max(sums.values()) <= SYSTEM_CALLS),
            Bar(title, clocks, f"{asked:.3f}" if asked else "none", asked == 0)]


def idle(held: dict | None) -> list[Bar]:
    row = next((row for row in held["rows"] if row["server"] == "serow-hello"), None) if held else None
    memory, processor = f"≤ {IDLE_BYTES // 1024} KB of memory each", "processor ≈ 0"
    if not row or row["error"]:
        title, why = "10,000 connections held idle", f"failed: {row['error']}" if row else "–"
        return [unmeasured(title, memory, why), unmeasured(title, processor)]
    title = f"{row['connections']:,} connections held idle"
    share = row["cpu_ms"] / 1000 / row["seconds"]
    return [Bar(title, memory, f"{row['pss'] / 1024:.2f} KB", row["pss"] <= IDLE_BYTES),
            Bar(title, processor, f"{share:.4%} of one core ({row['cpu_ms']:.1f} ms in {row['seconds']:.0f} s)",
                share <= IDLE_SHARE)]
