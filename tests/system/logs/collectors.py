"""Syslog: receivers that note each byte, and rsyslogd itself."""

from __future__ import annotations

import contextlib
import pathlib
import re
import shutil
import socket
import subprocess
import threading
import time

from ..server import free_port
from ..verdict import Verdict
from .logged import Logged, lines_of, together, until

HEADER = re.compile(r"<(\d+)>1 (\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z) (\S+) (\S+) (\d+) access - (.*)", re.S)
RSYSLOG = """\
global(workDirectory="{work}")
module(load="imuxsock" SysSock.Use="off")
input(type="imuxsock" Socket="{work}/socket" UseSpecialParser="off" RateLimit.Interval="0")
input(type="imuxsock" Socket="{work}/old" RateLimit.Interval="0")
module(load="imudp")
input(type="imudp" address="127.0.0.1" port="{port}" rcvbufSize="4m")
module(load="imtcp")
input(type="imtcp" address="127.0.0.1" port="{port}")
template(name="all" type="string" string="%syslogfacility-text%|%syslogseverity-text%|%app-name%|%procid%|%msg%\\n")
*.* action(type="omfile" file="{work}/out" template="all")
"""


class Receiver:
    """Takes datagrams, or streams, while the `with` block runs."""

    def __init__(self, bound: socket.socket) -> None:
        self.bound, self.messages, self.streams = bound, [], []
        self.thread = threading.Thread(target=self._receive, daemon=True)

    def __enter__(self) -> "Receiver":
        self.thread.start()
        return self

    def __exit__(self, *_) -> None:
        with contextlib.suppress(OSError):
            self.bound.shutdown(socket.SHUT_RDWR)
        self.bound.close()
        for stream in self.streams:
            stream.close()

    def _receive(self) -> None:
        with contextlib.suppress(OSError):
            if self.bound.type == socket.SOCK_DGRAM:
                while True:
                    self.messages.append(self.bound.recv(70_000))
            while True:
                stream, _ = self.bound.accept()
                self.streams.append(stream)
                threading.Thread(target=self._take_frames, args=(stream,), daemon=True).start()

    def _take_frames(self, stream: socket.socket) -> None:
        """Octet counting (RFC 6587 §3.4.1)."""
        data = b""
        with contextlib.suppress(OSError):
            while more := stream.recv(65536):
                data += more
                while b" " in data:
                    length, _, rest = data.partition(b" ")
                    if len(rest) < int(length):
                        break
                    self.messages.append(rest[:int(length)])
                    data = rest[int(length):]

    def texts(self, count: int) -> list[str]:
        """The messages, once there are so many."""
        return [message.decode() for message in until(lambda: list(self.messages), lambda found: len(found) >= count)]


def bound(kind: str, folder: pathlib.Path) -> tuple[socket.socket, str]:
    """A socket to receive at, and its address."""
    if kind == "unix":
        end = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        end.bind(str(folder / "log"))
        return end, f"unix:{folder}/log"
    end = socket.socket(socket.AF_INET, socket.SOCK_DGRAM if kind == "udp" else socket.SOCK_STREAM)
    # Room for a burst of datagrams: the receiver is slower than the sender.
    end.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8 << 20)
    end.bind(("127.0.0.1", 0))
    if kind == "tcp":
        end.listen()
    return end, f"{kind}://127.0.0.1:{end.getsockname()[1]}"


def messages(verdict: Verdict, folder: pathlib.Path, short: bool) -> None:
    """Each request is one message, to the byte as RFC 5424 has it, over each transport."""
    requests = 500 if short else 5000
    for kind in ("unix", "udp", "tcp"):
        end, address = bound(kind, folder)
        address += "?facility=local0&severity=notice&tag=web"
        with Receiver(end) as receiver, Logged.serving(folder, f"syslog:{address}", "--access-log-format", "$request") as server:
            for number in range(10):
                server.ask(target=f"/?{number}")
            server.load("-n", str(requests), "-c", "4")
            found = [HEADER.fullmatch(text) for text in receiver.texts(server.asked)]
            counts = server.settled()
        name = f"syslog over {kind}"
        if not verdict.check(all(found) and len(found) == server.asked, f"{name}: {len(found)} messages of {server.asked}"):
            continue
        fields = {(match[1], match[3], match[4], match[5]) for match in found}
        verdict.check(fields == {("133", socket.gethostname(), "web", str(server.pid))}, f"{name}: {fields}")
        numbered = sorted(match[6] for match in found if "?" in match[6])
        verdict.check(numbered == [f"GET /?{number} HTTP/1.1" for number in range(10)], f"{name}: {numbered}")
        verdict.check(counts == (server.asked, 0), f"{name}: counted {counts}")
        verdict.figure(f"{name}: {len(found)} messages of {server.asked} requests")


