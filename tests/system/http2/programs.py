"""curl, nghttp and h2load against `serow files` and the echo: what they ask for arrives, and the log says so."""

from __future__ import annotations

import pathlib
import re
import tempfile

from ..server import Server
from ..verdict import Verdict
from . import site, tools
from .site import Line, Log


def run(short: bool, verdict: Verdict) -> None:
    with tempfile.TemporaryDirectory() as work:
        folder = pathlib.Path(work, "site")
        folder.mkdir()
        site.make(folder)
        for scheme, options in (("http", ()), ("https", ("--tls", "self-signed"))):
            with site.served(folder, pathlib.Path(work, f"{scheme}.log"), *options) as (server, log):
                asked = Asked(scheme, server, log, pathlib.Path(work), verdict)
                asked.attempt("curl", curl_files)
                asked.attempt("nghttp", nghttp_files)
                asked.attempt("h2load", h2load_files, short)
            with Server.example("echo", *(["tls"] if scheme == "https" else [])) as server:
                asked = Asked(scheme, server, None, pathlib.Path(work), verdict)
                asked.attempt("curl", curl_echo)
                asked.attempt("nghttp", nghttp_echo)
                asked.attempt("h2load", h2load_echo, short)


class Asked:
    """One server, asked by one scheme."""

    def __init__(self, scheme: str, server: Server, log: Log | None, work: pathlib.Path, verdict: Verdict) -> None:
        self.scheme, self.server, self.log, self.work, self.verdict = scheme, server, log, work, verdict
        self.url = f"{scheme}://127.0.0.1:{server.port}"
        self.how = "TLS" if scheme == "https" else "clear"

    def attempt(self, program: str, part, *arguments) -> None:
        try:
            part(self, *arguments)
        except (tools.Missing, tools.Failed) as error:
            self.verdict.check(False, f"{program}, {self.how}: {error}")
        self.verdict.check(self.server.is_running() and not self.server.panics(), f"{program}: {self.server.said()[-300:]}")

    def check(self, holds: bool, what: str) -> None:
        self.verdict.check(holds, f"{self.how}: {what}")

    def curl(self, *options: str, path: str = "/", stdin: bytes = b"", seconds: float = 60) -> tuple[dict, str]:
        """curl's figures of the last response, and the heads that it received."""
        knowledge = "--http2" if self.scheme == "https" else "--http2-prior-knowledge"
        told = "%{http_code} %{http_version} %{size_download} %{size_upload} %{num_connects}"
        command = [tools.find("curl"), "-sS", "-k", knowledge, "-o", str(self.work / "body"), "-D", "-", "-w", f"\n= {told}",
                   "--max-time", "50", *options, self.url + path]
        output, _ = tools.run(command, stdin=stdin, seconds=seconds)
        heads, _, line = output.rpartition("\n= ")
        code, version, down, up, connects = line.split()
        return {"code": int(code), "version": version, "down": int(down), "up": int(up), "connects": int(connects)}, heads

    def body(self) -> bytes:
        return (self.work / "body").read_bytes()

    def logged(self, what: str, *expected: Line) -> None:
        found = self.log.lines(len(expected))
        self.check(found == list(expected), f"{what}: the access log has {found}, not {list(expected)}")


def line(target: str, status: int, length: int, method: str = "GET") -> Line:
    return Line(method, target, "HTTP/2.0", status, length)


def curl_files(asked: Asked) -> None:
    whole = site.content(site.LARGE)
    got, heads = asked.curl(path="/large")
    asked.check((got["code"], got["version"], asked.body() == whole) == (200, "2", True), f"curl: {got}")
    asked.logged("curl", line("/large", 200, site.LARGE))
    tag = re.search(r'^etag: (.*?)\r?$', heads, re.M | re.I)
    asked.check(tag is not None and "HTTP/2 200" in heads, f"curl: {heads!r}")

    got, heads = asked.curl("-I", path="/large")
    asked.check((got["code"], got["down"]) == (200, 0) and f"content-length: {site.LARGE}" in heads, f"curl -I: {got} {heads!r}")
    asked.logged("curl -I", line("/large", 200, 0, "HEAD"))

    got, heads = asked.curl("-r", "1000-1999", path="/large")
    asked.check(got["code"] == 206 and asked.body() == whole[1000:2000] and f"content-range: bytes 1000-1999/{site.LARGE}" in heads,
                f"curl -r: {got}")
    asked.logged("curl -r", line("/large", 206, 1000))

    got, _ = asked.curl("-H", f"If-None-Match: {tag[1] if tag else ''}", path="/large")
    asked.check((got["code"], got["down"]) == (304, 0), f"curl: {got} to If-None-Match")
    asked.logged("curl, 304", line("/large", 304, 0))

    got, _ = asked.curl(path="/nothing")
    asked.check(got["code"] == 404, f"curl: {got}")
    asked.logged("curl, 404", line("/nothing", 404, len(asked.body())))

    (asked.work / "upload").write_bytes(whole)
    if asked.scheme == "https":
        # In the clear, curl of Debian 12 loses an answer that RST_STREAM (NO_ERROR) follows at once (RFC 9113 §8.1); from
        # nginx, too. nghttp asks for the same below.
        got, _ = asked.curl("-T", str(asked.work / "upload"), path="/large")
        asked.check(got["code"] == 405, f"curl -T to files: {got}")
        asked.logged("curl -T", line("/large", 405, len(asked.body()), "PUT"))

    if asked.scheme == "http":
        # HTTP/1's way there (h2c, RFC 7540 §3.2) is given up by RFC 9113: it is answered in HTTP/1.
        output, _ = tools.run([tools.find("curl"), "-sS", "--http2", "-w", "%{http_version}", "-o", "/dev/null", asked.url + "/"])
        asked.check(output in ("1.1", "2"), f"curl --http2: HTTP/{output}")
        asked.log.lines(1)
    if asked.scheme == "https":
        # With prior knowledge, a second request on a connection of curl's (Debian 12) fails "in the HTTP2 framing layer";
        # against nghttpd, too.
        curl_many(asked)
    asked.verdict.figure(f"curl, {asked.how}: whole, HEAD, range, 304, 404; all in the log")


