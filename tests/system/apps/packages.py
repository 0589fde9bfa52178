"""`rackup -s serow` and `plackup -s Serow`: the switch is one word."""

from __future__ import annotations

import pathlib

from ..server import REPOSITORY, Server, free_port, program
from ..verdict import Verdict
from .servers import answer, leaves

PACKAGES = REPOSITORY / "packages"
RACK = "run ->(env) { [200, {}, [\"#{Process.pid} #{ENV['RACK_ENV']}\"]] }\n"
PSGI = "sub { [200, [], [\"$$ $ENV{PLACK_ENV}\"]] };\n"
# Rhebok's file.
SETTINGS = "max_workers 2\nreuseport { true }\nmax_request_per_child 50\noobgc true\nmax_gc_per_request 7\n"


class Command(Server):
    """A command that hands over to Serow."""

    def __init__(self, folder: pathlib.Path, command: list[str], port: int) -> None:
        super().__init__(["env", "--chdir", str(folder), f"SEROW={program('serow')}", f"PERL5LIB={PACKAGES / 'plack/lib'}",
                          f"RUBYLIB={PACKAGES / 'rack/lib'}", *command], port)


def handlers(verdict: Verdict, folder: pathlib.Path, short: bool) -> None:
    """The commands with their own options, and what is no option of theirs."""
    (folder / "config.ru").write_text(RACK)
    (folder / "app.psgi").write_text(PSGI)
    (folder / "rhebok.rb").write_text(SETTINGS)
    port = free_port
    commands = {
        "rackup": lambda port: ["rackup", "-s", "serow", "-E", "production", "-O", "MaxWorkers=3", "-p", str(port), "config.ru"],
        "rackup with Rhebok's file": lambda port: ["rackup", "-s", "serow", "-E", "production", "-O", "ConfigFile=rhebok.rb", "-p", str(port)],
        "plackup": lambda port: ["plackup", "-s", "Serow", "-E", "production", "--max-workers", "3", "--port", str(port), "app.psgi"],
    }
    for name, command in commands.items():
        chosen = port()
        with Command(folder, command(chosen), chosen) as server:
            status, body = answer(server, "GET", "/", timeout=30)
            verdict.check(status == "200" and body.endswith(" production"), f"{name}: {status} {body!r}: {server.said()[-200:]}")
            expected = 2 if "file" in name else 3
            verdict.check(len(leaves(server)) == expected, f"{name}: {len(leaves(server))} workers, not {expected}")
    verdict.figure(f"{len(commands)} commands of others hand over")


CASES = (handlers,)
