"""Whole applications under Serow and under their usual servers: requests a second, processor time of all, latencies."""

from __future__ import annotations

import contextlib
import json
import pathlib
import shutil
import statistics
import subprocess
import urllib.parse
from collections.abc import Iterator
from dataclasses import dataclass, field

from . import browser, matrix, meter, sites, tables, visitor
from .process import Broken
from .sites import Peer, Place, Site
from .tree import Stack

# Of pages and of forms.
SECONDS = {"pages": 5.0, "forms": 3.0}
WARM_UP = 0.3
# A visitor who waits longer for a page has gone away.
PATIENCE = "20s"
TITLES = {"pages": "Pages: the list, single entries, and JSON where the site has it:", "forms": "A form submission, which writes to the database:"}
HEAD = ["application", "server", "requests/s", "processor time, µs", "median, ms", "p99, ms", "Serow : peer, requests/s",
        "Serow : peer, processor time", "Serow is"]


@dataclass(frozen=True)
class Figures:
    per_second: float
    # Nanoseconds of all processes for a request.
    cpu: float
    # Microseconds.
    median: float
    p99: float


@dataclass
class Results:
    """By the server's name, a figure a round; Serow's is None."""

    site: Site
    pages: dict[str | None, list[Figures]] = field(default_factory=dict)
    forms: dict[str | None, list[Figures]] = field(default_factory=dict)


@dataclass(frozen=True)
class Bench:
    program: pathlib.Path
    scratch: pathlib.Path
    rounds: int
    # A factor for SECONDS.
    length: float

    def measure(self, site: Site) -> Results:
        """All servers in turns; one that fails, or answers otherwise than the first, is left out, and said."""
        seeded, results, failed = Place(self.scratch / site.name / "seeded"), Results(site), set()
        try:
            site.fill(seeded)
        except Broken as error:
            matrix.say(f"{site.name}: {error}")
            return results
        reference: list[visitor.Answer] = []
        for number in range(self.rounds):
            # There and back again: a machine that slowly gets faster or slower favours nobody.
            for kind in [None, *site.peers][::-1 if number % 2 else 1]:
                name = kind.name if kind else None
                if name in failed:
                    continue
                try:
                    pages, forms = self.turn(site, kind, seeded, reference)
                except (Broken, OSError, subprocess.SubprocessError) as error:
                    matrix.say(f"{site.name}/{name or 'Serow'}: {error}")
                    failed.add(name)
                    results.pages.pop(name, None)
                    results.forms.pop(name, None)
                    continue
                results.pages.setdefault(name, []).append(pages)
                results.forms.setdefault(name, []).append(forms)
                matrix.say(f"{site.name}/{name or 'Serow'}: {pages.per_second:.0f} pages/s, {forms.per_second:.0f} forms/s")
        return results

    def turn(self, site: Site, kind: Peer | None, seeded: Place, reference: list[visitor.Answer]) -> tuple[Figures, Figures]:
        """Measures one server. The first to run fills `reference` with its answers; all others must answer the same."""
        with self.running(site, kind, seeded) as (stack, database):
            seen = visitor.visit(stack.path, site)
            reference.extend([] if reference else seen)
            if different := visitor.difference(reference, seen):
                raise Broken(f"answers otherwise: {different}")
            return self.pages(site, stack), self.forms(site, stack, database)

    @contextlib.contextmanager
    def running(self, site: Site, kind: Peer | None, seeded: Place) -> Iterator[tuple[Stack, pathlib.Path]]:
        place = Place(self.scratch / site.name / "running")
        shutil.rmtree(place.folder, ignore_errors=True)
        place.folder.mkdir()
        shutil.copyfile(seeded.database, place.database)
        with sites.peer(kind, site, place) if kind else sites.serow(self.program, site, place) as stack:
            yield stack, place.database

    def pages(self, site: Site, stack: Stack) -> Figures:
        caller = visitor.Visitor(stack.path)
        # The first time brings the cookies that pages show something of.
        before = [[caller.ask(target) for _, target in site.pages] for _ in range(2)][1]
        urls = self.scratch / "urls"
        urls.write_text("".join(f"{weight} http://localhost{target}\n" for weight, target in site.pages))
        figures = self.loaded(stack, "pages", caller.cookie(), ["--urls", str(urls)])[0]
        if different := visitor.difference(before, [caller.ask(target) for _, target in site.pages]):
            raise Broken(f"answers otherwise after the load: {different}")
        return figures

    def forms(self, site: Site, stack: Stack, database: pathlib.Path) -> Figures:
        caller = visitor.Visitor(stack.path)
        body = urllib.parse.urlencode(caller.filled(site))
        before = site.total(database)
        figures, sent = self.loaded(stack, "forms", caller.cookie(), ["-H", f"Content-Type: {visitor.FORM}", "-X", "POST", "--body", body,
                                                                     f"http://localhost{site.form.target}"])
        if (written := site.total(database) - before) != sent:
            raise Broken(f"{sent} forms were accepted, and {written} written")
        return figures

    def loaded(self, stack: Stack, what: str, cookie: str, words: list[str]) -> tuple[Figures, int]:
        """Figures of the load after the warm-up, and how many requests both have had."""
        seconds = SECONDS[what] * self.length
        command = [str(self.program), "bench", "-t1", f"-c{browser.CONNECTIONS}", "-T", PATIENCE, "--fail-on-error", "--json", "-P",
                   str(stack.path), *browser.header(cookie), *words]
        warm_up = requested(command, WARM_UP * seconds)
        pids = stack.all()
        before = meter.on_processor(pids)
        told = requested(command, seconds)
        if stack.all() != pids:
            raise Broken("other processes than before answer")
        return figures(told, meter.on_processor(pids) - before), count(warm_up) + count(told)