def long_lines(verdict: Verdict, folder: pathlib.Path, short: bool) -> None:
    """Longer than receivers need to take: cut, and not in the middle of a character."""
    for kind, most in (("unix", 8192), ("udp", 2048), ("tcp", 8192)):
        end, address = bound(kind, folder)
        with Receiver(end) as receiver, Logged.serving(folder, f"syslog:{address}", "--access-log-format", "json") as server:
            for extra in range(3):
                server.ask(headers={"User-Agent": "x" * extra + "\u00c3\u00a9" * 6000})
            texts = receiver.texts(3)
        lengths = [len(text.encode()) for text in texts]
        verdict.check(len(texts) == 3 and all(most - 1 <= length <= most for length in lengths), f"long lines over {kind}: {lengths}")


def comes_and_goes(verdict: Verdict, folder: pathlib.Path, short: bool) -> None:
    """A collector that is not there at first, and leaves and comes back: lines wait for it."""
    path = folder / "log"
    with Logged.serving(folder, f"syslog:unix:{path}") as server:
        server.ask(100)
        until(server.said, lambda said: "cannot be written" in said)
        for _ in range(2):
            end = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
            end.bind(str(path))
            with Receiver(end) as receiver:
                found = receiver.texts(100)
                verdict.check(len(found) == 100, f"comes and goes: {len(found)} messages of 100")
            path.unlink()
            server.ask(100)
            time.sleep(0.2)
        verdict.check(server.counts() == (200, 0), f"comes and goes: counted {server.counts()}")
        said = server.said()
        verdict.check(said.count("cannot be written") == 3 and said.count("can be written again") == 2, f"comes and goes: {said}")
        seconds = server.stop()
    verdict.check("lines=100" in server.said(), f"comes and goes: {server.said()[-200:]}")
    verdict.compare_time(seconds < 1, f"comes and goes: the server ended after {seconds:.1f} s")
    port = free_port()
    with Logged.serving(folder, f"syslog:tcp://127.0.0.1:{port}") as server:
        server.ask(100)
        until(server.said, lambda said: "Connection refused" in said)
        with socket.create_server(("127.0.0.1", port)) as end, Receiver(end) as receiver:
            found = receiver.texts(100)
            server.ask(100)
            found = receiver.texts(200)
        verdict.check(len(found) == 200, f"comes over TCP: {len(found)} messages of 200")


def rsyslogd(verdict: Verdict, folder: pathlib.Path, short: bool) -> None:
    """The daemon that most have, on sockets of its own: it understands each field of each message."""
    program = shutil.which("rsyslogd", path="/usr/sbin:/usr/bin")
    assert program, "rsyslogd is missing; run: tests/install"
    port, requests = free_port(), 200 if short else 5000
    (folder / "rsyslog.conf").write_text(RSYSLOG.format(work=folder, port=port))
    daemon = subprocess.Popen([program, "-n", "-i", folder / "pid", "-f", folder / "rsyslog.conf"], stderr=subprocess.DEVNULL)
    try:
        until(lambda: (folder / "old").exists(), bool)
        for place in (f"unix:{folder}/socket?", f"unix:{folder}/old?rfc=3164&", f"udp://127.0.0.1:{port}?", f"tcp://localhost:{port}?"):
            with Logged.serving(folder, f"syslog:{place}tag=web-1&severity=notice", "--access-log-format", "json") as server:
                server.ask(requests, headers={"User-Agent": "\u00c3\u00a9 \"x\""})
                expected = f"local7|notice|web-1|{server.pid}|"
                found = [line for line in lines_of(folder / "out", requests) if line.startswith(expected)]
                whole = [line for line in found if line[len(expected):].strip().startswith("{\"time\":")
                         and line.endswith("\"user_agent\":\"é \\\"x\\\"\"}")]
            verdict.check(len(whole) == requests, f"rsyslogd at {place}: {len(whole)} lines of {requests}: "
                                                  f"{lines_of(folder / 'out')[-1:]}")
            (folder / "out").rename(folder / "done")
            daemon.send_signal(1)
        verdict.figure(f"rsyslogd: {requests} lines each over unix, UDP and TCP")
    finally:
        daemon.terminate()
        daemon.wait(10)


CASES = (messages, together(long_lines, comes_and_goes, rsyslogd))
