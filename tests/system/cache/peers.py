"""Other caches in front of the origin of the suite, with the settings of their packages as far as they allow that."""

from __future__ import annotations

import pathlib
import shutil
import subprocess

NGINX = """daemon off; worker_processes 1; pid {folder}/nginx.pid; error_log {folder}/error.log; events {{ }}
http {{
  access_log off; client_body_temp_path {folder}/b; fastcgi_temp_path {folder}/f; uwsgi_temp_path {folder}/u; scgi_temp_path {folder}/s;
  proxy_temp_path {folder}/p; proxy_cache_path {folder}/cache keys_zone=all:10m;
  server {{
    listen 127.0.0.1:{port};
    location / {{ proxy_pass http://127.0.0.1:{origin}; proxy_http_version 1.1; proxy_cache all; proxy_cache_revalidate on; }}
  }}
}}
"""
SQUID = """http_port 127.0.0.1:{port} accel defaultsite=localhost no-vhost
cache_peer 127.0.0.1 parent {origin} 0 no-query originserver
http_access allow all
cache_mem 64 MB
pid_filename none
access_log none
cache_log {folder}/cache.log
cache_store_log none
coredump_dir {folder}
shutdown_lifetime 0 seconds
"""


def nginx(folder: pathlib.Path, port: int, origin: int) -> list:
    (folder / "nginx.conf").write_text(NGINX.format(folder=folder, port=port, origin=origin))
    return ["nginx", "-c", folder / "nginx.conf"]


def varnish(folder: pathlib.Path, port: int, origin: int) -> list:
    return ["varnishd", "-F", "-a", f"127.0.0.1:{port}", "-b", f"127.0.0.1:{origin}", "-n", folder / "varnish", "-s", "malloc,64m"]


def squid(folder: pathlib.Path, port: int, origin: int) -> list:
    (folder / "squid.conf").write_text(SQUID.format(folder=folder, port=port, origin=origin))
    return ["squid", "-N", "-f", folder / "squid.conf"]


def traffic_server(folder: pathlib.Path, port: int, origin: int) -> list:
    places = {name: folder / name for name in ("sysconfdir", "datadir", "localstatedir", "runtimedir", "logdir", "cachedir")}
    shutil.copytree("/etc/trafficserver", places["sysconfdir"])
    for place in places.values():
        place.mkdir(exist_ok=True)
    layout = {"prefix": folder, "exec_prefix": "/usr", "bindir": "/usr/bin", "sbindir": "/usr/sbin", "includedir": "/usr/include",
              "libdir": "/usr/lib/trafficserver", "libexecdir": "/usr/lib/trafficserver/modules", **places}
    (folder / "runroot.yaml").write_text("".join(f"{name}: {place}\n" for name, place in layout.items()))
    settings = places["sysconfdir"]
    with (settings / "records.config").open("a") as records:
        records.write(f"CONFIG proxy.config.http.server_ports STRING {port}:ip-in=127.0.0.1\n"
                      "CONFIG proxy.config.admin.user_id STRING #-1\n")
    (settings / "remap.config").write_text(f"map / http://127.0.0.1:{origin}/\n")
    (settings / "storage.config").write_text(f"{places['cachedir']} 64M\n")
    return ["traffic_server", f"--run-root={folder / 'runroot.yaml'}"]


# The name, the program, and what makes its command.
PEERS = (("nginx", "nginx", nginx), ("Varnish", "varnishd", varnish), ("Squid", "squid", squid),
         ("Traffic Server", "traffic_server", traffic_server))


def version(program: str) -> str:
    """The name and version that the program prints."""
    option = {"nginx": "-v", "varnishd": "-V", "squid": "-v", "traffic_server": "--version"}[program]
    found = subprocess.run([program, option], capture_output=True, text=True)
    return (found.stdout + found.stderr).splitlines()[0]


def installed() -> list:
    return [peer for peer in PEERS if shutil.which(peer[1])]
