"""A browser of its own process: loads pages one after the other, and prints what each says in its title, as JSON.

Its arguments are the browser's name, a folder for it, and the addresses. (Chromium is driven over descriptors 3 and 4, which
are somebody else's in a larger program.)"""

from __future__ import annotations

import json
import os
import pathlib
import socket
import subprocess
import sys
import time

from ..priorities import chromium
from ..server import free_port
from . import tools

PATIENCE = 60.0


class Chromium:
    """Driven over a pipe (DevTools protocol)."""

    name = "Chromium"

    def __init__(self, work: pathlib.Path, *options: str) -> None:
        tools.find("chromium")
        self.browser = chromium.Browser(str(work), *options)
        target = self.browser.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.browser.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]

    def __enter__(self) -> "Chromium":
        return self

    def __exit__(self, *_) -> None:
        self.browser.close()

    def title(self, url: str) -> dict:
        self.browser.call("Page.navigate", self.session, url=url)
        return waited(lambda: self.browser.call("Runtime.evaluate", self.session, expression="document.title")["result"]["value"])


class Firefox:
    """Driven over a socket (Marionette)."""

    name = "Firefox"

    def __init__(self, work: pathlib.Path, preferences: dict[str, bool | int | str] | None = None, *options: str) -> None:
        program, port, profile = tools.find("firefox-esr", "firefox"), free_port(), work / "profile"
        profile.mkdir()
        preferences = (preferences or {}) | {
                       "marionette.port": port, "datareporting.policy.dataSubmissionEnabled": False, "app.update.enabled": False,
                       "network.captive-portal-service.enabled": False, "browser.shell.checkDefaultBrowser": False}
        (profile / "user.js").write_text("".join(f"user_pref({json.dumps(name)}, {json.dumps(value)});\n"
                                                 for name, value in preferences.items()))
        environment = os.environ | {"HOME": str(work), "MOZ_HEADLESS": "1", "MOZ_DISABLE_CONTENT_SANDBOX": "1"}
        self.process = subprocess.Popen([program, "--headless", "--marionette", "--no-remote", "--profile", str(profile), *options],
                                        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment)
        self.rest, self.number = b"", 0
        try:
            self.socket = self.connected(port)
            self.message()
            self.call("WebDriver:NewSession", acceptInsecureCerts=True)
        except BaseException:
            self.process.kill()
            raise

    def connected(self, port: int) -> socket.socket:
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until and self.process.poll() is None:
            try:
                return socket.create_connection(("127.0.0.1", port), PATIENCE)
            except OSError:
                time.sleep(0.2)
        raise tools.Failed("it does not let itself be driven")

    def message(self):
        while True:
            length, colon, rest = self.rest.partition(b":")
            if colon and len(rest) >= int(length):
                self.rest = rest[int(length):]
                return json.loads(rest[:int(length)])
            received = self.socket.recv(65536)
            if not received:
                raise EOFError("the browser is gone")
            self.rest += received

    def call(self, command: str, **parameters):
        self.number += 1
        asked = json.dumps([0, self.number, command, parameters]).encode()
        self.socket.sendall(str(len(asked)).encode() + b":" + asked)
        _, _, error, result = self.message()
        if error:
                raise tools.Failed(f"{command}: {error.get('error')}: {error.get('message')}")
        return result

    def __enter__(self) -> "Firefox":
        return self

    def __exit__(self, *_) -> None:
        try:
            self.call("Marionette:Quit", flags=["eForceQuit"])
            self.process.wait(20)
        except (OSError, EOFError, tools.Failed, subprocess.TimeoutExpired):
            self.process.kill()
            self.process.wait()

    def title(self, url: str) -> dict:
        self.call("WebDriver:Navigate", url=url)
        return waited(lambda: self.call("WebDriver:GetTitle")["value"])


def waited(title) -> dict:
    """The results that the page writes to its title, once it is done."""
    until, now = time.monotonic() + PATIENCE, ""
    while time.monotonic() < until:
        now = title()
        if now.startswith("done "):
            return json.loads(now.removeprefix("done "))
        time.sleep(0.1)
    raise tools.Failed(f"the page is not done: {now!r}")


BROWSERS = {"Chromium": Chromium, "Firefox": Firefox}


def main() -> None:
    name, folder, *addresses = sys.argv[1:]
    with BROWSERS[name](pathlib.Path(folder)) as browser:
        json.dump([browser.title(address) for address in addresses], sys.stdout)


if __name__ == "__main__":
    main()
