"""Random paths to php-fpm behind Serow, each judged by the rule of the guide; and how nginx's usual settings answer."""

from __future__ import annotations

import collections
import contextlib
import json
import pathlib
import subprocess
import tempfile
import time

from ..php.services import fpm
from ..server import Server, free_port, program
from ..verdict import Verdict, arguments
from . import site
from .client import BATCH, CONNECTIONS, Client, Request, Response
from .paths import Paths
from .rule import Expected, Model, Rule, decode

SHORT, FULL = 12_000, 100_000
# Paths of which the first are shown when many are wrong.
SHOWN = 12

NGINX = """daemon off; error_log {folder}/nginx.log error; user root root; pid {folder}/nginx.pid; worker_processes 1;
events {{ worker_connections 1024; }}
http {{
    access_log off; keepalive_requests 100000000; large_client_header_buffers 8 32k;
    client_body_temp_path {folder}/n1; proxy_temp_path {folder}/n2; fastcgi_temp_path {folder}/n3; uwsgi_temp_path {folder}/n4; scgi_temp_path {folder}/n5;
    server {{
        listen 127.0.0.1:{port}; root {folder}/site; index index.php index.html;
        location / {{ try_files $uri $uri/ /index.php?$args; }}
        location ~ /\\.(?!well-known) {{ deny all; }}
        location ~* ^/uploads/.*\\.php$ {{ deny all; }}
        location ~ [^/]\\.php(/|$) {{
            fastcgi_split_path_info ^(.+?\\.php)(/.*)$;
            set $path_info $fastcgi_path_info;
            try_files $fastcgi_script_name =404;
            include /etc/nginx/fastcgi_params;
            fastcgi_param SCRIPT_FILENAME $document_root$fastcgi_script_name;
            fastcgi_param PATH_INFO $path_info;
            fastcgi_pass {server};
        }}
    }}
}}
"""


def main() -> None:
    parser = arguments("php-paths", "Sends random paths to a folder of PHP scripts, uploads and links, and judges each response by the rule of docs/php.md.")
    parser.add_argument("--paths", type=int, help=f"how many (default: {FULL:,}, and {SHORT:,} with --short)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--nginx", type=int, default=None, metavar="N", help="compare the first N with nginx (default: as many, at most 20,000)")
    parser.add_argument("--only", default="", help="the settings whose name contains this")
    options = parser.parse_args()
    verdict = Verdict("php-paths")
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        place = pathlib.Path(folder).resolve()
        place.chmod(0o755)
        root = site.make(place)
        rules = {name: rule for name, rule in settings(place).items() if options.only in name}
        check_refusals(place, verdict)
        server = stack.enter_context(fpm(place, 4))
        port = free_port()
        (place / "serow.toml").write_text(configuration(rules, root, server, port))
        serow = stack.enter_context(Server([program("serow"), "run", "-c", place / "serow.toml"], port))
        count = options.paths or (SHORT if options.short else FULL)
        run(rules, root, port, count, options.seed, verdict)
        verdict.check(serow.is_running() and not serow.panics(), f"Serow: {serow.said()[-500:]}")
        compared = min(count, 20_000) if options.nginx is None else options.nginx
        if compared and not options.only:
            compare(place, root, server, port, Paths(site.names_below(root), options.seed), compared, verdict)
    verdict.finish()


def check_refusals(place: pathlib.Path, verdict: Verdict) -> None:
    """Settings that would send source code, or be of no effect."""
    for setting, expected in (
        ('type = "php=text/plain"', "would send source code"),
        ('type = [".Inc=text/plain"]', "would send source code"),
        ('not-found = "404.php"', "would be sent and not run"),
        ('front-controller = "../index.php"', "is not a script of the folder"),
        ('front-controller = "index.html"', "is not a script of the folder"),
        ('no-scripts = "uploads/*"', "is not a path"),
    ):
        file = place / "refused.toml"
        file.write_text(f'[[site]]\nphp = {{ root = "{place}/site", servers = "127.0.0.1:9", {setting} }}\n')
        check = subprocess.run([program("serow"), "check", "-c", file], capture_output=True, text=True)
        verdict.check(check.returncode != 0 and expected in check.stderr, f"{setting}: {check.returncode} {check.stderr.strip()}")


def settings(place: pathlib.Path) -> dict[str, Rule]:
    uploads = ("/uploads/*",)
    return {
        "all": Rule(),
        "uploads": Rule(no_scripts=uploads),
        "entries": Rule(entry_points=("/index.php", "/admin/*", "/in.php"), no_scripts=uploads),
        "off": Rule(front_controller=None),
        "other": Rule(front_controller="other.php", no_scripts=uploads),
        "pages": Rule(index=("index.html", "index.php")),
        "no-links": Rule(symlinks="none"),
        "owner": Rule(symlinks="owner", no_scripts=uploads),
        "all-links": Rule(symlinks="all", no_scripts=uploads),
        "container": Rule(root_in_php=str(place / "alias"), no_scripts=uploads),
    }


