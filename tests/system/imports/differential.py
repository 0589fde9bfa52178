"""Batches of random servers in both programs, and the comparison of their responses."""

from __future__ import annotations

import contextlib
import pathlib
import re
import socket
import subprocess

from ..server import Server, free_port, program
from .generator import DISTRIBUTIONS, FILES, Generator, keys

START = "daemon off; master_process off; error_log stderr emerg; pid {work}/nginx.pid; events {{ worker_connections 512; }}\n"
PATHS = "".join(f"    {name}_temp_path {{work}}/{name};\n" for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
DISTRIBUTED = """server {{
    listen 127.0.0.1:{port}; server_name distributed.test;
    location / {{ add_header X-Variant "<$variant>"; add_header X-Place "<$place>"; add_header X-Range "<$range>"; return 200 "answer 0"; }}
}}
"""
# Remarks of the report that explain a difference.
REMARKS = (
    "the rewrites of the server are tried again",
    "does not lead to internal locations",
    "leads to keeps the settings of this location",
)


class Pair:
    """Both programs with the same servers, which run while the `with` block does."""

    def __init__(self, work: pathlib.Path, seeds: range) -> None:
        self.work = work
        self.generators = [Generator(seed) for seed in seeds]
        self.stack = contextlib.ExitStack()
        self.report = ""

    def __enter__(self) -> "Pair":
        root = self.work / "root"
        for name in FILES:
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"file {name}\n")
        with contextlib.ExitStack() as stack:
            theirs, ours = free_port(), free_port()
            text = self.text(theirs, root)
            conf = self.work / "nginx.conf"
            conf.write_text(text)
            self.theirs = stack.enter_context(Server(["nginx", "-p", self.work, "-c", conf], theirs))
            source = self.work / "import.conf"
            source.write_text(text.replace(f":{theirs};", f":{ours};"))
            settings = self.work / "serow.toml"
            settings.unlink(missing_ok=True)
            made = subprocess.run([program("serow"), "import", source, "-o", settings], capture_output=True, text=True, check=False)
            self.report = made.stdout + made.stderr
            self.lost = servers_of(self.report, "Not translated:", text)
            self.remarks = servers_of(self.report, "Translated, with a difference:", text)
            settings.write_text('admin = "off"\n' + settings.read_text())
            self.ours = stack.enter_context(Server([program("serow"), "run", "-c", settings], ours))
            self.stack = stack.pop_all()
        return self

    def __exit__(self, *_) -> None:
        self.stack.close()

    def text(self, port: int, root: pathlib.Path) -> str:
        servers = [generator.server(f"s{generator.seed}.test", port, str(root)) for generator in self.generators]
        self.servers = servers
        head = START.format(work=self.work) + "http {\n    access_log off; default_type text/plain;\n" + PATHS.format(work=self.work)
        return head + DISTRIBUTIONS + "".join(servers) + DISTRIBUTED.format(port=port) + "}\n"

    def distributed(self, count: int):
        """Values of `X-Key` with the variables that both programs make of them."""
        values = keys(count)
        requests = [("GET", "/", {"X-Key": value}) for value in values]
        ours = exchange(self.ours.address, "distributed.test", requests)
        theirs = exchange(self.theirs.address, "distributed.test", requests)
        yield from zip(values, ours, theirs)

    def compare(self, count: int):
        """The requests whose responses differ, with both."""
        for number, generator in enumerate(self.generators):
            if number in self.lost:
                continue
            requests = generator.requests(count)
            host = f"s{generator.seed}.test"
            ours = exchange(self.ours.address, host, requests)
            theirs = exchange(self.theirs.address, host, requests)
            for request, our, their in zip(requests, ours, theirs):
                yield number, request, our, their


def servers_of(report: str, title: str, text: str) -> dict[int, str]:
    """The servers with remarks in a part of the report, with these remarks."""
    servers: dict[int, str] = {}
    begins = [number for number, line in enumerate(text.splitlines(), 1) if line.startswith("server {")]
    part = report.partition(title)[2].partition("\n\n")[0]
    for line, remark in re.findall(r"import\.conf:(\d+):[^\n]*\n +([^\n]*)", part):
        number = sum(begin <= int(line) for begin in begins) - 1
        servers[number] = servers.get(number, "") + remark
    return servers