def requested(command: list[str], seconds: float) -> dict:
    done = subprocess.run([*command, "-d", f"{round(seconds * 1000)}ms"], capture_output=True, text=True)
    if done.returncode != 0:
        told = json.loads(done.stdout) if done.stdout.startswith("{") else {}
        raise Broken(f"{told.get('statuses')}, {told.get('errors')}" if told else done.stderr.strip()[-300:])
    return json.loads(done.stdout)


def count(told: dict) -> int:
    return told["summary"]["requests"]


def figures(told: dict, cpu: int) -> Figures:
    """From what the load generator tells as JSON."""
    return Figures(told["summary"]["requests_per_second"], cpu / count(told), told["latency"]["p50_us"], told["latency"]["p99_us"])


def verdict(ratios: list[float]) -> str:
    """From requests a second, Serow's by the peer's in each round; how far the rounds are apart is told beside it."""
    return "faster" if statistics.median(ratios) > 1 else "**not faster**"


def spread(ratios: list[float]) -> str:
    return f"{statistics.median(ratios):.2f} ({min(ratios):.2f}–{max(ratios):.2f})"


def rows(title: str, found: dict[str | None, list[Figures]]) -> list[list[str]]:
    """Serow's row first; a server without a figure has none."""
    ours, told = found.get(None), []
    for name in [None, *(name for name in found if name)]:
        if name not in found:
            continue
        rounds = found[name]
        row = [title if not told else "", f"nginx + {name}" if name else "**Serow**",
               f"{statistics.median(each.per_second for each in rounds):,.0f}",
               f"{statistics.median(each.cpu for each in rounds) / 1e3:,.0f}",
               f"{statistics.median(each.median for each in rounds) / 1e3:.1f}",
               f"{statistics.median(each.p99 for each in rounds) / 1e3:.1f}"]
        if name and ours and len(ours) == len(rounds):
            speed = [mine.per_second / other.per_second for mine, other in zip(ours, rounds)]
            row += [spread(speed), spread([mine.cpu / other.cpu for mine, other in zip(ours, rounds)]), verdict(speed)]
        told.append(row + [""] * (len(HEAD) - len(row)))
    return told


def report(results: list[Results]) -> str:
    parts = []
    for what, title in TITLES.items():
        lines = [row for each in results for row in rows(f"{each.site.name} ({each.site.title})", getattr(each, what))]
        parts.append(f"{title}\n\n{tables.table(HEAD, lines)}")
    return "\n\n".join(parts)
