"""Scripts that loop, grow, fail and lie: their own clients get 500, and the others are served."""

from __future__ import annotations

import pathlib
import subprocess
import threading

from ..restarts.running import Running, bench, outcome
from ..server import resident_bytes
from ..verdict import Verdict

LIMIT_MS = 50
# The bar: the others wait for the limit at most, and these milliseconds.
ROOM_MS = 5
# Each thread may have a state at its limit of 16 MB, and memory of one before it that the allocator keeps: after 30 rounds it is not
# more than after 3.
GROWTH_MB = 64

SCRIPT = """
local kept = {}
local bad = {
  loop = function() while true do end end,
  caught = function() while true do pcall(function() while true do end end) end end,
  handler = function() xpcall(function() while true do end end, function() while true do end end) end,
  recursion = function() local function f() return 1 + f() end return f() end,
  text = function() local s = "x" while true do s = s .. s end end,
  tables = function() local t = {} for i = 1, 1e9 do t[i] = { i } end end,
  coroutines = function()
    for _ = 1, 10000 do local co = coroutine.create(function() serow.sleep(0) end) coroutine.resume(co) end
    return "no"
  end,
  fails = function() error({}) end,
  nonsense = function() return function() end end,
  length = function(request) request.headers.content_length = "1" end,
  encoding = function() return { headers = { transfer_encoding = "chunked" } } end,
  breaks = function() return { headers = { x = "a\\r\\nb: c" } } end,
  keeps = function(request) kept[#kept + 1] = request if #kept > 1 then return { body = kept[#kept - 1].path } end error("first") end,
  fetches = function(request) while true do serow.fetch("http://127.0.0.1:PORT/good") end end,
  itself = function(request) return serow.fetch("http://127.0.0.1:PORT/bad/itself").status end,
  nobody = function() return { body = serow.fetch({ url = "http://127.0.0.1:1/", timeout = 1 }).status } end,
}
return {
  request = function(request)
    if request.path == "/good" then return { body = "good" } end
    local name = request.path:match("^/bad/(%w+)$")
    if name then return bad[name](request) end
  end,
}
"""
NAMES = ("loop", "caught", "handler", "recursion", "text", "tables", "coroutines", "fails", "nonsense", "length", "encoding",
         "breaks", "keeps", "fetches", "itself", "nobody")


def server_with(folder: pathlib.Path, script: str) -> Running:
    server = Running(folder)
    (folder / "rules.lua").write_text(script.replace("PORT", str(server.port)))
    server.file.write_text('script = "rules.lua"\n' + server.settings)
    return server


def ask(server: Running, path: str) -> str:
    command = ["curl", "-s", "-o", "/dev/null", "-w", "%{http_code}", "-m", "30", f"http://127.0.0.1:{server.port}{path}"]
    return subprocess.run(command, capture_output=True, text=True).stdout


def each_fails_alone(verdict: Verdict, folder: pathlib.Path, short: bool) -> None:
    """Each kind of hostile script, several times; then the server answers as before, and has not grown."""
    with server_with(folder, SCRIPT) as server:
        for _ in range(2):
            for name in NAMES:
                ask(server, f"/bad/{name}")
        before = resident_bytes(server.serving())
        for _ in range(3 if short else 30):
            for name in NAMES:
                status = ask(server, f"/bad/{name}")
                # A connection that nobody answers is a 502 of the proxy, which the script reads as a status.
                verdict.check(status in (("200", "500") if name == "nobody" else ("500",)), f"{name}: {status}")
                verdict.check(ask(server, "/good") == "200", f"after {name}, /good fails")
        grown = (resident_bytes(server.serving()) - before) / 1e6
        verdict.check(grown < GROWTH_MB, f"the server has grown by {grown:.1f} MB")
        verdict.check("panic" not in server.said(), server.said()[-300:])
        verdict.figure(f"{len(NAMES)} kinds of hostile scripts: 500 each, the memory grew by {max(grown, 0):.1f} MB")


def others_wait_for_the_limit(verdict: Verdict, folder: pathlib.Path, short: bool) -> None:
    """A looping script beside 64 other connections."""
    with server_with(folder, SCRIPT) as server:
        stop = threading.Event()

        def loop() -> None:
            while not stop.wait(0.1):
                ask(server, "/bad/loop")

        thread = threading.Thread(target=loop)
        thread.start()
        requests = 20_000 if short else 200_000
        try:
            found = outcome(bench("-c64", "-t1", "-n", str(requests), "-R", "5000", url=f"http://127.0.0.1:{server.port}/good"))
        finally:
            stop.set()
            thread.join()
        errors = {kind: number for kind, number in found["errors"].items() if number}
        verdict.check(not errors and found["statuses"] == {"200": requests}, f"{errors} {found['statuses']}")
        waited = found["latency"]["p99_us"] / 1000
        verdict.figure(f"99 of 100 requests beside a looping script: {waited:.1f} ms, of {LIMIT_MS + ROOM_MS}")
        verdict.compare_time(waited <= LIMIT_MS + ROOM_MS, f"99 of 100 requests beside a loop take {waited:.1f} ms")


CASES = [each_fails_alone, others_wait_for_the_limit]
