"""Shells with a terminal: a line is typed, the Tab key is pressed, and the shell prints what it has on its line."""

from __future__ import annotations

import os
import pathlib
import pty
import re
import select
import signal
import subprocess
import time

SECONDS = 20.0
COMPLETE = b"\t"
# Prints the line between these signs, and clears it.
PRINT = b"\x0f"
PRINTED = re.compile(rb"<<<(.*?)>>>", re.DOTALL)
# Escape sequences of a terminal that has few of them.
ESCAPES = re.compile(rb"\x1b(\[[0-9;?]*[a-zA-Z]|[=>])|\r")


class Shell:
    """An interactive shell that completes with Serow's script and without anyone's own settings."""

    name = ""
    command: tuple[str, ...] = ()
    setup = ""

    def __init__(self, home: pathlib.Path) -> None:
        self.home = home

    def __enter__(self) -> "Shell":
        script = self.home / f"completion.{self.name}"
        command = [self.home / "bin/serow", "completions", self.name]
        script.write_bytes(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
        path = f"{self.home / 'bin'}:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"
        environment = {"HOME": str(self.home), "PATH": path, "TERM": "vt100", "LC_ALL": "C.UTF-8", "PS1": "$ "}
        self.process, self.terminal = pty.fork()
        if self.process == 0:
            os.chdir(self.home / "work")
            os.execvpe(self.command[0], self.command, environment)
        self.write(self.setup.format(script=script).encode() + b"\n")
        self.write(b"printf '<<<%s>>>' ready\n")
        # The terminal echoes the typed command as well, with %s in that place.
        self.read_until(rb"<<<ready>>>")
        return self

    def __exit__(self, *_) -> None:
        os.kill(self.process, signal.SIGKILL)
        os.waitpid(self.process, 0)
        os.close(self.terminal)

    def complete(self, typed: str) -> str:
        """The line after the Tab key."""
        self.write(typed.encode() + COMPLETE + PRINT)
        return PRINTED.search(self.read_until(PRINTED.pattern)).group(1).decode()

    def write(self, keys: bytes) -> None:
        os.write(self.terminal, keys)

    def read_until(self, pattern: bytes) -> bytes:
        """The output of the shell up to this pattern."""
        found, end = b"", time.monotonic() + SECONDS
        while not re.search(pattern, found, re.DOTALL):
            ready, _, _ = select.select([self.terminal], [], [], max(0, end - time.monotonic()))
            if not ready:
                raise TimeoutError(f"{self.name} printed only {found!r}")
            found = ESCAPES.sub(b"", found + os.read(self.terminal, 65536))
        return found


class Bash(Shell):
    name = "bash"
    command = ("bash", "--norc", "--noprofile", "-i")
    setup = r"""source {script}; bind 'set bell-style none'; bind -x '"\C-o": printf "<<<%s>>>" "$READLINE_LINE"; READLINE_LINE='"""


class Zsh(Shell):
    name = "zsh"
    command = ("zsh", "-f", "-i")
    setup = ("unsetopt prompt_cr prompt_sp beep auto_remove_slash; autoload -Uz compinit; compinit -u; source {script}; "
             "print-line() {{ zle -I; printf '<<<%s>>>' \"$BUFFER\"; BUFFER=; }}; zle -N print-line; bindkey '^O' print-line")


class ZshFolder(Zsh):
    """Zsh that finds the script in a folder, where packages install it."""

    setup = Zsh.setup.replace("autoload -Uz compinit", "mkdir ../functions; cp {script} ../functions/_serow; "
                              "fpath=(../functions(:A) $fpath); autoload -Uz compinit").replace("source {script}; ", "")


class Fish(Shell):
    """Fish redraws its whole line, so the test runs `complete -C`, which prints the completions of a line."""

    name = "fish"
    command = ("fish", "--no-config")

    def __enter__(self) -> "Fish":
        self.script = self.home / "completion.fish"
        command = [self.home / "bin/serow", "completions", self.name]
        self.script.write_bytes(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
        return self

    def __exit__(self, *_) -> None:
        pass

    def complete(self, typed: str) -> str:
        """The line after the Tab key, as Fish would make it of a single completion."""
        path = f"{self.home / 'bin'}:/usr/bin:/bin:/usr/sbin:/sbin"
        command = [*self.command, "-c", f"source {self.script}; complete -C $argv[1]", typed]
        listed = subprocess.run(command, cwd=self.home / "work", env={"HOME": str(self.home), "PATH": path, "LC_ALL": "C.UTF-8"},
                                check=True, stdout=subprocess.PIPE, timeout=SECONDS).stdout.decode()
        words = [line.split("\t")[0] for line in listed.splitlines()]
        if len(words) != 1:
            return typed if not words else f"{typed} → {words}"
        line = typed[:len(typed) - len(re.split(r"(?<!\\) ", typed)[-1])] + re.sub(r"(?<!\\) ", r"\\ ", words[0])
        return line if line.endswith("/") else f"{line} "


SHELLS = (Bash, Zsh, ZshFolder, Fish)
