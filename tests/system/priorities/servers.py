"""The servers of the benchmark: how each is started, and which priority signals it understands."""

from __future__ import annotations

import os
import pathlib
import shutil
import string
import subprocess
from dataclasses import dataclass, field

from ..server import program

ADDRESS = "10.99.0.1"
PORT = 8443
RFC9218, RFC7540 = "RFC 9218", "RFC 7540"
PLACES = "/usr/sbin:/usr/bin:/usr/local/sbin:/usr/local/bin"

# As Debian ships it, but for logs and one worker. `user`: a server started by root must be able to read the folder.
NGINX = """\
daemon off;
$user
worker_processes 1;
pid nginx.pid;
error_log stderr crit;
events { }
http {
    access_log off;
    sendfile on;
    tcp_nopush on;
    default_type application/octet-stream;
    types { text/javascript js; image/png png; text/html html; }
    client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path fastcgi; uwsgi_temp_path uwsgi; scgi_temp_path scgi;
    server {
        listen $address:$port $tls http2;
        $certificates
        root $site;
    }
}
"""
H2O = """\
$user
num-threads: 1
error-log: /dev/null
listen:
  host: $address
  port: $port
  $certificates
hosts:
  default:
    paths:
      /:
        file.dir: $site
"""


@dataclass(frozen=True)
class Server:
    name: str
    label: str
    recipe: str
    # The newest signals that it understands; those the client sends.
    signals: str
    options: tuple[str, ...] = ()
    # Of its network: /proc/sys/net/…
    kernel: dict[str, str] = field(default_factory=dict)
    note: str = ""

    @property
    def is_ours(self) -> bool:
        return self.recipe == "serow"


SERVERS = (
    Server("serow", "Serow", "serow", RFC9218),
    Server("serow-off", "Serow, pacing off", "serow", RFC9218, ("--pacing", "off"), note="`--pacing off`"),
    Server("nginx", "nginx", "nginx", RFC7540, note="Debian's settings, one worker"),
    Server("nginx-lowat", "nginx, tcp_notsent_lowat", "nginx", RFC7540, kernel={"ipv4/tcp_notsent_lowat": "16384"},
           note="the same; the system's `net.ipv4.tcp_notsent_lowat` = 16384"),
    Server("h2o", "h2o", "h2o", RFC7540, note="its defaults, http2-latency-optimization among them; one thread"),
    Server("nghttpd", "nghttpd", "nghttpd", RFC7540, note="its defaults"),
    Server("nghttpd-9218", "nghttpd, RFC 9218", "nghttpd", RFC9218, ("--no-rfc7540-pri",), note="`--no-rfc7540-pri`"),
)


@dataclass(frozen=True)
class Place:
    """The environment of a server: a folder to serve, one for itself, and certificates."""

    site: pathlib.Path
    work: pathlib.Path
    key: pathlib.Path
    certificate: pathlib.Path
    tls: bool
    admin: pathlib.Path
    # The picture that the client draws.
    drawing: pathlib.Path


def is_there(server: Server) -> bool:
    if server.is_ours:
        return not lacks(server)
    return shutil.which(server.recipe, path=PLACES) is not None


def lacks(server: Server) -> str:
    """The options that this build of Serow lacks, according to its help."""
    said = subprocess.run([program("serow"), "files", "--help"], capture_output=True, text=True).stdout
    return ", ".join(option for option in ("--tls", *server.options[:1]) if option not in said)


def command(server: Server, place: Place) -> list[str]:
    arguments = globals()[f"arguments_of_{server.recipe}"](server, place)
    if not server.kernel:
        return arguments
    settings = " && ".join(f"echo {value} > /proc/sys/net/{name}" for name, value in server.kernel.items())
    return ["sh", "-c", f'{settings} && exec "$@"', "sh", *arguments]


def arguments_of_serow(server: Server, place: Place) -> list[str]:
    tls = ["--tls", "self-signed"] if place.tls else []
    return [str(program("serow")), "files", str(place.site), "--listen", f"{ADDRESS}:{PORT}", *tls, *server.options]


def arguments_of_nginx(_: Server, place: Place) -> list[str]:
    certificates = f"ssl_certificate {place.certificate}; ssl_certificate_key {place.key};" if place.tls else ""
    settings = written(place, NGINX, "nginx.conf", user="user root;" if os.geteuid() == 0 else "",
                       tls="ssl" if place.tls else "", certificates=certificates)
    return [found("nginx"), "-e", "stderr", "-p", str(place.work), "-c", str(settings)]


def arguments_of_h2o(_: Server, place: Place) -> list[str]:
    certificates = f"ssl:\n    key-file: {place.key}\n    certificate-file: {place.certificate}" if place.tls else ""
    settings = written(place, H2O, "h2o.conf", user="user: root" if os.geteuid() == 0 else "", certificates=certificates)
    return [found("h2o"), "-c", str(settings)]


def arguments_of_nghttpd(server: Server, place: Place) -> list[str]:
    common = [found("nghttpd"), "-a", ADDRESS, "-d", str(place.site), *server.options]
    return [*common, str(PORT), str(place.key), str(place.certificate)] if place.tls else [*common, "--no-tls", str(PORT)]


def found(name: str) -> str:
    return shutil.which(name, path=PLACES) or name


def written(place: Place, template: str, name: str, **values: str) -> pathlib.Path:
    file = place.work / name
    values |= {"address": ADDRESS, "port": str(PORT), "site": str(place.site)}
    file.write_text(string.Template(template).substitute(values))
    return file


def version(server: Server) -> str:
    if server.is_ours:
        said = subprocess.run([program("serow"), "--version"], capture_output=True, text=True).stdout
        return said.strip().removeprefix("serow ")
    package = {"nginx": "nginx-common", "nghttpd": "nghttp2-server"}.get(server.recipe, server.recipe)
    asked = ["dpkg-query", "-W", "-f", "${Version}", package]
    try:
        return subprocess.run(asked, capture_output=True, text=True).stdout
    except FileNotFoundError:
        return "?"
