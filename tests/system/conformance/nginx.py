"""nginx on a folder, in a process of its own."""

from __future__ import annotations

import pathlib
import shutil

from ..server import Server, free_port

SETTINGS = """\
daemon off;
master_process off;
error_log stderr crit;
pid {work}/nginx.pid;
events {{ }}
http {{
    types {{ text/html html; text/plain txt; text/css css; application/json json; }}
    default_type application/octet-stream;
    access_log off;
    charset utf-8;
    gzip on; gzip_types text/plain text/css application/json; gzip_min_length 1024; gzip_vary on; gzip_static on;
    client_body_temp_path {work}/body; proxy_temp_path {work}/proxy; fastcgi_temp_path {work}/fastcgi;
    uwsgi_temp_path {work}/uwsgi; scgi_temp_path {work}/scgi;
    server {{
        listen 127.0.0.1:{port};
        root {site};
        index index.html;
        disable_symlinks if_not_owner;
        location / {{ autoindex on; }}
    }}
}}
"""


class Missing(Exception):
    """nginx is not installed."""


def serving(site: pathlib.Path, work: pathlib.Path) -> Server:
    program = shutil.which("nginx", path="/usr/sbin:/usr/bin:/usr/local/sbin:/usr/local/bin")
    if program is None:
        raise Missing("nginx is missing; run: tests/install")
    port = free_port()
    settings = work / "nginx.conf"
    settings.write_text(SETTINGS.format(work=work, site=site, port=port))
    return Server([program, "-p", str(work), "-c", str(settings)], port)
