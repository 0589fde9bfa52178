"""The picture: per work, what a request costs each server as a ratio to the work's reference. SVG without a library."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape

from . import bars, servers, works
from .figures import Figures

WIDTH = 820
MARGIN = 28
LABELS = 178
# Room right of the longest bar for its figures.
FIGURES = 132
BAR, GAP = 18, 8
HEADING, PANEL_GAP = 34, 22
TOP, BOTTOM = 84, 56

STYLE = """
  .ground { fill: #ffffff } .title { fill: #111827; font-weight: 600; font-size: 19px }
  .text { fill: #1f2937 } .quiet { fill: #6b7280 } .heading { fill: #111827; font-weight: 600; font-size: 14px }
  .peer { fill: #b6c0cc } .reference { fill: #7d8998 } .serow { fill: #0d8a72 } .mine { fill: #0b6e5b; font-weight: 600 }
  .one { stroke: #7d8998; stroke-dasharray: 3 3 } .bar { stroke: #d9480f; stroke-width: 2 } .limit { fill: #c2410c }
  text { font-family: system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif; font-size: 13px }
  .note { font-weight: 400; font-size: 13px }
  @media (prefers-color-scheme: dark) {
    .ground { fill: #0d1117 } .title, .heading { fill: #f0f6fc } .text { fill: #d1d9e0 } .quiet { fill: #9198a1 }
    .peer { fill: #465060 } .reference { fill: #76818f } .serow { fill: #2fbf9f } .mine { fill: #4fd8b8 }
    .one { stroke: #76818f } .bar { stroke: #ff8a4c } .limit { fill: #ff9d66 }
  }
"""


@dataclass(frozen=True)
class Bar:
    label: str
    ratio: float
    cost: str
    kind: str


@dataclass(frozen=True)
class Panel:
    title: str
    reference: str
    bars: list[Bar]
    # Serow's bar as a ratio, where the work has one.
    limit: float | None

    @property
    def height(self) -> int:
        return HEADING + len(self.bars) * (BAR + GAP)


def panels(result: dict) -> list[Panel]:
    figures = Figures(result)
    limits = {work: limit for work, _, limit, _ in bars.COSTS}
    found = []
    for work in works.WORKS:
        key = (work.name, "tcp", 64)
        reference = figures.reference(*key)
        if not reference:
            continue
        drawn = []
        for name in work.servers:
            ratio, cost = figures.ratio(*key, name), figures.cost(*key, name)
            if ratio and cost:
                kind = "serow" if name.startswith("serow") else "reference" if name == reference else "peer"
                drawn.append(Bar(servers.server(name).label, ratio.median, amount(cost, figures.metric), kind))
        has_serow = any(bar.kind == "serow" for bar in drawn)
        title = f"{work.title[0].upper()}{work.title[1:]}"
        found.append(Panel(title, servers.server(reference).label, sorted(drawn, key=lambda bar: bar.ratio),
                           limits.get(work.name) if has_serow else None))
    return found


def amount(cost: float, metric: str) -> str:
    if metric == "cycles":
        return f"{cost:,.0f} cycles"
    return f"{cost / 1000:,.1f} µs"


def draw(result: dict) -> str:
    drawn = panels(result)
    widest = max((bar.ratio for panel in drawn for bar in panel.bars), default=1)
    scale = (WIDTH - 2 * MARGIN - LABELS - FIGURES) / max(widest, 1.25)
    height = TOP + sum(panel.height for panel in drawn) + PANEL_GAP * max(len(drawn) - 1, 0) + BOTTOM
    what = "Cycles" if result["metric"] == "cycles" else "Processor time"
    about = result["about"]
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" '
        'role="img" aria-labelledby="title description">',
        '<title id="title">What a request costs Serow and its peers</title>',
        f'<desc id="description">{escape(describe(drawn))}</desc>',
        f"<style>{STYLE}</style>",
        f'<rect class="ground" width="{WIDTH}" height="{height}" rx="8"/>',
        text(MARGIN, 38, "What a request costs", "title"),
        text(MARGIN, 60, f"{what} of the server per request, as a ratio to each work's reference (dashed line). "
             "Shorter is better.", "quiet"),
    ]
    y = TOP
    for panel in drawn:
        lines += draw_panel(panel, y, scale)
        y += panel.height + PANEL_GAP
    lines.append(text(MARGIN, height - 22, "TCP, 64 connections, keep-alive, one core for the server. "
                      f"{about['processor']}, Linux {about['kernel'].split('-')[0]}, {about['date']}.", "quiet"))
    return "\n".join([*lines, "</svg>", ""])


def draw_panel(panel: Panel, top: int, scale: float) -> list[str]:
    left = MARGIN + LABELS
    first, last = top + HEADING - 6, top + panel.height - GAP + 4
    one = left + scale
    # One text, so that no font's width can push its two parts into each other; likewise the figures below.
    lines = [f'<text class="heading" x="{MARGIN}" y="{top + 18}">{escape(panel.title)}'
             f'<tspan class="quiet note" dx="10">1 = {escape(panel.reference)}</tspan></text>',
             f'<line class="one" x1="{one:.1f}" x2="{one:.1f}" y1="{first}" y2="{last}"/>']
    if panel.limit:
        lines.append(text(WIDTH - MARGIN, top + 18, f"Serow's bar: at most {panel.limit:.2f}", "limit", "end"))
    y = top + HEADING
    for bar in panel.bars:
        width, middle = bar.ratio * scale, y + BAR - 4.5
        mine = "mine" if bar.kind == "serow" else "text"
        lines.append(text(left - 10, middle, bar.label, mine, "end"))
        lines.append(f'<rect class="{bar.kind}" x="{left}" y="{y}" width="{width:.1f}" height="{BAR}" rx="2"/>')
        end = left + width
        if bar.kind == "serow" and panel.limit:
            mark = left + panel.limit * scale
            lines.append(f'<line class="bar" x1="{mark:.1f}" x2="{mark:.1f}" y1="{y - 3}" y2="{y + BAR + 3}"/>')
            end = max(end, mark)
        # The figures stand clear of the dashed line.
        end = max(end, one) if end > one - 60 else end
        lines.append(f'<text class="{mine}" x="{end + 8:.1f}" y="{middle}">{bar.ratio:.2f}'
                     f'<tspan class="quiet note" dx="8">{escape(bar.cost)}</tspan></text>')
        y += BAR + GAP
    return lines


def text(x: float, y: float, content: str, kind: str, anchor: str = "start") -> str:
    return f'<text class="{kind}" x="{x}" y="{y}" text-anchor="{anchor}">{escape(content)}</text>'


def describe(drawn: list[Panel]) -> str:
    """For those who hear the picture."""
    return " ".join(f"{panel.title}, relative to {panel.reference}: "
                    + ", ".join(f"{bar.label} {bar.ratio:.2f}" for bar in panel.bars) + "." for panel in drawn)
