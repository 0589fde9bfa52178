"""Results of `bench/table`, as text and as docs/measurements/peers.md."""

from __future__ import annotations

import pathlib
import re
import statistics
from dataclasses import dataclass, field

from . import contenders, document, machine, tables
from .contenders import Build
from .rows import LIMITS, OURS, Row, Target

PAGE = machine.ROOT / "docs/measurements/peers.md"
UNITS = {"µs": 1e3, "KB": 1024}


@dataclass
class Result:
    """One row: by the server's name a figure for each round."""

    row: Row
    figures: dict[str, list[float]]
    errors: dict[str, str] = field(default_factory=dict)
    missing: dict[str, str] = field(default_factory=dict)

    @property
    def valid(self) -> dict[str, list[float]]:
        """Of servers that failed in no round."""
        return {name: values for name, values in self.figures.items() if values and name not in self.errors}

    @property
    def ours(self) -> list[str]:
        return [name for name in self.figures if name not in self.row.servers]

    def cheapest(self, names: tuple[str, ...]) -> str | None:
        there = [name for name in names if name in self.valid]
        return min(there, key=lambda name: statistics.median(self.valid[name]), default=None)

    def ratios(self, above: str, below: str) -> list[float]:
        return [one / other for one, other in zip(self.valid[above], self.valid[below])]

    def against(self, name: str, target: Target) -> tuple[str, float] | None:
        """The peer that counts for a target, and the ratio to it."""
        peer = self.cheapest(target.peers)
        return (peer, statistics.median(self.ratios(name, peer))) if peer and name in self.valid else None


def median(result: Result, name: str) -> float:
    return statistics.median(result.valid[name]) / UNITS[result.row.unit]


def figure(result: Result, name: str) -> str:
    value = median(result, name)
    return f"{value:,.0f}" if value >= 100 else f"{value:,.1f}" if value >= 10 else f"{value:,.2f}"


def plain(result: Result) -> str:
    """For a terminal: a line for each server, with the ratio of the first build to it."""
    row, lines = result.row, [f"{result.row.name}: {result.row.title}"]
    first = next((name for name in result.ours if name in result.valid), None)
    for name, values in result.figures.items():
        text = f"  {contenders.label(name):<22}"
        if name not in result.valid:
            lines.append(f"{text} error: {result.errors.get(name, 'no figure')}")
            continue
        low, high = min(values) / UNITS[row.unit], max(values) / UNITS[row.unit]
        text += f"{figure(result, name):>9} {row.unit} ({low:,.2f}–{high:,.2f})"
        if first and name != first:
            # Of a peer what it costs compared with us, and of another build what it costs compared with the first.
            ratios = result.ratios(name, first) if name in result.ours else result.ratios(first, name)
            which = f"{name} : {first}" if name in result.ours else f"{first} : {contenders.label(name)}"
            text += f"   {statistics.median(ratios):.3f} ({min(ratios):.2f}–{max(ratios):.2f}) {which}"
        lines.append(text)
    for target in row.targets:
        for name in result.ours:
            if found := result.against(name, target):
                outcome = verdict(found[1], target.of(name))
                lines.append(f"  {name}: {found[1]:.2f} × {contenders.label(found[0])}, target {target.text}: {outcome}")
    for name in result.ours if row.most else ():
        if name in result.valid:
            lines.append(f"  {name}: target ≤ {row.most:g} {row.unit}: {verdict(median(result, name), row.most)}")
    return "\n".join(lines)


def verdict(value: float, most: float) -> str:
    return "met" if value <= most else "**missed**"


def marked(text: str, value: float, most: float) -> str:
    return text if value <= most else f"**{text}**"


def line(result: Result) -> list[str]:
    """A row of the page."""
    row = result.row
    ours = [figure(result, name) if name in result.valid else result.errors.get(name, "–") for name in result.ours]
    peers = [cell(result, name) for name in row.peers if name not in LIMITS and name in result.figures]
    limits = [cell(result, name) for name in row.peers if name in LIMITS and name in result.figures]
    ratios, targets = [], []
    for target in row.targets:
        found = [result.against(name, target) for name in result.ours]
        ratios.append(" / ".join(marked(f"{ratio:.2f}", ratio, target.of(name))
                                 for name, ratio in zip(result.ours, (each and each[1] for each in found)) if ratio))
        targets.append(target.text)
    if row.most:
        ours = [marked(text, median(result, name), row.most) if name in result.valid else text for name, text in zip(result.ours, ours)]
        targets.append(f"≤ {row.most:g} {row.unit}")
    title = row.title + (f", in {row.unit}" if row.unit != "µs" else "")
    return [title, *ours, ", ".join(peers) or "–", ", ".join(limits) or "–", "; ".join(ratios) or "–", "; ".join(targets) or "–"]


def cell(result: Result, name: str) -> str:
    text = figure(result, name) if name in result.valid else f"error ({result.errors.get(name, 'no figure')})"
    return f"{contenders.label(name)} {text}"


def table(results: list[Result], builds: tuple[Build, ...]) -> str:
    head = ["work", *(f"{build.label}, µs" for build in builds), "peers", "limit", "ratio", "target"]
    return tables.table(head, [line(result) for result in results])


def write(results: list[Result], builds: tuple[Build, ...], programs: dict[str, pathlib.Path], rounds: int) -> None:
    """A section for each processor, so that the figures of two machines stand side by side."""
    processor = machine.processor()
    about = machine.about()
    lines = (f"{about['date']}, commit {about['commit']}, {rounds} rounds, load {about['load_average']:.0f} on {about['cores']} cores, "
             f"{about['system']}, Linux {about['kernel']}; {versions(programs)}; builds: {names(builds)}.")
    missed = sorted({f"{name}: {reason}" for result in results for name, reason in result.missing.items()})
    notes = "".join(f"\n- left out: {text}" for text in missed)
    document.put("peers-" + re.sub(r"\W+", "-", processor).strip("-").lower(), processor,
                 "`bench/table --write`: processor time of the server per request, in microseconds.",
                 f"{lines}\n\n{table(results, builds)}{notes and chr(10) + notes}", PAGE)


def names(builds: tuple[Build, ...]) -> str:
    """Cargo puts a program into a folder that has the profile's name."""
    return ", ".join(f"{build.label} (profile `{build.serow.parent.name}`)" for build in builds)


def versions(programs: dict[str, pathlib.Path]) -> str:
    found = []
    for name, option in (("nginx", "-v"), ("h2o", "--version"), ("haproxy", "-v"), ("caddy", "version")):
        if name in programs and (said := re.search(r"\d+\.\d[\w.+-]*", machine.output(str(programs[name]), option))):
            found.append(f"{contenders.label(name)} {said[0]}{' (built here)' if contenders.is_built(programs[name]) else ''}")
    return ", ".join(found)
