"""The command `tests/priorities`: runs the benchmark against Serow and its peers, and writes the results."""

from __future__ import annotations

import argparse
import concurrent.futures
import pathlib
import tempfile

from ..server import Broken
from ..verdict import Verdict, arguments
from . import document, laboratory, loss, servers, store, tables, tile
from .laboratory import Link
from .servers import Server
from .tile import Run

# The case that made Google look into the kernel's buffers: 128 kbit/s, 300 ms (docs/measurements/priorities.md).
SLOW = Link("128kbit", 300)
SIZE, SHORT_SIZE = 700_000, 60_000
# When the script is asked for: while the connection is still starting, and when it has been busy for a while.
AFTER, SHORT_AFTER, LATE_AFTER = 0.2, 0.2, 10.0
# Seconds that a server may add to the round trip.
ALLOWED = 0.150
# Of a round trip more, while the connection starts, the link may be idle.
LEAST_BUSY, LEAST_BUSY_HTTP3 = 0.95, 0.97
# Two runs at 128 kbit/s need no processor worth the name; more at a time would make each other late.
AT_A_TIME = 4


def main() -> int:
    parser = arguments("priorities", __doc__)
    parser.add_argument("--write", action="store_true", help="write docs/measurements/priorities.md and its pictures; results that "
                        "this run does not measure are taken from the last run")
    parser.add_argument("--peers", action="store_true", help="the other servers too (--write has them always)")
    parser.add_argument("--only", action="append", metavar="SERVER", choices=[server.name for server in servers.SERVERS],
                        help=f"one of {', '.join(server.name for server in servers.SERVERS)}; may be repeated")
    parser.add_argument("--size", type=int, help="bytes of the picture and of the script")
    parser.add_argument("--after", type=float, action="append", help="seconds after which the script is asked for")
    parser.add_argument("--rate", default=SLOW.rate, help="of the link; default %(default)s")
    parser.add_argument("--rtt", type=float, default=SLOW.rtt_ms, metavar="MS", help="default %(default)g")
    parser.add_argument("--queue", default="auto", help="bytes that may wait before the link; see netlab --help")
    parser.add_argument("--congestion", default="cubic", help="congestion control of both kernels")
    parser.add_argument("--only-rate", action="append", metavar="RATE", help="of the matrix, such as 1gbit; may be repeated")
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--matrix", action="store_true", help="throughput from 128 kbit/s to 1 Gbit/s, pacing on and off")
    what.add_argument("--http3", action="store_true", help="Serow over HTTP/3 (QUIC), and with 2 %% of the packets lost; --write writes "
                      "docs/measurements/http3.md")
    what.add_argument("--browser", action="store_true", help="the same benchmark in Chromium")
    options = parser.parse_args()
    verdict = Verdict("priorities")
    try:
        if laboratory.is_possible():
            benchmark(options, verdict)
    except Broken as broken:
        verdict.check(False, str(broken))
    verdict.finish()
    return 0


def benchmark(options: argparse.Namespace, verdict: Verdict) -> None:
    if options.matrix:
        from . import matrix
        return matrix.run(options, verdict)
    if options.browser:
        from . import browser
        return browser.run(options, verdict)
    lossy: list[Run] = []
    runs = run_all(options, verdict)
    print("\n" + tables.plain(runs) + "\n")
    for run in runs:
        judge(run, verdict)
    if options.http3 and not options.short:
        lossy = loss.run_all(options, verdict, AT_A_TIME)
        print("\n" + loss.markdown(lossy) + "\n")
        loss.judge(lossy, Link(options.rate, options.rtt), ALLOWED, verdict)
    if options.write and options.http3:
        document.write_http3(runs, lossy)
    elif options.write:
        document.write_runs(store.merged(runs))
    return None


def candidates(options: argparse.Namespace, verdict: Verdict) -> list[Server]:
    wanted = [server for server in servers.SERVERS
              if (server.name in options.only if options.only else server.is_ours or options.peers or options.write)]
    found = []
    for server in wanted:
        if servers.is_there(server):
            found.append(server)
        elif server.is_ours:
            verdict.check(False, f"{server.label}: the program has no {servers.lacks(server)}")
        else:
            verdict.say(f"{server.label} is not there: its rows are missing; run: tests/install")
    return found


def run_all(options: argparse.Namespace, verdict: Verdict) -> list[Run]:
    """Over HTTP/2, and in the short form over HTTP/3 as well; with --http3 only over that."""
    size = options.size or (SHORT_SIZE if options.short else SIZE)
    afters = options.after or ([SHORT_AFTER] if options.short else [AFTER, LATE_AFTER])
    link = Link(options.rate, options.rtt, ("--queue", options.queue, "--congestion", options.congestion))
    with tempfile.TemporaryDirectory() as folder:
        pathlib.Path(folder).chmod(0o755)
        site = pathlib.Path(folder, "site")
        tile.make_site(site, size)
        asked = [(server, tls, after, False) for after in afters for tls in (True, False) for server in candidates(options, verdict)]
        over_quic = [(servers.SERVERS[0], True, after, True) for after in afters]
        asked = over_quic if options.http3 else [*asked, *over_quic] if options.short else asked
        with concurrent.futures.ThreadPoolExecutor(AT_A_TIME) as pool:
            waiting = [pool.submit(tile.sit, server, tls, link, size, after, site, http3) for server, tls, after, http3 in asked]
            runs = []
            for (server, tls, after, http3), future in zip(asked, waiting):
                try:
                    run = future.result()
                except (Broken, StopIteration, KeyError) as error:
                    verdict.check(False, f"{server.label}, {spoken(tls, http3)}: {error!r}")
                    continue
                runs.append(run)
                verdict.say(f"{server.label}, {spoken(tls, http3)}, after {after:g} s: first byte after "
                            f"{run.figures.first_byte:.2f} s")
    return runs


def spoken(tls: bool, http3: bool) -> str:
    return "HTTP/3" if http3 else "TLS" if tls else "no TLS"


def judge(run: Run, verdict: Verdict) -> None:
    """Serow's bar; the others are only measured."""
    server = next(server for server in servers.SERVERS if server.name == run.server)
    if server.name != "serow":
        return
    figures = run.figures
    kind = f"{spoken(run.tls, run.http3)}, after {run.after:g} s"
    link = Link(run.link.split(",")[0], float(run.link.split()[1]))
    bar = link.rtt_ms / 1000 + ALLOWED
    verdict.figure(f"{kind}: the script's first byte after {figures.first_byte:.2f} s (possible: {figures.floor:.2f}), finished "
                   f"after {figures.script_finished:.1f} s, the picture after {figures.picture_finished:.1f} s")
    verdict.compare_time(figures.first_byte <= bar, f"{kind}: the script's first byte came {figures.first_byte:.3f} s after its "
                                                    f"request was there; the bar is {bar:.3f} s")
    verdict.check(figures.script_first, f"{kind}: the picture was finished first")
    lasted = max(figures.script_finished, figures.picture_finished)
    least_busy = LEAST_BUSY_HTTP3 if run.http3 else LEAST_BUSY
    verdict.compare_time(figures.busy >= least_busy - link.rtt_ms / 1000 / lasted,
                         f"{kind}: the link was busy only {figures.busy:.0%} of the time")
