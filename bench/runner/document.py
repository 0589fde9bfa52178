"""docs/measurements/benchmarks.md: what stands between the markers is measured and replaced, everything else is kept."""

from __future__ import annotations

import pathlib
import re
import sys

from . import chart, machine, store, tables
from .figures import Figures

FILE = machine.ROOT / "docs/measurements/benchmarks.md"
PICTURE = machine.ROOT / "docs/measurements/benchmarks.svg"
MEASUREMENTS = ("matrix", "instructions", "syscalls", "idle")

NEW = """\
# Benchmarks

Serow, other servers, and a lower limit: a C program that does only the work that the kernel requires. Each server uses
one core. One run on one machine measures the servers in alternating rounds, and compares the processor time (or the
cycles) of a request as a ratio within each round. `bench/run all --write` measures and rewrites this page; it keeps the
text outside the markers.

## Targets

{bars}

![Cost of a request, as a ratio to the reference of each work](benchmarks.svg)

## How it was measured

{machine}

## Cost of a request

{matrix}

## User instructions

Counted by callgrind over two runs that differ only by the counted requests. callgrind does not support AVX-512, so the C
library copies and searches with other instructions than on the real processor.

{instructions}

## System calls

Counted by strace, with 64 connections that were already open.

{syscalls}

## Idle connections

Each connection has sent one request. The figure is the growth of the server's memory divided by the number of
connections. It does not include the kernel's memory for the socket.

{idle}
"""


def begin(name: str) -> str:
    return f"<!-- measured: {name} -->"


def end(name: str) -> str:
    return f"<!-- end of {name} -->"


def enclosed(name: str, content: str) -> str:
    return f"{begin(name)}\n\n{content}\n\n{end(name)}"


def replaced(document: str, name: str, content: str) -> str:
    """Puts the content between its markers; a document without them gets it at its end."""
    pattern = re.compile(re.escape(begin(name)) + ".*?" + re.escape(end(name)), re.DOTALL)
    if pattern.search(document):
        return pattern.sub(lambda _: enclosed(name, content), document, count=1)
    return f"{document.rstrip()}\n\n{enclosed(name, content)}\n"


def put(name: str, title: str, explanation: str, content: str, file: pathlib.Path = FILE) -> None:
    """Puts what a program of its own has measured between its markers; a section that is not there yet comes last."""
    text = file.read_text()
    if begin(name) not in text:
        text = f"{text.rstrip()}\n\n## {title}\n\n{explanation}\n"
    file.write_text(replaced(text, name, content))


def write() -> None:
    results = {name: store.load(name) for name in MEASUREMENTS}
    if not any(results.values()):
        sys.exit("bench/run: nothing measured yet; run: bench/run all --write")
    sections = {"bars": tables.of_bars(results), "machine": tables.of_machine(results)}
    for name in MEASUREMENTS:
        if results[name]:
            sections[name] = getattr(tables, f"of_{name}")(results[name])
    if FILE.exists():
        document = FILE.read_text()
    else:
        names = ("bars", "machine", *MEASUREMENTS)
        document = NEW.format(**{name: enclosed(name, "Not measured yet.") for name in names})
    for name, content in sections.items():
        document = replaced(document, name, content)
    FILE.parent.mkdir(exist_ok=True)
    FILE.write_text(document)
    if results["matrix"]:
        PICTURE.write_text(chart.draw(results["matrix"]))
    print(f"wrote {FILE.relative_to(machine.ROOT)}", file=sys.stderr)


def plain(result: dict) -> str:
    """The matrix for a terminal."""
    figures = Figures(result)
    lines = [f"{'work/transport/connections/server':<38} {tables.METRICS[figures.metric]:>16} {'ratio':>6} {'requests/s':>11}"]
    for key, cell in figures.cells.items():
        name = "/".join(map(str, key))
        if cell["error"]:
            lines.append(f"{name:<38} failed: {cell['error']}")
            continue
        ratio = figures.ratio(*key)
        lines.append(f"{name:<38} {tables.cost(figures.cost(*key), figures.metric):>16} "
                     f"{format(ratio.median, '.2f') if ratio else '–':>6} {figures.median(key, 'per_second'):>11,.0f}")
    return "\n".join(lines)