def exchange(address: tuple[str, int], host: str, requests) -> list[tuple]:
    """The responses to requests: status, Location, fields and body."""
    responses: list[tuple] = []
    connection = reader = None
    for method, target, fields in requests:
        body = b"x=1" if method == "POST" else b""
        lines = [f"{method} {target} HTTP/1.1", f"Host: {host}", *(f"{name}: {value}" for name, value in fields.items())]
        if body:
            lines += ["Content-Type: text/plain", f"Content-Length: {len(body)}"]
        if connection is None:
            connection = socket.create_connection(address, timeout=20)
            reader = connection.makefile("rb")
        connection.sendall("\r\n".join([*lines, "", ""]).encode() + body)
        answer, closes = response(reader, method)
        responses.append(answer)
        if closes:
            connection.close()
            connection = None
    if connection is not None:
        connection.close()
    return responses


def response(reader, method: str) -> tuple[tuple, bool]:
    line = reader.readline()
    if not line:
        return ("closed",), True
    status = int(line.split()[1])
    fields: list[tuple[str, str]] = []
    while (line := reader.readline().strip()):
        name, _, value = line.decode("latin-1").partition(":")
        fields.append((name.lower(), value.strip()))
    known = dict(fields)
    body = b""
    if method != "HEAD" and status not in (204, 304):
        if known.get("transfer-encoding") == "chunked":
            while (size := int(reader.readline(), 16)):
                body += reader.read(size)
                reader.readline()
            reader.readline()
        else:
            body = reader.read(int(known.get("content-length", "0")))
    location = re.sub(r"^http://[^/]+", "", known.get("location", ""))
    own = sorted((name, value) for name, value in fields if name.startswith("x-"))
    text = body.decode("latin-1")
    # Pages that the servers make themselves have no mark of the configuration.
    is_own = text.startswith(("location ", "answer ", "named ", "file "))
    return (status, location, own, text if is_own else ""), known.get("connection") == "close"


PAGE_FAILS = "an error page that is an error itself leaves the first error as it is; nginx sends that of the page"


def is_error_text(body: str, server: str) -> bool:
    """Whether a body is the text of a `return` with the status of an error."""
    mark = re.match(r"(location|answer) \d+ ", body)
    return mark is not None and re.search(rf'return 4\d\d "{mark[0]}', server) is not None


def reason(request: tuple, ours: tuple, theirs: tuple, remarks: str, server: str) -> str | None:
    """The reason of a difference that the report or docs/from-nginx.md names."""
    for remark in REMARKS:
        if remark in remarks:
            return f"the report says: {remark}"
    if request[0] == "POST" and ours[0] == 405 and theirs[0] in (301, 404, 410, 500):
        return "a folder answers methods other than GET and HEAD with 405, also for missing files and folders"
    if theirs[0] >= 400 and ours[0] >= 400 and ours[3] == "" and "error_page" in server:
        return PAGE_FAILS
    if ours[0] >= 400 and ours[3] == "" and "error_page" in server and is_error_text(theirs[3], server):
        return PAGE_FAILS
    is_page = theirs[3] == ours[3] and re.search(r"error_page [\d ]+=200 ", server)
    if theirs[0] == 200 and ours[0] >= 400 and is_page:
        return "an error page that is an error itself keeps its status, also with `=200`"
    if request[0] == "POST" and ours[0] == 405 and "error_page" in server:
        return "a folder answers methods other than GET and HEAD with 405, which has no page here"
    if "error_page" in server and ours[::3] == theirs[::3] and set(theirs[2]) < set(ours[2]):
        return "the page of an error has the fields that its location adds to successful responses"
    if theirs[0] == ours[0] == 500:
        return "a loop of rewrites ends with 500, without the fields of a location"
    if "//" in theirs[3]:
        return "the path that a rewrite makes is cleaned"
    if request[0] == "POST" and theirs[0] in (301, 405):
        return "a folder with `missing` leaves other methods than GET and HEAD to the next routes"
    return None
