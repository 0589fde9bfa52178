"""Chromium logs in: opens a page, fills in the provider's form, and looks at cookies, storage and URLs on the way.

It takes commands as lines of JSON and prints what it saw, a line for each."""

from __future__ import annotations

import json
import sys
import tempfile
import time

from ..priorities.chromium import Browser
from ..priorities.tab import Tab

STATE = """JSON.stringify({
    url: location.href,
    text: document.body ? document.body.innerText : '',
    cookie: (() => { try { return document.cookie } catch (error) { return '' } })(),
    local: Object.entries(localStorage),
    session: Object.entries(sessionStorage),
})"""


class LoginTab(Tab):
    def __init__(self, browser: Browser, context: str | None = None) -> None:
        super().__init__(browser, ("Page", "Runtime", "Network", "Log"), context=context)

    def wait_for(self, expression: str, seconds: float = 15.0) -> None:
        until = time.monotonic() + seconds
        while True:
            try:
                if self.value(expression):
                    return
            except RuntimeError:
                # The page goes away at this moment.
                pass
            if time.monotonic() > until:
                raise TimeoutError(f"{expression} at {self.value('location.href')}: {self.value('document.body.innerText')[:200]}")
            time.sleep(0.05)

    def open(self, url: str) -> None:
        self.call("Page.navigate", url=url)
        self.wait_for("document.readyState === 'complete' && location.href !== 'about:blank'")

    def log_in(self, user: str, password: str) -> None:
        self.wait_for("!!document.querySelector('#password')")
        self.value(f"document.querySelector('#username').value = {json.dumps(user)}")
        self.value(f"document.querySelector('#password').value = {json.dumps(password)}")
        self.value("document.querySelector('form').submit()")

    def state(self) -> dict:
        return json.loads(self.value(STATE)) | {"cookies": self.call("Network.getAllCookies")["cookies"]}


def perform(tab: LoginTab, order: list) -> object:
    match order:
        case ["open", url]:
            tab.open(url)
        case ["log-in", user, password]:
            tab.log_in(user, password)
        case ["wait", expression]:
            tab.wait_for(expression)
        case ["value", expression]:
            return tab.value(expression)
        case ["urls"]:
            # The events arrive with the next answer.
            tab.value("1")
            sent = [event["params"]["request"] for event in tab.browser.events if event.get("method") == "Network.requestWillBeSent"]
            return [[request["url"], request["headers"].get("Referer", "")] for request in sent]
        case ["errors"]:
            tab.value("1")
            return [said for event in tab.browser.events if (said := complaint(event))]
    return tab.state()


def complaint(event: dict) -> str:
    """An error that the console shows: of a script, or a resource that did not come."""
    parameters = event.get("params", {})
    match event.get("method"):
        case "Runtime.exceptionThrown":
            details = parameters["exceptionDetails"]
            return details.get("exception", {}).get("description") or details["text"]
        case "Runtime.consoleAPICalled" if parameters["type"] == "error":
            return " ".join(str(item.get("value", item.get("description"))) for item in parameters["args"])
        case "Log.entryAdded" if parameters["entry"]["level"] == "error":
            return f"{parameters['entry']['text']} {parameters['entry'].get('url', '')}"
    return ""


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        browser = Browser(folder)
        try:
            other = browser.call("Target.createBrowserContext")["browserContextId"]
            tabs = {"first": LoginTab(browser), "other": LoginTab(browser, other)}
            for line in sys.stdin:
                name, *order = json.loads(line)
                try:
                    print(json.dumps({"found": perform(tabs[name], order)}), flush=True)
                except (RuntimeError, TimeoutError) as error:
                    print(json.dumps({"error": str(error)}), flush=True)
        finally:
            browser.close()


if __name__ == "__main__":
    main()
