"""Chromium and Firefox, as programs: `clients.py` describes the arguments and the output; the first is the browser's name.

A page of the server does the requests with `fetch`, and says by which protocol they came."""

from __future__ import annotations

import base64
import hashlib
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import time
import urllib.parse

from ..http2 import browser
from ..http2.tools import Failed

PATIENCE = 75.0
# Until Serow has closed an idle connection, and the browser knows.
PAUSE = 3.0
UPLOAD = 3_000_000

SCRIPT = """
const digest = async body => [...new Uint8Array(await crypto.subtle.digest("SHA-256", body))]
    .map(byte => byte.toString(16).padStart(2, "0")).join("");
const protocols = () =>
    [...new Set(performance.getEntriesByType("resource").map(entry => entry.nextHopProtocol))].join(" ");
const now = () => (performance.timeOrigin + performance.now()) / 1000;
const request = async (path, options) => {
    const response = await fetch(path, {cache: "no-store", ...options});
    return {status: response.status, body: await digest(await response.arrayBuffer()), protocol: protocols()};
};
const verbs = {
    get: path => request(path),
    async post(path, size) {
        const body = new Uint8Array(size);
        for (let at = 0; at < size; at += 50000) crypto.getRandomValues(body.subarray(at, Math.min(at + 50000, size)));
        return {...await request(path, {method: "POST", body}), sent: await digest(body)};
    },
    async many(path, count) {
        performance.setResourceTimingBufferSize(2 * count);
        let begun = 0, succeeded = 0;
        const loop = async () => {
            while (begun < count) {
                begun += 1;
                const response = await fetch(path + "?" + begun, {cache: "no-store"});
                await response.arrayBuffer();
                succeeded += response.status == 200;
            }
        };
        await Promise.all(Array.from({length: 100}, loop));
        return {succeeded, protocol: protocols()};
    },
    async during(path, seconds, loops) {
        const until = now() + seconds, answered = [], failed = [];
        const loop = async () => {
            while (now() < until) {
                try {
                    const response = await fetch(path, {cache: "no-store"});
                    await response.arrayBuffer();
                    answered.push(now());
                    window.first = true;
                } catch (error) {
                    failed.push(now().toFixed(3) + " " + error);
                    await new Promise(resolve => setTimeout(resolve, 10));
                }
            }
        };
        await Promise.all(Array.from({length: loops}, loop));
        return {answered, failed};
    },
};
window.first = false;
window.result = null;
verbs[VERB](...ARGUMENTS).catch(error => ({error: String(error)}))
    .then(found => window.result = JSON.stringify(found));
"""


class Chromium(browser.Chromium):
    """Trusts the key of the certificate; without UDP it would fail, as there is no TCP port."""

    def __init__(self, work: pathlib.Path, host: str, port: int, authority: pathlib.Path) -> None:
        command = ["openssl", "x509", "-in", str(authority.parent / "cert.pem"), "-pubkey", "-noout"]
        key = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        key = hashlib.sha256(decoded(key)).digest()
        super().__init__(work, f"--origin-to-force-quic-on={host}:{port}",
                         f"--host-resolver-rules=MAP {host} 127.0.0.1",
                         f"--ignore-certificate-errors-spki-list={base64.b64encode(key).decode()}", "--enable-quic")

    def open(self, url: str) -> None:
        self.browser.call("Page.enable", self.session)
        said = self.browser.call("Page.navigate", self.session, url=url)
        if said.get("errorText"):
            raise Failed(said["errorText"])
        until = time.monotonic() + PATIENCE
        while self.evaluate("document.readyState + location.protocol") != "completehttps:" and time.monotonic() < until:
            time.sleep(0.05)

    def evaluate(self, expression: str):
        said = self.browser.call("Runtime.evaluate", self.session, expression=expression)
        if "exceptionDetails" in said:
            raise Failed(str(said["exceptionDetails"])[:300])
        return said["result"].get("value")


