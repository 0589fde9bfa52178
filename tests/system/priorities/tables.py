"""Tables of the measurements: for a terminal and for docs/measurements/priorities.md."""

from __future__ import annotations

from . import servers
from .laboratory import spelled
from .tile import Run

HEADS = ("server", "signals", "first byte", "at the server", "on the link", "best possible", "picture bytes before",
         "script done", "picture done", "finished first", "link busy")


def row(run: Run) -> tuple[str, ...]:
    figures, server = run.figures, of(run)
    return (server.label, server.signals, f"{figures.first_byte:.2f} s", f"{figures.entered:.2f} s",
            f"{figures.first_byte - figures.entered:.2f} s", f"{figures.floor:.2f} s", f"{figures.before / 1000:,.0f} KB",
            f"{figures.script_finished:.1f} s", f"{figures.picture_finished:.1f} s",
            "script" if figures.script_first else "picture", f"{figures.busy:.0%}")


def of(run: Run) -> servers.Server:
    return next(server for server in servers.SERVERS if server.name == run.server)


def groups(runs: list[Run]) -> dict[tuple[str, float, bool, bool], list[Run]]:
    found: dict[tuple[str, float, bool, bool], list[Run]] = {}
    for run in runs:
        found.setdefault((run.link, run.after, run.tls, run.http3), []).append(run)
    return found


def title(link: str, after: float, tls: bool, http3: bool) -> str:
    return f"{'over QUIC' if http3 else 'over TLS' if tls else 'without TLS'}, {spelled(link)}, the script requested after {after:g} s"


def plain(runs: list[Run]) -> str:
    texts = []
    for key, members in groups(runs).items():
        rows = [HEADS, *map(row, members)]
        widths = [max(len(line[column]) for line in rows) for column in range(len(HEADS))]
        lines = ["  ".join(cell.ljust(width) if column < 2 else cell.rjust(width)
                           for column, (cell, width) in enumerate(zip(line, widths))) for line in rows]
        texts.append("\n".join([f"{'HTTP/3' if key[-1] else 'HTTP/2'} {title(*key)}:", *lines]))
    return "\n\n".join(texts)


def of_moments(runs: list[Run]) -> str:
    """One server's runs in one table."""
    lines = ["| link | requested after | " + " | ".join(HEADS[2:]) + " |", "| --- |" + " ---: |" * 8 + " --- | ---: |"]
    lines += [f"| {spelled(run.link)} | {run.after:g} s | {' | '.join(row(run)[2:])} |" for run in runs]
    return "\n".join(lines)


def markdown(runs: list[Run]) -> str:
    texts = []
    for key, members in groups(runs).items():
        lines = ["| " + " | ".join(HEADS) + " |", "| --- | --- |" + " ---: |" * 7 + " --- | ---: |"]
        for run in members:
            cells = list(row(run))
            if of(run).name == "serow":
                cells[0] = f"**{cells[0]}**"
            lines.append("| " + " | ".join(cells) + " |")
        heading = title(*key)
        texts.append("\n".join([f"### {heading[0].upper()}{heading[1:]}", "", *lines]))
    return "\n\n".join(texts)
