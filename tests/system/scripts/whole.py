"""The effects of scripts, from the settings file to the client and to the access log."""

from __future__ import annotations

import concurrent.futures
import pathlib
import subprocess

from ..redis import Redis
from ..restarts.running import Running
from ..verdict import Verdict

ROOT = """
local function request(request)
  request.notes.path = request.path
  request.headers.x_seen = "root"
  if request.path == "/redirect" then return { status = 302, headers = { location = "/elsewhere" } } end
end
local function response(request, response)
  response:add_header("x-by", "root")
  response.headers.x_path = request.notes.path
end
return { request = request, response = response, log = function(request) return { path = request.notes.path } end }
"""

SITE = """
local words
local function setup(config) words = config:read("words.txt") end
local function request(request)
  if request.path == "/words" then return { body = words } end
  if request.path == "/fetched" then
    local first = serow.fetch("beside/index.html")
    local second = serow.fetch({ url = "http://127.0.0.1:PORT/words", timeout = 5 })
    return { body = first.status .. second.status .. second.body .. first.body:sub(1, 9) }
  end
  if request.path == "/echo" then return { body = request.method .. (request.headers.x_seen or "") .. request:body(100) } end
  if request.path == "/wait" then serow.sleep(0.2) request.path = "/" end
end
local function response(request, response) response:add_header("x-by", "site") end
return { setup = setup, request = request, response = response }
"""

# The arguments of curl, the expected status, and texts that the response contains.
ASKED = [
    (("/",), 200, ("x-by: site", "x-by: root", "x-path: /", "Hello!")),
    (("/a/../redirect",), 302, ("location: /elsewhere",)),
    (("/%77ords",), 200, ("one two",)),
    (("/fetched",), 200, ("200200one two<p>Hello!",)),
    (("/wait",), 200, ("Hello!", "x-path: /wait")),
    (("-d", "body", "/echo"), 200, ("POSTrootbody",)),
    (("/missing",), 404, ("x-by: site",)),
]
VERSIONS = ("--http1.1", "--http2-prior-knowledge")


def from_settings_to_log(verdict: Verdict, folder: pathlib.Path, _short: bool) -> None:
    """Scripts of the root and of a site, over HTTP/1.1 and HTTP/2."""
    server = Running(folder)
    (folder / "words.txt").write_text("one two")
    (folder / "root.lua").write_text(ROOT)
    (folder / "site.lua").write_text(SITE.replace("PORT", str(server.port)))
    log = folder / "access.log"
    root = f'script = "root.lua"\naccess-log = "{log}"\naccess-log-format = "$status $script_path"\n'
    upstream = f'[[upstream]]\nname = "beside"\nservers = ["127.0.0.1:{server.port}"]\n'
    settings = root + server.settings.replace("[[site]]", f'{upstream}\n[[site]]\nscript = "site.lua"')
    server.file.write_text(settings)
    asked = 0
    with server:
        for version in VERSIONS:
            for arguments, status, parts in ASKED:
                *options, path = arguments
                command = ["curl", "-si", "--path-as-is", version, "-m", "20", *options, f"http://127.0.0.1:{server.port}{path}"]
                said = subprocess.run(command, capture_output=True, text=True).stdout
                asked += 1
                verdict.check(f" {status}" in said.partition("\n")[0], f"{version} {path}: {said[:300]}")
                for part in parts:
                    verdict.check(part.lower() in said.lower(), f"{version} {path}: {part!r} is not in {said[:600]!r}")
        server.wait_for("the log is written", lambda: log.exists() and log.read_text().count("302 /redirect") == len(VERSIONS))
    verdict.check("ERROR" not in server.said(), f"it logged errors: {server.said()[-600:]}")
    verdict.figure(f"{asked} requests through two scripts, as expected")


CHOOSING = """
local function request(request)
  local wanted = request.headers.x_route
  request.headers.x_route = nil
  if wanted then request.route = wanted end
end
return { request = request }
"""

ROUTES = """
[[site]]
SCRIPT
[[site.route]]
path = "/*"
respond = { status = 200, body = "first" }
[[site.route]]
name = "canary"
path = "/*"
methods = ["GET"]
respond = { status = 200, body = "canary" }
[[site.route]]
name = "in-route"
path = "/*"
script = "choosing.lua"
files = { root = "." }
"""

