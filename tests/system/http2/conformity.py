"""h2spec against a server that echoes, in the clear and over TLS."""

from __future__ import annotations

import pathlib
import tempfile
import xml.etree.ElementTree

from ..server import Server
from ..verdict import Verdict
from . import tools

# What is no preface is answered in HTTP/1, in the clear, and h2spec waits for the end of the connection: longer than its
# two seconds by default, which the server, too, gives a client to read its last answer.
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
            with Server.example("echo", *(["tls"] if how == "TLS" else [])) as server:
                judge(program, how, number == 0, server, verdict)
                verdict.check(server.is_running() and not server.panics(), f"h2spec, {how}: {server.said()[-300:]}")


def judge(program: str, how: str, first: bool, server: Server, verdict: Verdict) -> None:
    with tempfile.TemporaryDirectory() as folder:
        report = pathlib.Path(folder, "report.xml")
        command = [program, "-h", "127.0.0.1", "-p", str(server.port), "--strict", "-j", str(report), "-o", str(PATIENCE)]
        if how == "TLS":
            command += ["-t", "-k"]
        try:
            tools.run(command, seconds=300, check=False)
            cases = xml.etree.ElementTree.parse(report).iter("testcase")
        except (tools.Failed, OSError, xml.etree.ElementTree.ParseError) as error:
            verdict.check(False, f"h2spec, {how}: {error}")
            return
        found = [(case.get("package", ""), case.get("classname", ""), case.find("failure"), case.find("skipped"))
                 for case in cases]
    missed = [(package, name) for package, name, failure, _ in found if failure is not None]
    skipped = [name for _, name, _, skip in found if skip is not None]
    text = f"h2spec --strict, {how}: {len(found) - len(missed)} of {len(found)} cases"
    (verdict.figure if first else verdict.say)(text)
    verdict.check(len(found) >= 145, f"h2spec, {how}: only {len(found)} cases")
    verdict.check(not skipped, f"h2spec, {how}: skipped: {skipped}")
    for case in missed:
        verdict.check(False, f"h2spec, {how}: {case[0]}: {case[1]}")
