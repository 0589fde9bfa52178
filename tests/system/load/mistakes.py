"""Commands that cannot work end with one line, which says what to do."""

from __future__ import annotations

import concurrent.futures
import pathlib
import re

from ..http2.tools import find, run
from ..server import Server, free_port
from ..verdict import Verdict
from .generator import bench
from .peers import Raw, answering

# As soon as it is known; looking for a host that is not there may take a while.
BAR = 3.0
BANNER = b"SSH-2.0-OpenSSH_9.2p1 Debian-2\r\n"
REFUSAL = b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


def banner(connection) -> None:
    connection.sendall(BANNER)
    connection.recv(65536)


def certificate(folder: pathlib.Path) -> str:
    """One for localhost that no authority has signed."""
    files = [str(folder / "certificate.pem"), str(folder / "key.pem")]
    run([find("openssl"), "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
         "-subj", "/CN=load", "-addext", "basicConstraints=critical,CA:FALSE", "-addext", "subjectAltName=DNS:localhost",
         "-out", files[0], "-keyout", files[1]])
    return ",".join(files)


def without_http2(files: str) -> Server:
    """A server that knows of TLS and of no protocol inside."""
    port = free_port()
    certificate, key = files.split(",")
    return Server([find("openssl"), "s_server", "-quiet", "-www", "-accept", f"127.0.0.1:{port}", "-cert", certificate,
                   "-key", key], port)


def servers(verdict: Verdict, folder: pathlib.Path, short: bool) -> None:
    """There is no server, or another one than expected."""
    (folder / "index.html").write_text("Hello!\n")
    files = certificate(folder)
    with (Raw(banner) as ssh, Raw(answering(REFUSAL, keep=False)) as old, Server.files(folder, "--access-log", "off") as plain,
          Server.files(folder, "--access-log", "off", "--tls", files) as tls, without_http2(files) as without):
        secure = f"https://localhost:{tls.port}/"
        answer = re.escape(repr(BANNER.decode())[1:-1])
        judge(verdict, "servers", {
            "refused": ([f"http://127.0.0.1:{free_port()}/"], "cannot connect to .*: connection refused; is the server running"),
            "no socket": (["-P", folder / "none", "http://a/"], "cannot connect to .*: there is no such socket; is the server"),
            "no host": (["http://nowhere.invalid/"], "cannot find the host nowhere.invalid: .*check its spelling"),
            "ssh": ([ssh.url], f'the server does not speak HTTP/1.1; its response begins with "{answer}"'),
            "ssh, in the warm-up": (["--warmup", "60s", ssh.url], "the server does not speak HTTP/1.1; .*SSH"),
            "ssh, HTTP/2": (["--http2", ssh.url], f'the server does not speak HTTP/2; its response begins with "{answer}"'),
            "ssh, TLS": ([ssh.url.replace("http", "https")], "cannot connect to .*: the peer does not speak TLS"),
            "no TLS there": ([f"https://127.0.0.1:{plain.port}/"], "cannot connect to .*: the peer speaks HTTP, not TLS: use http://"),
            "no HTTP/2 there": (["--http2", old.url], 'the server does not speak HTTP/2; its response begins with "HTTP/1.1 400'),
            "HTTP/2 where there is TLS": (["--http2", secure.replace("https", "http")], "the server does not speak HTTP/2"),
            "no HTTP/2 inside TLS": (["-k", "--http2", f"https://127.0.0.1:{without.port}/"],
                                     r"cannot connect to .*: the server did not select HTTP/2 \(ALPN\); leave out --http2"),
            "not trusted": ([secure], "cannot connect to .*: the peer's certificate is self-signed, .*; -k goes on without"),
            "another name": (["--ca", files.split(",")[0], f"https://127.0.0.1:{tls.port}/"], "certificate is for localhost, not for"),
        })
        for options in (["-k"], ["--ca", files.split(",")[0]], ["-k", "--http2"]):
            outcome = bench("-n", "20", "--fail-on-error", *options, secure)
            verdict.check(outcome.code == 0, f"servers: {options} with TLS: {outcome.code}, {outcome.said}")
        # In the clear a port with TLS may answer in the clear, or not at all: then each is a failure, and no line is due.
        outcome = bench("-n", "20", "--fail-on-error", secure.replace("https", "http"))
        verdict.check(outcome.code == 1 and len(outcome.said.splitlines()) == 1, f"servers: TLS in the clear: {outcome}")


