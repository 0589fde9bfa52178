"""The results as Markdown tables."""

from __future__ import annotations

from . import bars, servers, works
from .figures import Figures
from .works import TRANSPORTS, Work

METRICS = {"cpu": "processor time", "cycles": "cycles"}


def table(head: list[str], rows: list[list[str]]) -> str:
    align = ["---"] + ["---:"] * (len(head) - 1)
    return "\n".join("| " + " | ".join(row) + " |" for row in (head, align, *rows))


def prose(head: list[str], rows: list[list[str]]) -> str:
    return table(head, rows).replace("---:", "---")


def label(name: str) -> str:
    text = servers.server(name).label
    return f"**{text}**" if name.startswith("serow") else text


def cost(value: float, metric: str) -> str:
    return f"{value:,.0f}" if metric == "cycles" else f"{value / 1000:,.2f} µs"


def of_bars(results: dict[str, dict | None]) -> str:
    rows = [[bar.work, bar.bar, bar.measured, bar.verdict] for bar in bars.all_bars(results)]
    return prose(["work", "target", "measured", ""], rows)


def of_matrix(result: dict) -> str:
    figures = Figures(result)
    parts = [
        f"{METRICS[figures.metric].capitalize()} of the server per request, with its ratio to the reference in parentheses, "
        f"taken within each round; medians of {result['rounds']} round{'s' if result['rounds'] > 1 else ''}, "
        f"{result['seconds']:g} s per cell. The reference has no ratio."
    ]
    for work in works.WORKS:
        columns = columns_of(figures, work)
        if columns:
            parts.append(f"### {work.title[0].upper()}{work.title[1:]}")
            parts.append(costs(figures, work, columns))
            parts.append(f"Requests per second:\n\n{speeds(figures, work, columns)}")
            if ("tcp", 64) in columns:
                parts.append(f"TCP, 64 connections, details:\n\n{details(figures, work)}")
    failures = [f"- {'/'.join(map(str, key))}: {cell['error']}" for key, cell in figures.cells.items() if cell["error"]]
    if failures:
        parts.append("Failed, therefore without a figure:\n\n" + "\n".join(failures))
    return "\n\n".join(parts)


def columns_of(figures: Figures, work: Work) -> list[tuple[str, int]]:
    there = {key[1:3] for key in figures.cells if key[0] == work.name}
    return sorted(there, key=lambda column: (TRANSPORTS.index(column[0]), column[1]))


def names_of(figures: Figures, work: Work) -> list[str]:
    return [name for name in work.servers if any(key[0] == work.name and key[3] == name for key in figures.cells)]


def grid(figures: Figures, work: Work, columns: list[tuple[str, int]], content) -> str:
    head = ["server"] + [f"{transport if transport == 'unix' else 'TCP'}, {count:,}" for transport, count in columns]
    rows = []
    for name in names_of(figures, work):
        row = [label(name)]
        for transport, count in columns:
            key = (work.name, transport, count, name)
            row.append("failed" if figures.failed(*key) else content(key) or "–")
        rows.append(row)
    return table(head, rows)


def costs(figures: Figures, work: Work, columns: list[tuple[str, int]]) -> str:
    def content(key: tuple) -> str | None:
        value, ratio = figures.cost(*key), figures.ratio(*key)
        if value is None:
            return None
        bracket = f" ({ratio.median:.2f})" if ratio and ratio.reference != key[3] else ""
        return cost(value, figures.metric) + bracket
    return grid(figures, work, columns, content)


def speeds(figures: Figures, work: Work, columns: list[tuple[str, int]]) -> str:
    def content(key: tuple) -> str | None:
        value = figures.median(key, "per_second")
        return f"{value:,.0f}" if value else None
    return grid(figures, work, columns, content)


def details(figures: Figures, work: Work) -> str:
    counted = any("cycles" in (each or {}) for cell in figures.cells.values() for each in cell["rounds"])
    head = ["server", "ratio, lowest–highest round", "in user code", "median latency", "p99",
            "processor time of the load generator"]
    if counted:
        head += ["user instructions", "kernel instructions"]
    rows = []
    for name in names_of(figures, work):
        key = (work.name, "tcp", 64, name)
        if figures.cost(*key) is None:
            continue
        ratio = figures.ratio(*key)
        row = [label(name), f"{ratio.low:.2f}–{ratio.high:.2f}" if ratio and ratio.reference != name else "–",
               f"{figures.median(key, 'user_share'):.0%}", f"{figures.median(key, 'p50_us'):,.0f} µs",
               f"{figures.median(key, 'p99_us'):,.0f} µs", cost(figures.median(key, "client_cpu"), "cpu")]
        if counted:
            row += [f"{figures.median(key, event):,.0f}" for event in ("instructions:u", "instructions:k")]
        rows.append(row)
    return table(head, rows)


def of_instructions(result: dict) -> str:
    counts = sorted({row["connections"] for row in result["rows"]})
    by_key = {(row["work"], row["server"], row["connections"]): row for row in result["rows"]}
    rows = []
    for work, name in dict.fromkeys((row["work"], row["server"]) for row in result["rows"]):
        row = [works.work(work).title, label(name)]
        for count in counts:
            found = by_key.get((work, name, count))
            row.append("–" if not found else "failed" if found["error"] else f"{found['instructions']:,.0f}")
        rows.append(row)
    head = ["work", "server"] + [f"{count} connection{'s' if count > 1 else ''}" for count in counts]
    return table(head, rows).replace("| --- | ---: |", "| --- | --- |", 1)


def of_syscalls(result: dict) -> str:
    rows = []
    for row in result["rows"]:
        calls = row.get("calls", {})
        names = ", ".join(f"{name} {count:.3f}" for name, count in calls.items() if count >= 0.0005)
        rows.append([works.work(row["work"]).title, label(row["server"]),
                     "failed" if row["error"] else f"{sum(calls.values()):.3f}", row["error"] or names])
    return prose(["work", "server", "calls per request", "by call"], rows)


def of_idle(result: dict) -> str:
    rows = []
    for row in result["rows"]:
        if row["error"]:
            rows.append([label(row["server"]), f"failed: {row['error']}", "–", "–"])
        else:
            rows.append([label(row["server"]), f"{row['pss'] / 1024:.2f} KB", f"{row['rss'] / 1024:.2f} KB",
                         f"{row['cpu_ms']:.1f} ms in {row['seconds']:.0f} s"])
    return table(["server", "memory per connection (PSS)", "(RSS)", "processor time while idle"], rows)


def of_machine(results: dict[str, dict | None]) -> str:
    there = {name: result for name, result in results.items() if result}
    about = next(iter(there.values()))["about"]
    machine = (f"{about['processor']}, {about['cores']} cores{' of a virtual machine' if about['virtual'] else ''}, "
               f"{about['memory_gib']} GiB, Linux {about['kernel']}, {about['system']}.")
    versions = ", ".join(f"{name} {version}" for name, version in about["versions"].items())
    rows = [[name, result["about"]["date"], result["about"]["commit"] or "–",
             f"{result['about']['load_average']:.1f}", f"`{result['command']}`"] for name, result in there.items()]
    settings = [[label(name), servers.server(name).note] for name in
                dict.fromkeys(name for work in works.WORKS for name in work.servers) if servers.server(name).note]
    return "\n\n".join([
        machine, f"Versions: {versions}.",
        prose(["measurement", "date", "commit", "load average at the end", "command"], rows),
        prose(["server", "settings"], settings)])