class Firefox(browser.Firefox):
    """The authority becomes one of its own. The preference is the Alt-Svc field that it would have had from TCP."""

    def __init__(self, work: pathlib.Path, host: str, port: int, authority: pathlib.Path) -> None:
        super().__init__(work, {
            "network.dns.localDomains": host, "network.dns.disableIPv6": True, "network.http.http3.enable": True,
            "network.http.http3.alt-svc-mapping-for-testing": f"{host};h3=:{port}",
            "network.http.http3.disable_when_third_party_roots_found": False,
        }, "--remote-allow-system-access")
        certificate = base64.b64encode(decoded(authority.read_text())).decode()
        self.call("Marionette:SetContext", value="chrome")
        self.execute("Cc['@mozilla.org/security/x509certdb;1'].getService(Ci.nsIX509CertDB)"
                     ".addCertFromBase64(arguments[0], 'C,,')", certificate)
        self.call("Marionette:SetContext", value="content")

    def open(self, url: str) -> None:
        self.call("WebDriver:Navigate", url=url)

    def execute(self, script: str, *arguments: str):
        return self.call("WebDriver:ExecuteScript", script=script, args=list(arguments), sandbox=None)["value"]

    def evaluate(self, expression: str):
        # Marionette gives each script a scope of its own, as a function.
        return self.execute(f"return window.eval({json.dumps(expression)})")


def decoded(pem: str) -> bytes:
    return base64.b64decode(re.sub(r"-----[A-Z ]+-----|\s", "", pem))


def run(one: Chromium | Firefox, verb: str, path: str, *arguments) -> dict:
    script = SCRIPT.replace("VERB", json.dumps(verb)).replace("ARGUMENTS", json.dumps([path, *arguments]))
    one.evaluate(f"(() => {{{script}}})(), 1")
    until, ready = time.monotonic() + PATIENCE, verb != "during"
    while time.monotonic() < until:
        if not ready and one.evaluate("window.first"):
            ready = True
            print("ready", flush=True)
        if found := one.evaluate("window.result"):
            return json.loads(found)
        time.sleep(0.1)
    raise Failed("the page is not done")


def unsent(log: pathlib.Path) -> int:
    """Requests that Chromium ended before it sent them, as its own log of the network has it."""
    recorded = json.loads(log.read_text())
    kinds = {number: name for name, number in recorded["constants"]["logEventTypes"].items()}
    closed = recorded["constants"]["netError"]["ERR_CONNECTION_CLOSED"]
    sent, failed = set(), set()
    for event in recorded["events"]:
        source, kind = event["source"]["id"], kinds.get(event["type"])
        if kind == "HTTP_TRANSACTION_QUIC_SEND_REQUEST_HEADERS":
            sent.add(source)
        elif kind == "URL_REQUEST_START_JOB" and event.get("params", {}).get("net_error") == closed:
            failed.add(source)
    return len(failed - sent)


def main() -> None:
    name, verb, url, authority, *arguments = sys.argv[1:]
    parts = urllib.parse.urlsplit(url)
    made = {"Chromium": Chromium, "Firefox": Firefox}[name]
    with tempfile.TemporaryDirectory(prefix="serow-browser-", ignore_cleanup_errors=True) as work:
        with made(pathlib.Path(work), parts.hostname, parts.port, pathlib.Path(authority)) as one:
            one.open(f"https://{parts.netloc}/")
            if verb == "twice":
                time.sleep(PAUSE)
                found = run(one, "get", parts.path)
            elif verb == "post":
                found = run(one, "post", parts.path, UPLOAD)
            else:
                found = run(one, verb, parts.path, *map(float, arguments))
        # Chromium completes its log when it ends.
        if name == "Chromium" and "failed" in found:
            found["unsent"] = unsent(pathlib.Path(work, "net-log.json"))
    if "error" in found:
        sys.exit(f"{name}: {found['error']}")
    print(json.dumps(found))


if __name__ == "__main__":
    main()