# The arguments of curl, the expected status and the body; nothing where it may be any.
CHOSEN = [
    (("/a",), 200, "first"),
    (("-H", "x-route: canary", "/a"), 200, "canary"),
    (("-H", "x-route: canary", "-d", "x", "/a"), 405, None),
    (("-H", "x-route: missing", "/a"), 500, None),
]


def routes_are_chosen(verdict: Verdict, folder: pathlib.Path, _short: bool) -> None:
    """By the script of a site, and by that of the root; a name that no route has is an error that says so."""
    for place in ("site", "root"):
        server = Running(folder)
        (folder / "choosing.lua").write_text(CHOOSING)
        listener = server.settings.partition("[[site]]")[0]
        line = 'script = "choosing.lua"'
        routes = ROUTES.replace("SCRIPT", line if place == "site" else "")
        server.file.write_text((line + "\n" if place == "root" else "") + listener + routes)
        with server:
            for (*options, path), status, body in CHOSEN:
                command = ["curl", "-s", "-w", "%{http_code}", "-m", "20", *options, f"http://127.0.0.1:{server.port}{path}"]
                said = subprocess.run(command, capture_output=True, text=True).stdout
                verdict.check(said.endswith(str(status)), f"{place}, {options}: {said[-300:]}")
                verdict.check(body is None or said == f"{body}{status}", f"{place}, {options}: {said[:300]}")
            expected = 'a script chose the route "missing"'
            server.wait_for("the log names the route", lambda: expected in server.said())
    verdict.figure(f"{2 * len(CHOSEN)} requests to chosen routes, as expected")


COUNTING = """
local function request(request)
  if request.path == "/count" then return { body = serow.redis("INCR", "pages") } end
  if request.path == "/list" then return { body = serow.json.encode(serow.redis("MGET", "pages", "none")) } end
  if request.path == "/wait" then return { body = serow.redis("BLPOP", "a", 0) } end
  if request.path == "/caught" then return { body = tostring(pcall(serow.redis, "INCR")) } end
end
return { request = request }
"""


def redis_is_asked(verdict: Verdict, folder: pathlib.Path, _short: bool) -> None:
    """Scripts ask a real Redis; while it is away, their requests fail at once and others are served."""
    server = Running(folder)
    (folder / "counting.lua").write_text(COUNTING)
    with Redis(folder) as redis:
        settings = server.settings.replace("[[site]]", f'[redis]\nurl = "{redis.url}"\n[[site]]\nscript = "counting.lua"')
        server.file.write_text(settings)

        def ask(path: str) -> str:
            command = ["curl", "-s", "-w", " %{http_code}", "-m", "20", f"http://127.0.0.1:{server.port}{path}"]
            return subprocess.run(command, capture_output=True, text=True).stdout

        with server:
            server.wait_for("Redis is reached", lambda: ask("/count").endswith(" 200"))
            first = int(ask("/count").split()[0])
            with concurrent.futures.ThreadPoolExecutor(16) as clients:
                counts = sorted(int(answer.split()[0]) for answer in clients.map(lambda _: ask("/count"), range(200)))
            verdict.check(counts == list(range(first + 1, first + 201)), f"counted {counts[:5]} to {counts[-5:]} after {first}")
            verdict.check(ask("/list") == f'["{counts[-1]}",false] 200', ask("/list"))
            verdict.check(ask("/caught") == "false 200", ask("/caught"))
            verdict.check(ask("/wait").endswith(" 500") and "BLPOP waits" in server.said(), server.said()[-300:])
            redis.kill()
            verdict.check(ask("/count").endswith(" 500"), "without Redis, a count is answered")
            verdict.check(ask("/").endswith(" 200"), "without Redis, another page fails")
            redis.start()
            server.wait_for("Redis is reached again", lambda: ask("/count").endswith(" 200"))
    verdict.figure("200 counts of 16 clients in Redis, each once; errors while it is away")


CASES = [from_settings_to_log, routes_are_chosen, redis_is_asked]
