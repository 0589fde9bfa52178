"""The command `tests/http3-clients`: each client in each case, and a table."""

from __future__ import annotations

import argparse
import pathlib
import subprocess
import tempfile
import time

from ..server import Broken
from . import tools
from .cases import CASES
from .clients import CLIENTS, Client
from .place import Place
from .program import Failed, Program


def main() -> int:
    parser = argparse.ArgumentParser(prog="tests/http3-clients", description=__doc__)
    names = [client.name for client in CLIENTS]
    parser.add_argument("--client", action="append", choices=names, help="this one only (repeatable)")
    parser.add_argument("--case", action="append", choices=list(CASES), help="this one only (repeatable)")
    options = parser.parse_args()
    clients = [client for client in CLIENTS if not options.client or client.name in options.client]
    cases = [name for name in CASES if not options.case or name in options.case]
    with tempfile.TemporaryDirectory(prefix="serow-clients-", ignore_cleanup_errors=True) as folder:
        place = Place(pathlib.Path(folder))
        results = {client.name: row(client, cases, place) for client in clients}
    print()
    print("\n".join(table(clients, cases, results)))
    rows = [(name, case, said) for name, found in results.items() for case, said in found.items()]
    failed = [(name, case, said) for name, case, said in rows if said.startswith("failed")]
    for name, case, said in failed:
        print(f"http3-clients: {name}, {case}: {said}")
    print(f"http3-clients: {'FAILED' if failed else 'PASSED'}")
    return int(bool(failed))


def row(client: Client, cases: list[str], place: Place) -> dict[str, str]:
    """The results of a client."""
    try:
        command = client.command()
    except tools.Missing as missing:
        print(f"http3-clients: {client.name}: {missing}; run: tests/install http3-clients", flush=True)
        return dict.fromkeys(cases, f"failed: {missing}; run: tests/install http3-clients")
    found = {}
    for case in cases:
        began = time.monotonic()
        found[case] = attempt(Program(client, command, place.authority), case, place)
        print(f"http3-clients: {client.name}, {case}: {found[case]} ({time.monotonic() - began:.1f} s)", flush=True)
    return found


def attempt(program: Program, case: str, place: Place) -> str:
    if why := program.client.cannot.get(case):
        return f"cannot: {why}"
    try:
        wrong = list(CASES[case](program, place))
    except (Broken, Failed, OSError, ValueError, KeyError, subprocess.SubprocessError) as error:
        wrong = [f"{type(error).__name__}: {error}"]
    if wrong:
        return f"failed: {'; '.join(wrong)}"
    return f"passed{': ' if program.notes else ''}{'; '.join(program.notes)}"


def table(clients: list[Client], cases: list[str], results: dict[str, dict[str, str]]) -> list[str]:
    """In Markdown, as docs/measurements/http3.md has it."""
    lines = [f"| case | {' | '.join(client.name for client in clients)} |", f"| --- |{' --- |' * len(clients)}"]
    for case in cases:
        cells = [results[client.name][case] for client in clients]
        shown = [cell if cell.startswith("passed") else cell.partition(":")[0] for cell in cells]
        lines.append(f"| {case} | {' | '.join(shown)} |")
    reasons = {f"{case}: {client.name} {why}"
               for client in clients for case, why in client.cannot.items() if case in cases}
    return [*lines, *(["", "Cannot:", *sorted(reasons)] if reasons else [])]
