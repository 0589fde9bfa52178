"""h2spec against a server that echoes, in the clear and over TLS."""

from __future__ import annotations

import pathlib
import re
import tempfile
import xml.etree.ElementTree

from ..server import Server
from ..verdict import Verdict
from . import tools

# Where HTTP/1 is spoken as well, what is no preface of HTTP/2 gets an answer in HTTP/1, which h2spec takes for none. So the
# server in the clear speaks HTTP/2 only.
OPTIONS = {"clear": ("http2",), "TLS": ("tls",)}
PATIENCE = 5
TIMES = {True: 1, False: 5}


def run(short: bool, verdict: Verdict) -> None:
    try:
        program = tools.h2spec()
    except tools.Missing as missing:
        verdict.check(False, str(missing))
        return
    for how in ("clear", "TLS"):
        for number in range(TIMES[short]):
            with Server.example("echo", *OPTIONS[how]) as server:
                judge(program, how, number == 0, server, verdict)
                verdict.check(server.is_running() and not server.panics(), f"h2spec, {how}: {server.said()[-300:]}")


def judge(program: str, how: str, first: bool, server: Server, verdict: Verdict) -> None:
    with tempfile.TemporaryDirectory() as folder:
        report = pathlib.Path(folder, "report.xml")
        command = [program, "-h", "127.0.0.1", "-p", str(server.port), "--strict", "-j", str(report), "-o", str(PATIENCE)]
        if how == "TLS":
            command += ["-t", "-k"]
        try:
            output, _ = tools.run(command, seconds=300, check=False)
            cases = xml.etree.ElementTree.parse(report).iter("testcase")
        except (tools.Failed, OSError, xml.etree.ElementTree.ParseError) as error:
            verdict.check(False, f"h2spec, {how}: {error}")
            return
        found = [(case.get("package", ""), case.get("classname", ""), {child.tag for child in case}) for case in cases]
    missed = [(package, name) for package, name, tags in found if tags & {"failure", "error"}]
    skipped = [name for _, name, tags in found if "skipped" in tags]
    # The totals that h2spec prints in the end must be those that were read.
    told = re.search(r"(\d+) tests, (\d+) passed, (\d+) skipped, (\d+) failed", output)
    counts = (len(found), len(found) - len(missed) - len(skipped), len(skipped), len(missed))
    verdict.check(told is not None and tuple(map(int, told.groups())) == counts, f"h2spec, {how}: {told and told[0]}, read as {counts}")
    text = f"h2spec --strict, {how}: {len(found) - len(missed)} of {len(found)} cases"
    (verdict.figure if first else verdict.say)(text)
    verdict.check(len(found) >= 145, f"h2spec, {how}: only {len(found)} cases")
    verdict.check(not skipped, f"h2spec, {how}: skipped: {skipped}")
    for case in missed:
        verdict.check(False, f"h2spec, {how}: {case[0]}: {case[1]}")
