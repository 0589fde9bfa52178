"""The picture of one run: two lanes, and who got which bytes when. SVG without a library."""

from __future__ import annotations

import math
from html import escape

from . import servers
from .tile import Run

WIDTH, HEIGHT = 860, 356
LEFT, RIGHT = 96, 28
TOP, LANE, GAP = 96, 84, 26
BOTTOM = TOP + 2 * LANE + GAP
# A column of the lanes, in pixels: narrower than the eye needs, wider than a packet at 128 kbit/s.
COLUMN = 2
# Heights are rounded to this, so that rounding of times does not show as a fringe.
STEP = 6

STYLE = """
  .ground { fill: #ffffff } .title { fill: #111827; font-weight: 600; font-size: 18px }
  .text { fill: #1f2937 } .quiet { fill: #5b6472 } .lane { fill: #f1f3f6 } .grid { stroke: #d5dae1 }
  .picture { fill: #7b8fa8 } .script { fill: #0d8a72 } .name { font-weight: 600 }
  .mark { stroke: #d9480f; stroke-width: 1.5 } .wait { fill: #d9480f; fill-opacity: 0.16 } .said { fill: #b93c0b }
  text { font-family: system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif; font-size: 13px }
  @media (prefers-color-scheme: dark) {
    .ground { fill: #0d1117 } .title { fill: #f0f6fc } .text { fill: #d1d9e0 } .quiet { fill: #9198a1 }
    .lane { fill: #161b22 } .grid { stroke: #30363d } .picture { fill: #74879f } .script { fill: #2fbf9f }
    .mark { stroke: #ff8a4c } .wait { fill: #ff8a4c; fill-opacity: 0.2 } .said { fill: #ff9d66 }
  }
"""


def draw(run: Run, duration: float) -> str:
    """All pictures of one exam have the same duration, so that they can be laid side by side."""
    figures = run.figures
    scale = (WIDTH - LEFT - RIGHT) / duration
    title = f"{servers_label(run)}: a picture, and a script that matters more"
    first = f"first byte {figures.first_byte:.2f} s after its request was at the server"
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" '
        'role="img" aria-labelledby="title description">',
        f'<title id="title">{escape(title)}</title>',
        f'<desc id="description">Script: {first}, finished after {figures.script_finished:.1f} s; picture finished after '
        f"{figures.picture_finished:.1f} s.</desc>",
        f"<style>{STYLE}</style>",
        f'<rect class="ground" width="{WIDTH}" height="{HEIGHT}" rx="8"/>',
        text(24, 36, title, "title"),
        text(24, 58, f"{spelled(run.link)}; {run.size / 1000:,.0f} KB each, HTTP/2 {'over TLS' if run.tls else 'without TLS'}; the "
             f"script is asked for {run.after:g} s after the picture.", "quiet"),
    ]
    lanes = ((TOP, "picture", figures.picture_finished), (TOP + LANE + GAP, "script", figures.script_finished))
    lines += [f'<rect class="lane" x="{LEFT}" y="{top}" width="{WIDTH - LEFT - RIGHT}" height="{LANE}"/>' for top, _, _ in lanes]
    lines += axis(duration, scale)
    asked, waited = LEFT + figures.available * scale, max(figures.first_byte * scale, 1)
    lines.append(f'<rect class="wait" x="{asked:.1f}" y="{lanes[1][0]}" width="{waited:.1f}" height="{LANE}"/>')
    passed = on_the_link(run)
    for top, name, finished in lanes:
        lines.append(path([(begins, ends) for of, begins, ends in passed if of == name], name, top, scale, duration))
        lines.append(f'<text class="text name" x="{LEFT - 12}" y="{top + LANE / 2 + 1}" text-anchor="end">{name}</text>')
        lines.append(text(LEFT - 12, top + LANE / 2 + 18, f"{finished:.1f} s", "quiet", "end"))
    lines.append(f'<line class="mark" x1="{asked:.1f}" x2="{asked:.1f}" y1="{TOP - 8}" y2="{BOTTOM}"/>')
    lines.append(text(asked - 3, TOP - 14, f"script: {first}", "said"))
    lines.append(text(LEFT, HEIGHT - 18, "Seconds since the picture was asked for. Height: share of the link's rate. Shaded: the "
                      "script waits.", "quiet"))
    return "\n".join([*lines, "</svg>", ""])


def axis(duration: float, scale: float) -> list[str]:
    step = next(step for step in (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100) if duration / step <= 12)
    lines = []
    for number in range(math.floor(duration / step) + 1):
        x = LEFT + number * step * scale
        lines.append(f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="{TOP}" y2="{BOTTOM + 6}"/>')
        lines.append(text(x, BOTTOM + 24, f"{number * step:g}{' s' if number == 0 else ''}", "quiet", "middle"))
    return lines


def on_the_link(run: Run) -> list[tuple[str, float, float]]:
    """When the link was busy with which lane's bytes, at the latest: a client gets a TLS record, or what waited for a lost
    packet, at once, but the link carried it one byte after the other."""
    arrivals = sorted([(when, length, "picture") for when, length in run.picture]
                      + [(when, length, "script") for when, length in run.script])
    passed: list[tuple[str, float, float]] = []
    free = math.inf
    for when, length, lane in reversed(arrivals):
        ends = min(when, free)
        free = max(ends - length * 8 / bits(run), 0.0)
        passed.append((lane, free, ends))
    return passed[::-1]


def path(passed: list[tuple[float, float]], kind: str, top: int, scale: float, duration: float) -> str:
    """Columns of equal height are one shape: a hundredth of the file's size."""
    seconds = COLUMN / scale
    filled = [0.0] * (math.ceil(duration / seconds) + 2)
    for begins, ends in passed:
        for column in range(int(begins / seconds), int(ends / seconds) + 1):
            filled[column] += max(min((column + 1) * seconds, ends) - max(column * seconds, begins), 0) / seconds
    heights = [round(min(share, 1) * LANE / STEP) * STEP for share in filled] + [0]
    shapes, since = [], 0
    for column in range(1, len(heights)):
        if heights[column] != heights[since]:
            if heights[since]:
                shapes.append(f"M{LEFT + since * COLUMN} {top + LANE}v-{heights[since]}h{(column - since) * COLUMN}"
                              f"v{heights[since]}z")
            since = column
    return f'<path class="{kind}" d="{"".join(shapes)}"/>'


def spelled(link: str) -> str:
    for unit in ("gbit", "mbit", "kbit"):
        link = link.replace(unit, f" {unit[0].upper() if unit != 'kbit' else 'k'}bit/s")
    return link


def bits(run: Run) -> float:
    from .laboratory import Link
    return Link(run.link.split(",")[0], 0).bits


def servers_label(run: Run) -> str:
    return next(server.label for server in servers.SERVERS if server.name == run.server)


def text(x: float, y: float, content: str, kind: str, anchor: str = "start") -> str:
    return f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(content)}</text>'
