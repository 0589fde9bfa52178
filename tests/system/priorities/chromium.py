"""Chromium, run in the laboratory: loads the page, and notes which bytes of what came when and with which priority.

Its only argument is the page's URL; what happened is printed as JSON. It is driven over a pipe (DevTools protocol)."""

from __future__ import annotations

import fcntl
import json
import os
import pathlib
import select
import shutil
import subprocess
import sys
import tempfile
import time

# Chromium's option --remote-debugging-pipe reads from descriptor 3 and writes to 4.
TO_BROWSER, FROM_BROWSER = 3, 4
LIMIT = 200.0
OPTIONS = (
    "--headless=new", "--remote-debugging-pipe", "--ignore-certificate-errors", "--no-first-run", "--disable-gpu",
    "--disable-dev-shm-usage", "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--disable-extensions", "--disable-default-apps", "--no-default-browser-check", "--disable-features=OptimizationHints",
)


class Browser:
    def __init__(self, folder: str, *options: str) -> None:
        self.log = pathlib.Path(folder, "net-log.json")
        inner_read, outer_write = pipe()
        outer_read, inner_write = pipe()
        os.dup2(inner_read, TO_BROWSER)
        os.dup2(inner_write, FROM_BROWSER)
        # A browser that root starts refuses to be without this.
        root = ["--no-sandbox"] if os.geteuid() == 0 else []
        command = [shutil.which("chromium") or "chromium", *OPTIONS, *options, *root, f"--user-data-dir={folder}/profile",
                   f"--log-net-log={self.log}", "about:blank"]
        self.process = subprocess.Popen(command, pass_fds=(TO_BROWSER, FROM_BROWSER), stdin=subprocess.DEVNULL,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                        env=os.environ | {"HOME": folder})
        for descriptor in (inner_read, inner_write, TO_BROWSER, FROM_BROWSER):
            os.close(descriptor)
        self.to, self.from_, self.waiting, self.number = outer_write, outer_read, b"", 0
        self.events: list[dict] = []

    def message(self, until: float) -> dict:
        while b"\0" not in self.waiting:
            if not select.select([self.from_], [], [], max(until - time.monotonic(), 0))[0]:
                raise TimeoutError("the browser says nothing")
            received = os.read(self.from_, 1 << 20)
            if not received:
                raise EOFError("the browser is gone")
            self.waiting += received
        message, _, self.waiting = self.waiting.partition(b"\0")
        return json.loads(message)

    def call(self, method: str, session: str | None = None, **parameters) -> dict:
        self.number += 1
        asked = {"id": self.number, "method": method, "params": parameters} | ({"sessionId": session} if session else {})
        os.write(self.to, json.dumps(asked).encode() + b"\0")
        until = time.monotonic() + 30
        while (answer := self.message(until)).get("id") != self.number:
            self.events.append(answer)
        if "error" in answer:
            raise RuntimeError(f"{method}: {answer['error']}")
        return answer["result"]

    def event(self, until: float) -> dict:
        return self.events.pop(0) if self.events else self.message(until)

    def close(self) -> None:
        try:
            self.call("Browser.close")
            self.process.wait(20)
        except (OSError, EOFError, subprocess.TimeoutExpired):
            self.process.kill()
            self.process.wait()


def pipe() -> tuple[int, int]:
    """Its ends stand clear of the descriptors that the browser wants."""
    ends = os.pipe()
    moved = tuple(fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 10) for end in ends)
    for end in ends:
        os.close(end)
    return moved


def load(browser: Browser, url: str) -> dict:
    """Until the picture and the script are there: seconds since the picture was asked for, and bytes, of both."""
    target = browser.call("Target.createTarget", url="about:blank")["targetId"]
    session = browser.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
    browser.call("Network.enable", session)
    browser.call("Page.navigate", session, url=url)
    names: dict[str, str] = {}
    lanes: dict[str, dict] = {}
    until = time.monotonic() + LIMIT
    while sum("finished" in lane for lane in lanes.values()) < 2:
        event = browser.event(until)
        parameters = event.get("params", {})
        request = parameters.get("requestId")
        kind = event.get("method", "").removeprefix("Network.")
        if kind == "requestWillBeSent":
            name = pathlib.PurePosixPath(parameters["request"]["url"]).stem
            if name in ("picture", "script"):
                names[request] = name
                lanes[name] = {"asked": parameters["timestamp"], "priority": parameters["request"]["initialPriority"],
                               "bytes": []}
        elif request in names:
            lane = lanes[names[request]]
            if kind == "responseReceived":
                # The browser tells of a script when it has all of it; but then it knows when the head had come.
                timing = parameters["response"]["timing"]
                lane["answered"] = timing["requestTime"] + timing["receiveHeadersEnd"] / 1000
                lane["protocol"], lane["status"] = parameters["response"]["protocol"], parameters["response"]["status"]
            elif kind == "dataReceived":
                lane["bytes"].append((parameters["timestamp"], parameters["dataLength"]))
            elif kind == "loadingFinished":
                lane["finished"] = parameters["timestamp"]
            elif kind == "loadingFailed":
                raise RuntimeError(f"{names[request]}: {parameters.get('errorText')}")
    began = lanes["picture"]["asked"]
    for lane in lanes.values():
        lane |= {name: lane[name] - began for name in ("asked", "answered", "finished")}
        lane["bytes"] = [(when - began, length) for when, length in lane["bytes"]]
    return lanes


def signals(log: pathlib.Path) -> list[str]:
    """The priority signals that the browser sent to the server, in order, from the browser's own network log."""
    text = log.read_text()
    try:
        recorded = json.loads(text)
    except ValueError:
        # A browser that was ended has not closed its list.
        recorded = json.loads(text.rstrip().rstrip(",") + "]}")
    kinds = {number: name for name, number in recorded["constants"]["logEventTypes"].items()}
    found = []
    for event in recorded["events"]:
        kind, parameters = kinds.get(event["type"], ""), event.get("params", {})
        if kind == "HTTP2_SESSION_SEND_HEADERS":
            fields = dict(line.split(": ", 1) for line in parameters.get("headers", []) if ": " in line)
            path = fields.get(":path", "?")
            tree = f"weight {parameters.get('weight')}, {'exclusive ' if parameters.get('exclusive') else ''}below " \
                   f"{parameters.get('parent_stream_id')}"
            found.append(f"{path} (stream {parameters.get('stream_id')}): priority: {fields.get('priority', '(none)')}; {tree}")
        elif kind == "HTTP2_STREAM_SEND_PRIORITY":
            found.append(f"PRIORITY: {json.dumps(parameters)}")
        elif kind == "HTTP2_SESSION_SEND_SETTINGS":
            found.append(f"SETTINGS: {'; '.join(parameters.get('settings', []))}")
    return found


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="serow-chromium-", ignore_cleanup_errors=True) as folder:
        browser = Browser(folder)
        try:
            lanes = load(browser, sys.argv[1])
        finally:
            browser.close()
        json.dump({"lanes": lanes, "signals": signals(browser.log)}, sys.stdout)


if __name__ == "__main__":
    main()
