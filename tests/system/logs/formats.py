"""The same format in nginx and in Serow makes the same lines of the same requests."""

from __future__ import annotations

import pathlib
import re
import shutil

from .. import wire
from ..server import Server, free_port
from ..verdict import Verdict
from .logged import Logged, lines_of

# Of what both know; without times, ports and numbers of connections.
VARIABLES = ("remote_addr remote_user request request_method request_uri args query_string server_protocol scheme host "
             "http_host status body_bytes_sent http_referer http_user_agent http_x_forwarded_for http_cookie "
             "sent_http_content_type sent_http_location connection_requests server_addr upstream_response_time ssl_protocol "
             "ssl_cipher ssl_server_name").split()
FORMAT = "|".join(f"{name}=${name}" for name in VARIABLES) + "|${status}$uri"
TIMES = "$time_local $time_iso8601 $msec $request_time $remote_port $server_port $connection"
SETTINGS = """\
daemon off;
master_process off;
error_log stderr crit;
pid {work}/nginx.pid;
events {{ }}
http {{
    types {{ text/html html; }}
    charset utf-8;
    log_format ours '{format}';
    access_log {work}/nginx.log ours;
    client_body_temp_path {work}/body; proxy_temp_path {work}/proxy; fastcgi_temp_path {work}/fastcgi;
    uwsgi_temp_path {work}/uwsgi; scgi_temp_path {work}/scgi;
    server {{
        listen 127.0.0.1:{port};
        root {work}/site;
    }}
}}
"""
AGENTS = ("curl/8", 'a "quoted\\one"', "\u00e9\u00ff", "tab\there", "", "-")
REQUESTS = [
    ("/index.html", {}),
    ("/index.html?a=b&c=%22", {"Referer": "http://a.example/?x", "Cookie": "a=b; c=d"}),
    ("/index.html?", {"X-Forwarded-For": "192.0.2.1, 192.0.2.2"}),
    ("/missing", {"Authorization": "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ=="}),
    ("/a%20b", {"Authorization": "Basic dXNlcg=="}),
    *(("/index.html", {"User-Agent": agent}) for agent in AGENTS),
]


def beside_nginx(verdict: Verdict, folder: pathlib.Path, short: bool) -> None:
    """Every variable that means the same in both has the same value, value by value."""
    program = shutil.which("nginx", path="/usr/sbin:/usr/bin")
    assert program, "nginx is missing; run: tests/install"
    port, log = free_port(), folder / "serow.log"
    (folder / "nginx.conf").write_text(SETTINGS.format(work=folder, port=port, format=FORMAT))
    ours = Logged.serving(folder, str(log), "--access-log-format", FORMAT, "--http", "1")
    theirs = Server([program, "-p", str(folder), "-c", str(folder / "nginx.conf")], port)
    with ours, theirs:
        for server in (ours, theirs):
            with wire.Connection(server.address) as connection:
                for target, headers in REQUESTS:
                    connection.send(wire.request(target, headers, host="A.Example:8080"))
                    connection.receive()
        found, expected = lines_of(log, len(REQUESTS)), lines_of(folder / "nginx.log", len(REQUESTS))
    differences = [(one, other) for pair in zip(found, expected, strict=True)
                   for one, other in zip(*(line.split("|") for line in pair), strict=True) if one != other]
    unexpected = [pair for pair in differences if not is_known(*pair)]
    verdict.check(not unexpected, f"formats: other than nginx: {unexpected[:5]}")
    verdict.figure(f"formats: {len(VARIABLES)} variables in {len(REQUESTS)} requests as nginx has them, "
                   f"{len(differences) - len(unexpected)} values differ for a reason")


def is_known(ours: str, theirs: str) -> bool:
    """Whether a value differs because the servers do."""
    name = ours.partition("=")[0]
    # Other error pages; nginx decodes the path; and nginx takes what has no colon for a name of nothing.
    return (name == "body_bytes_sent" and " 404 " not in ours or ours.endswith("/a%20b") and theirs.endswith("/a b")
            or name == "sent_http_content_type")


def times(verdict: Verdict, folder: pathlib.Path, short: bool) -> None:
    """Times, ports and numbers look as nginx's do."""
    log = folder / "log"
    with Logged.serving(folder, str(log), "--access-log-format", TIMES) as server:
        server.ask(2)
        first, second = lines_of(log, 2)
    form = (r"\d\d/\w{3}/\d{4}:\d\d:\d\d:\d\d \+0000 \d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00 \d+\.\d{3} \d+\.\d{3} \d+ "
            rf"{server.port} \d+")
    for line in (first, second):
        verdict.check(re.fullmatch(form, line) is not None, f"formats: {line!r}")
    verdict.check(first.rpartition(" ")[2] == second.rpartition(" ")[2], f"formats: two connections: {first} {second}")


CASES = (beside_nginx, times)