def curl_many(asked: Asked) -> None:
    many = [f"{asked.url}/large?{number}" for number in range(20)]
    options = [option for url in many for option in ("-o", "/dev/null", url)]
    output, _ = tools.run([tools.find("curl"), "-sS", "-k", "--http2", "-Z", "--parallel-max", "20", "-w",
                           "%{http_code} %{size_download} %{http_version}\n", *options])
    asked.check(output.split("\n")[:20] == [f"200 {site.LARGE} 2"] * 20, f"curl -Z: {output!r}")
    found = sorted(asked.log.lines(20), key=lambda one: one.target)
    asked.check(found == sorted((line(f"/large?{number}", 200, site.LARGE) for number in range(20)), key=lambda one: one.target),
                f"curl -Z: the access log has {found[:2]} …")


def curl_echo(asked: Asked) -> None:
    whole = site.content(site.LARGE)
    (asked.work / "upload").write_bytes(whole)
    upload = str(asked.work / "upload")
    for options in (["-T", upload], ["--data-binary", f"@{upload}"], ["-T", "-"]):
        got, heads = asked.curl(*options, stdin=whole)
        asked.check((got["code"], asked.body() == whole, got["up"]) == (200, True, site.LARGE), f"curl {options}: {got}")
    got, heads = asked.curl("-T", upload, "-H", "Expect: 100-continue", "--expect100-timeout", "20", seconds=40)
    asked.check(asked.body() == whole and "HTTP/2 100" in heads, f"curl, Expect: {got} {heads!r}")
    asked.verdict.figure(f"curl, {asked.how}: 3 MB there and back, with a length and without, with Expect")


def nghttp(asked: Asked, *options: str, path: str = "/", timeout: str = "30s", may_end_early: bool = False) -> str:
    output, said = tools.run([tools.find("nghttp"), "-v", "-t", timeout, *options, asked.url + path])
    # Its exit code does not tell.
    if "[ERROR]" in output + said and not may_end_early:
        raise tools.Failed(f"nghttp {options}: {(output + said).partition('[ERROR]')[2][:100]}")
    return re.sub(r"\x1b\[[0-9;]*m", "", output)


def statuses(output: str) -> list[str]:
    return re.findall(r":status: (\d+)", output)


def nghttp_files(asked: Asked) -> None:
    output = nghttp(asked, "-n", path="/large")
    asked.check(statuses(output) == ["200"], f"nghttp: {statuses(output)}")
    asked.logged("nghttp", line("/large", 200, site.LARGE))
    (asked.work / "upload").write_bytes(site.content(site.LARGE))
    output = nghttp(asked, "-n", "-d", str(asked.work / "upload"), path="/large")
    asked.check(statuses(output) == ["405"], f"nghttp -d to files: {statuses(output)}")
    found = asked.log.lines(1)
    asked.check([(one.method, one.status) for one in found] == [("POST", 405)], f"nghttp -d to files: the access log has {found}")
    for options in (["-w", "16"], ["-w", "30", "-W", "30"], ["-w", "1"], ["--no-dep"], ["-p", "1"], ["-p", "256"],
                    ["--header-table-size", "0"], ["--header-table-size", "65536"], ["--encoder-header-table-size", "0"],
                    ["-H", "priority: u=1, i"], ["-b", "100"], ["--extpri", "u=0"]):
        try:
            output = nghttp(asked, "-n", *options, path="/large" if options != ["-w", "1"] else "/script.js")
        except tools.Failed as error:
            if "unrecognized option" in str(error) or "--extpri" in options:
                continue
            raise
        asked.check(statuses(output) == ["200"] and "GOAWAY frame" not in output.split("send GOAWAY")[0],
                    f"nghttp {options}: {output[-300:]}")
        found = asked.log.lines(1)
        asked.check([one.status for one in found] == [200], f"nghttp {options}: the access log has {found}")
    output = nghttp(asked, "-n", "-m", "100", path="/script.js")
    asked.check(statuses(output) == ["200"] * 100, f"nghttp -m 100: {len(statuses(output))}")
    length = len((asked.work / "site/script.js").read_bytes())
    asked.logged("nghttp -m 100", *[line("/script.js", 200, length)] * 100)
    output = nghttp(asked, "-n", "-a", path="/")
    asked.check(statuses(output).count("200") == 4, f"nghttp -a: {statuses(output)}")
    asked.log.lines(4)
    asked.verdict.figure(f"nghttp, {asked.how}: windows of 2^1 to 2^30, weights, tables of 0 to 64 KiB, 100 at once, a page with all it names")