def scripts(verdict: Verdict, folder: pathlib.Path, short: bool) -> None:
    """A script with a mistake is told by its line, wherever the mistake is."""
    texts = {
        "syntax": ("x = 1\nx =", "syntax.lua:2: unexpected symbol"),
        "at its beginning": ("\nerror('no')", "at-its-beginning.lua:2: no"),
        "setup": ("function setup(thread)\n thread.addr = 5\nend", r"setup.lua:2: .*address"),
        "init": ("function init()\n nothing()\nend", "init.lua:2: attempt to call global 'nothing'"),
        "request": ("function request()\n error('no')\nend", "request.lua:2: no"),
        "a number": ("function request()\n return 5\nend", r"a-number.lua:1: request\(\) must return the text of a request"),
        "no whole request": ("function request()\n return 'GET'\nend", "the script's request cannot be sent: .*an empty line"),
        "response": ("function response()\n local x\n x.y = 1\nend", "response.lua:3: attempt to index local 'x'"),
        "delay": ("function delay()\n return 'soon'\nend", r"delay.lua:1: delay\(\) must return milliseconds"),
        "done": ("function done()\n error('late')\nend", "done.lua:2: late"),
    }
    cases = {"none": (["-s", folder / "none.lua"], "cannot read the script .*none.lua: No such file")}
    for name, (text, line) in texts.items():
        path = folder / f"{name.replace(' ', '-')}.lua"
        path.write_text(text)
        if name == "done":
            cases[name] = (["-n", "10", "-s", path], line)
        else:
            cases[name] = (["-s", path], line)
            # Nothing of it may wait for the end of a warm-up.
            cases[f"{name}, in the warm-up"] = (["--warmup", "60s", "-s", path], line)
    with Raw(answering(OK)) as server:
        judge(verdict, "scripts", {name: ([*options, server.url], line) for name, (options, line) in cases.items()})


def usage(verdict: Verdict, folder: pathlib.Path, short: bool) -> None:
    """Options that make no sense, alone or together."""
    with Raw(answering(OK)) as server:
        cases = {
            "-c 1 -t 2": "2 threads need at least 2 connections; give more with -c, or fewer threads with -t",
            "-c 0": '--connections: "0" is not a number of at least 1', "-t 0": '--threads: "0" is not a whole number from 1',
            "-n 0": '--requests: "0" is not a number of at least 1', "-R 0": '--rate: "0" is not a number of requests each second',
            "-d 0": "--duration: 0 is too short for any request", "-T 0": "--timeout: 0 is too short for any request",
            "-d 1x": '--duration: "1x" is not a time: write seconds', "-c ten": '--connections: "ten" is not a number',
            "-m 5": "--http2 or --http3 is missing", "--csv --json": "cannot be used with", "--body a --body-file b": "cannot be used with",
            "-H nothing": '--header: "nothing" is not a header field', "--wrokers 1": "there is no option --wrokers",
        }
        judge(verdict, "usage", {words: ([*words.split(), server.url], line) for words, line in cases.items()} | {
            "no URL": ([], "a URL is missing; write one, as in"), "two URLs": ([server.url, "b"], '"b" is an unexpected argument'),
        }, code=2)
        judge(verdict, "usage", {
            "ftp": (["ftp://a/"], "is not one of http:// and https://"),
            "method": (["-X", "G T", server.url], "is not a method; write one"),
            "too many": (["-c", "10M", server.url], "10000000 connections are more than the .* ask for fewer, or raise the limit"),
            "no body": (["--body-file", folder / "none", server.url], "--body-file: cannot read .*; name another file"),
        })


def judge(verdict: Verdict, group: str, cases: dict[str, tuple[list, str]], code: int = 1) -> None:
    """All of them at the same time: each is over at once, or waits for somebody."""
    def end(options: list):
        return bench(*("-d", "30s") if "-d" not in options else (), *options, patience=20)

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        ended = list(pool.map(end, [options for options, _ in cases.values()]))
    for (name, (_, line)), outcome in zip(cases.items(), ended):
        # A line at a time reaches the terminal; what the run has printed before is a beginning.
        lines = outcome.said.splitlines()
        verdict.check(len(lines) == 1 and lines[0].startswith("serow: ") and re.search(line, lines[0]) is not None,
                      f"{group}: {name}: {lines[:3]}")
        verdict.check(outcome.code == code, f"{group}: {name}: exit code {outcome.code}")
        verdict.compare_time(outcome.seconds < BAR or "host" in name, f"{group}: {name}: {outcome.seconds:.1f} s")
    verdict.say(f"{group}: {len(cases)} lines")


CASES = (servers, scripts, usage)
