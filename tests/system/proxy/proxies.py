"""The proxies: Serow, and those it is compared with, set as their users set them."""

from __future__ import annotations

import pathlib
import subprocess

from ..http2.tools import find
from ..server import Server, free_port, program
from .upstream import Upstream

# The same for all: a second to connect and a second until the first byte of a response, three attempts, and a server that
# failed three times is left alone for two seconds.
SEROW = ("--max-body", "unlimited", "--connect-timeout", "1s", "--response-timeout", "1s", "--tries", "3", "--max-failures", "3",
         "--ejection-time", "2s")
NGINX = """\
daemon off;
error_log {folder}/nginx.log error;
user root root;
pid {folder}/nginx.pid;
worker_processes 2;
worker_rlimit_nofile 20000;
events {{ worker_connections 5000; }}
http {{
    access_log off;
    client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy; fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi; scgi_temp_path {folder}/scgi;
    upstream app {{
        zone app 256k;
        {servers}
        keepalive 64;
    }}
    server {{
        listen 127.0.0.1:{port} backlog=4096;
        location / {{
            proxy_pass http://app;
            proxy_http_version 1.1;
            proxy_set_header Connection "";
            proxy_connect_timeout 1s;
            proxy_read_timeout 1s;
            proxy_next_upstream error timeout invalid_header http_502 http_503 http_504;
            proxy_next_upstream_tries 3;
        }}
    }}
}}
"""
HAPROXY = """\
global
    nbthread 2
    maxconn 5000
defaults
    mode http
    timeout connect 1s
    timeout client 30s
    timeout server 1s
    timeout queue 5s
    retries 3
    option redispatch 1
    retry-on all-retryable-errors
frontend site
    bind 127.0.0.1:{port}
    default_backend app
backend app
    balance roundrobin
    http-request disable-l7-retry if METH_POST
    option httpchk GET /bytes/1
    default-server check inter 1s fall 3 rise 2 observe layer7 error-limit 3 on-error mark-down
    {servers}
"""
NOTES = {
    "Serow": f"`serow proxy {' '.join(SEROW)}`; without checks",
    "nginx": "`proxy_next_upstream error timeout invalid_header http_502 http_503 http_504`, `proxy_next_upstream_tries 3`, "
             "`max_fails=3 fail_timeout=2s`, `zone`, `keepalive 64`, timeouts of 1 s; it has no checks",
    "HAProxy": "`retry-on all-retryable-errors`, `disable-l7-retry if METH_POST`, `retries 3`, `option redispatch 1`, timeouts of "
               "1 s, `check inter 1s fall 3 rise 2 observe layer7 error-limit 3 on-error mark-down`",
}


class Serow(Server):
    """`serow proxy`; says how it is at a socket in the folder."""

    name = "Serow"

    def __init__(self, folder: pathlib.Path, upstreams: tuple[Upstream, ...], options: tuple[str, ...] = SEROW,
                 **rest) -> None:
        port, self.admin = free_port(), folder / "admin.sock"
        super().__init__([program("serow"), "proxy", "--listen", f"127.0.0.1:{port}", "--admin", f"unix:{self.admin}", *options,
                          *(upstream.address for upstream in upstreams)], port, **rest)

    @staticmethod
    def version() -> str:
        return subprocess.run([program("serow"), "--version"], capture_output=True, text=True).stdout.split()[-1]


class Nginx(Server):
    name = "nginx"

    def __init__(self, folder: pathlib.Path, upstreams: tuple[Upstream, ...]) -> None:
        port, settings = free_port(), folder / "nginx.conf"
        servers = "\n        ".join(f"server {each.address} max_fails=3 fail_timeout=2s;" for each in upstreams)
        settings.write_text(NGINX.format(folder=folder, port=port, servers=servers))
        super().__init__([find("nginx"), "-e", "stderr", "-p", str(folder), "-c", str(settings)], port)

    @staticmethod
    def version() -> str:
        return subprocess.run([find("nginx"), "-v"], capture_output=True, text=True).stderr.strip().rpartition("/")[2]


class HAProxy(Server):
    name = "HAProxy"

    def __init__(self, folder: pathlib.Path, upstreams: tuple[Upstream, ...]) -> None:
        port, settings = free_port(), folder / "haproxy.cfg"
        servers = "\n    ".join(f"server {each.name} {each.address.replace('unix:', 'unix@')}" for each in upstreams)
        settings.write_text(HAPROXY.format(port=port, servers=servers))
        super().__init__([find("haproxy"), "-db", "-f", str(settings)], port)

    @staticmethod
    def version() -> str:
        said = subprocess.run([find("haproxy"), "-v"], capture_output=True, text=True).stdout
        return said.split()[2].partition("-")[0]


PEERS = (Nginx, HAProxy)
