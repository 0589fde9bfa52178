"""nginx as it stands in front of application servers."""

from __future__ import annotations

import contextlib
import pathlib
import subprocess
from collections.abc import Iterator

from . import tree

NGINX = """\
daemon off;
error_log {folder}/nginx.log error;
user root root;
pid {folder}/nginx.pid;
worker_processes 1;
events {{ worker_connections 1024; }}
http {{
    access_log off;
    keepalive_requests 1000000;
    client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy; fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi; scgi_temp_path {folder}/scgi;
    upstream app {{ server unix:{behind}; {keepalive} }}
    server {{
        listen unix:{front} backlog=1024;
        location / {{
            proxy_pass http://app;
            proxy_http_version 1.1;
            proxy_set_header Connection {connection};
            proxy_set_header Host $host;
            proxy_set_header X-Forwarded-For $remote_addr;
            proxy_set_header X-Forwarded-Proto $scheme;
        }}
    }}
}}
"""


@contextlib.contextmanager
def nginx(behind: pathlib.Path, folder: pathlib.Path, keeps: bool, target: str = "/") -> Iterator[tuple[pathlib.Path, subprocess.Popen]]:
    """The socket it listens at, and its first process. `keeps`: whether it keeps connections to the server behind it."""
    path, settings = folder / "front.sock", folder / "nginx.conf"
    # A server that is not told that a connection ends waits for more on it: that costs Puma as much again.
    keepalive, connection = ("keepalive 16;", '""') if keeps else ("", "close")
    settings.write_text(NGINX.format(folder=folder, behind=behind, front=path, keepalive=keepalive, connection=connection))
    with tree.started(["/usr/sbin/nginx", "-p", folder, "-c", settings], path, folder, folder, target) as process:
        yield path, process