def configuration(rules: dict[str, Rule], root: pathlib.Path, server: str, port: int) -> str:
    text = f'listen = "127.0.0.1:{port}"\nworkers = 2\n[[upstream]]\nname = "fpm"\nprotocol = "fastcgi"\nservers = "{server},max=4"\nqueue = 1000\n'
    for name, rule in rules.items():
        wanted = {"root": str(root), "upstream": "fpm", "index": list(rule.index), "symlinks": rule.symlinks, "no-scripts": list(rule.no_scripts),
                  "front-controller": rule.front_controller or "off", "entry-points": rule.entry_points and list(rule.entry_points),
                  "root-in-php": rule.root_in_php}
        # Strings and lists of JSON are those of TOML.
        php = ", ".join(f"{key} = {json.dumps(value)}" for key, value in wanted.items() if value)
        text += f'[[site]]\nhosts = "{name}.test"\nphp = {{ {php} }}\n'
    return text


def run(rules: dict[str, Rule], root: pathlib.Path, port: int, count: int, seed: int, verdict: Verdict) -> None:
    models = {name: Model(root, rule) for name, rule in rules.items()}
    paths, client = Paths(site.names_below(root), seed), Client(port)
    names, sent, wrong, began = list(models), 0, 0, time.monotonic()
    kinds: collections.Counter[str] = collections.Counter()
    while sent < count:
        requests = [Request("POST" if paths.random.random() < 0.06 else "GET", f"{names[(sent + at) % len(names)]}.test", paths.path())
                    for at in range(min(count - sent, CONNECTIONS * BATCH))]
        for request, response in zip(requests, client.ask(requests)):
            expected = models[request.host.removesuffix(".test")].expect(request.method, request.path)
            kinds[kind_of(response)] += 1
            if miss := difference(request, response, expected):
                wrong += 1
                if wrong <= SHOWN:
                    verdict.check(False, miss)
        sent += len(requests)
    client.close()
    seconds = time.monotonic() - began
    verdict.check(wrong == 0, f"{wrong} of {sent} paths differ from the rule")
    verdict.check(all(kinds[kind] > 0 for kind in ("script", "file", "301", "400", "404")), f"too few kinds of responses: {dict(kinds)}")
    verdict.figure(f"{sent:,} paths, {len(models)} settings, seed {seed}: {wrong} differences to the rule; "
                   f"{', '.join(f'{name} {number:,}' for name, number in sorted(kinds.items()))}; {sent / seconds:,.0f} paths/s")


def kind_of(response: Response) -> str:
    if response.status != 200:
        return str(response.status)
    return "script" if response.body.startswith(b"RAN\0") else "file"


def difference(request: Request, response: Response, expected: Expected) -> str:
    """The fault of a response; nothing if it is right."""
    shown = f"{request.method} {request.host} {request.path.decode(errors='replace')[:200]}"
    if site.SOURCE in response.body and not is_leak_by_name(request, expected):
        return f"{shown}: source code: {response.body[:80]!r}"
    if response.status != expected.status:
        return f"{shown}: {response.status} {response.body[:100]!r}, expected {expected}"
    if response.status == 200 and response.body != expected.content:
        return f"{shown}: {response.body[:200]!r}, expected {expected.content[:200]!r}"
    if response.status == 301 and decoded_location(response) != expected.content:
        return f"{shown}: Location {response.location!r}, expected {expected.content!r}"
    return ""


def is_leak_by_name(request: Request, expected: Expected) -> bool:
    """A text that lies outside and that a link of the settings `all` leads to."""
    return expected.status == 200 and expected.content.startswith(b"SOURCE:outside/") and b".txt" in expected.content


def decoded_location(response: Response) -> bytes:
    return decode(response.location) or b""


def compare(place: pathlib.Path, root: pathlib.Path, server: str, port: int, paths: Paths, count: int, verdict: Verdict) -> None:
    """How nginx answers the same paths, with the settings that most sites with PHP have: classes of differences, for the guide."""
    nginx_port = free_port()
    (place / "nginx.conf").write_text(NGINX.format(folder=place, port=nginx_port, server=server))
    # php-fpm would wait for its writer.
    (root / "pipe.php").unlink()
    classes: collections.Counter[str] = collections.Counter()
    examples: dict[str, str] = {}
    with Server(["/usr/sbin/nginx", "-p", place, "-c", place / "nginx.conf"], nginx_port):
        ours, theirs, sent = Client(port), Client(nginx_port), 0
        while sent < count:
            requests = [Request("GET", "uploads.test", paths.path()) for _ in range(min(count - sent, CONNECTIONS * BATCH))]
            for request, own, other in zip(requests, ours.ask(requests), theirs.ask(requests)):
                if summary(own) != summary(other):
                    name = f"Serow {outcome(own)}, nginx {outcome(other)}"
                    classes[name] += 1
                    example = request.path.decode()
                    examples[name] = min(examples.get(name, example), example, key=len)
            sent += len(requests)
        ours.close()
        theirs.close()
    for name, number in classes.most_common():
        verdict.say(f"{number:6,} × {name}: {examples[name][:120]}")
    verdict.figure(f"{count:,} paths to nginx: {sum(classes.values()):,} other responses of {len(classes)} classes")


def summary(response: Response) -> tuple:
    """A response as far as both servers can have the same."""
    if kind_of(response) == "script":
        return ("script", *response.body.split(b"\0")[1:4])
    return response.status, response.body if response.status == 200 else b""


def outcome(response: Response) -> str:
    kind = kind_of(response)
    if kind == "script":
        _, name, script, info, *_ = response.body.split(b"\0")
        return f"runs {'the front controller' if name == b'site/index.php' else 'another script'}" + (" with PATH_INFO" if info not in (b"-", b"") else "")
    if kind == "file":
        return "sends source code" if site.SOURCE in response.body else "sends a file"
    return kind
