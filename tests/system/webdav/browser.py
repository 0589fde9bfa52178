"""Chromium on the page of a listing with the form for uploads: what people do there, and what a stranger's page tries.

Its arguments are the page's URL, that of a page of another site, and the files to upload, of which the last one is
dropped on the page; with a folder before them, it saves pictures there. It prints its observations as JSON."""

from __future__ import annotations

import argparse
import base64
import json
import pathlib
import tempfile
import time

from ..polling import wait_until
from ..priorities.chromium import Browser
from ..priorities.tab import Tab

# The text of each upload, and whether all have ended.
STATE = """(() => {
    const rows = [...document.querySelectorAll('.upload li')];
    return JSON.stringify({
        rows: rows.map((row) => [row.className, row.querySelector('span').textContent, row.querySelector('output').textContent]),
        names: [...document.querySelectorAll('tbody td:first-child span')].map((name) => name.textContent),
        summary: document.querySelector('.upload p').textContent,
        label: document.querySelector('.drop').hidden ? '' : document.querySelector('.drop').innerText,
        font: getComputedStyle(document.querySelector('.drop')).borderTopStyle,
    });
})()"""
ATTACK = """(async () => {
    const tries = [];
    for (const [method, headers] of [['PUT', {'Serow-Upload': '1'}], ['PUT', {}], ['POST', {'Content-Type': 'text/plain'}]]) {
        for (const mode of ['cors', 'no-cors']) {
            try {
                const response = await fetch('TARGET', {method, headers, mode, body: 'stolen'});
                tries.push([method, mode, response.status]);
            } catch (error) {
                tries.push([method, mode, error.name]);
            }
        }
    }
    return JSON.stringify(tries);
})()"""


class Page(Tab):
    def __init__(self, browser: Browser, url: str) -> None:
        super().__init__(browser, ("Page", "DOM", "Runtime", "Log"))
        self.call("Page.navigate", url=url)
        self.wait_for("document.readyState === 'complete'")

    def wait_for(self, expression: str, seconds: float = 10.0) -> None:
        if not wait_until(lambda: self.value(expression), seconds):
            raise TimeoutError(expression)

    def choose(self, files: list[str]) -> None:
        root = self.call("DOM.getDocument")["root"]["nodeId"]
        field = self.call("DOM.querySelector", nodeId=root, selector="input[type=file]")["nodeId"]
        self.call("DOM.setFileInputFiles", nodeId=field, files=files)

    def drop(self, files: list[str]) -> None:
        """Drags files over the page, and lets them fall."""
        dragged = {"items": [], "files": files, "dragOperationsMask": 1}
        for kind in ("dragEnter", "dragOver", "drop"):
            self.call("Input.dispatchDragEvent", type=kind, x=300, y=300, data=dragged)

    def wait_for_uploads(self) -> dict:
        self.wait_for("!document.querySelector('.waiting, .sending')")
        time.sleep(0.3)
        return json.loads(self.value(STATE))

    def save_picture(self, path: pathlib.Path, width: int, scheme: str) -> None:
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=560, deviceScaleFactor=1, mobile=False)
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        path.write_bytes(base64.b64decode(self.call("Page.captureScreenshot")["data"]))


def visit(browser: Browser, url: str, files: list[str], dropped: list[str], pictures: pathlib.Path | None) -> dict:
    page = Page(browser, url)
    found = {"first": json.loads(page.value(STATE))}
    page.choose(files)
    found["uploaded"] = page.wait_for_uploads()
    page.choose(files[:1])
    found["again"] = page.wait_for_uploads()
    if pictures:
        for width in (1000, 380):
            for scheme in ("light", "dark"):
                page.save_picture(pictures / f"upload-{width}-{scheme}.png", width, scheme)
    # By the keyboard: the button of the upload that failed has the focus, and Enter presses it.
    page.value("document.querySelector('.failed button').focus()")
    for kind in ("keyDown", "keyUp"):
        page.call("Input.dispatchKeyEvent", type=kind, key="Enter", code="Enter", text="\r", windowsVirtualKeyCode=13)
    page.wait_for("!document.querySelector('.failed')")
    found["both"] = page.wait_for_uploads()
    page.drop(dropped)
    page.wait_for("document.querySelectorAll('.done').length === 5")
    found["dropped"] = page.wait_for_uploads()
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pictures", type=pathlib.Path)
    parser.add_argument("url")
    parser.add_argument("other")
    parser.add_argument("files", nargs="+")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        browser = Browser(folder)
        try:
            found = visit(browser, options.url, options.files[:-1], options.files[-1:], options.pictures)
            other = Page(browser, options.other)
            found["attack"] = json.loads(other.value(ATTACK.replace("TARGET", f"{options.url}stolen.txt")))
            logged = [event["params"]["entry"] for event in browser.events if event.get("method") == "Log.entryAdded"]
            found["violations"] = [entry["text"] for entry in logged if "Content Security Policy" in entry["text"]]
        finally:
            browser.close()
    print(json.dumps(found))


if __name__ == "__main__":
    main()