def nghttp_echo(asked: Asked) -> None:
    (asked.work / "upload").write_bytes(site.content(site.LARGE))
    upload = ["-d", str(asked.work / "upload")]
    # The head of an echo comes with 100, and nghttp, which takes a final response for one that wants no body (RFC 9110
    # §10.1.1 lets it), sends none and waits: only that it is told to go on is looked at.
    output = nghttp(asked, "-n", *upload, "--expect-continue", timeout="2s", may_end_early=True)
    asked.check(statuses(output)[:1] == ["100"], f"nghttp --expect-continue: {statuses(output)}")
    for options in ([], ["--no-content-length"], ["--trailer", "x-sum: 9"], ["-m", "5"],
                    ["-w", "20", "-W", "24", "-m", "20"]):
        output = nghttp(asked, "-n", *upload, *options)
        count = int(options[-1]) if "-m" in options else 1
        finals = [status for status in statuses(output) if status != "100"]
        asked.check(finals == ["200"] * count, f"nghttp {options}: {statuses(output)}")
        if "--trailer" in options:
            asked.check(re.search(r"recv \(stream_id=\d+[^)]*\) x-sum: 9", output) is not None or
                        "te: trailers" not in output, f"nghttp: no trailers came back: {output[-300:]}")
    got = tools.run([tools.find("nghttp"), *upload, "--no-content-length", asked.url + "/"])[0]
    asked.check(got.encode(errors="replace") != b"", "nghttp: nothing came back")
    asked.verdict.figure(f"nghttp, {asked.how}: 3 MB there and back, without a length, with trailers, 20 at once")


def h2load(asked: Asked, *options: str, path: str = "/script.js", seconds: float = 100) -> tuple[int, int, str]:
    """Requests that succeeded, that failed in any way, and the line of it."""
    output, _ = tools.run([tools.find("h2load"), *options, asked.url + path], seconds=seconds)
    told = re.search(r"requests: (\d+) total, \d+ started, \d+ done, (\d+) succeeded, (\d+) failed, (\d+) errored, (\d+) timeout", output)
    coded = re.search(r"status codes: (\d+) 2xx, (\d+) 3xx, (\d+) 4xx, (\d+) 5xx", output)
    if told is None or coded is None:
        raise tools.Failed(f"h2load {options}: {output[-300:]}")
    total, succeeded = int(told[1]), min(int(told[2]), int(coded[1]))
    return succeeded, total - succeeded, told[0]


def h2load_files(asked: Asked, short: bool) -> None:
    many = 5_000 if short else 100_000
    for options, path in ((["-n", str(many), "-c", "10", "-m", "100"], "/script.js"), (["-n", str(many // 2), "-c", "200", "-m", "10"], "/script.js"),
                          (["-n", "100", "-c", "5", "-m", "20", "-w", "20", "-W", "24"], "/large"),
                          (["-n", "40", "-c", "2", "-m", "20", "-w", "16", "-W", "16"], "/large")):
        succeeded, failed, told = h2load(asked, *options, path=path)
        asked.check(failed == 0 and succeeded > 0, f"h2load {options} {path}: {told}")
        found = asked.log.lines(succeeded, 20)
        asked.check(len(found) == succeeded and {one.status for one in found} == {200}, f"h2load {options}: {len(found)} lines")
        asked.verdict.say(f"h2load, {asked.how}: {' '.join(options)} {path}: {told}")
    asked.verdict.figure(f"h2load, {asked.how}: all of {many + many // 2 + 140} with 200")


def h2load_echo(asked: Asked, short: bool) -> None:
    (asked.work / "small").write_bytes(b"x" * 1000)
    (asked.work / "upload").write_bytes(site.content(site.LARGE))
    for count, clients, streams, name in (("2000" if short else "40000", "20", "50", "small"), ("60", "3", "10", "upload")):
        succeeded, failed, told = h2load(asked, "-n", count, "-c", clients, "-m", streams, "-d", str(asked.work / name), path="/")
        asked.check(failed == 0 and succeeded == int(count), f"h2load -d {name}: {told}")
