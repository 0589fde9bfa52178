"""A login in Chromium with a real provider, and what remains of it: reloads, restarts, a provider that is down, a logout."""

from __future__ import annotations

import json
import os
import pathlib
import re
import signal
import ssl
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager

from ..server import Server, free_port, program
from ..verdict import Verdict
from .provider import CLIENT, EMAIL, PASSWORD, SECRET, SUBJECT, USER, Provider

HERE = pathlib.Path(__file__).resolve().parents[2]
CALLBACK, LOGOUT = "/.serow/login/callback", "/.serow/login/logout"
SESSION = "__Host-serow-login-session"
# How each JWT begins; the access and refresh tokens of this provider are not JWTs, and are not known here.
TOKEN = re.compile(r"eyJ[A-Za-z0-9_-]{10,}|(?:id|access|refresh)_token", re.IGNORECASE)
APPLICATION = """def application(environ, start_response):
    start_response('200 OK', [('Content-Type', 'text/plain')])
    names = ('REMOTE_USER', 'HTTP_REMOTE_EMAIL', 'HTTP_COOKIE')
    return ['\\n'.join(name + '=' + environ.get(name, '-') for name in names).encode()]
"""


class Chromium:
    """The browser in a process of its own: it takes the descriptors 3 and 4."""

    def __init__(self) -> None:
        self.process = subprocess.Popen([sys.executable, "-m", "system.login.browser"], cwd=HERE, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)

    def __call__(self, tab: str, *order: str):
        assert self.process.stdin and self.process.stdout
        self.process.stdin.write(json.dumps([tab, *order]) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        answer = json.loads(line) if line else {"error": "the browser is gone"}
        if "error" in answer:
            raise RuntimeError(f"{tab} {order}: {answer['error']}")
        return answer["found"]

    def close(self) -> None:
        assert self.process.stdin
        self.process.stdin.close()
        self.process.wait(30)


def run(verdict: Verdict, place: pathlib.Path) -> None:
    port = free_port()
    site = f"https://localhost:{port}"
    (place / "app.py").write_text(APPLICATION)
    (place / "public").mkdir()
    (place / "public/a").write_text("open")
    (place / "client.secret").write_text(SECRET)
    (place / "client.secret").chmod(0o600)
    with Provider(site + CALLBACK) as provider, browsing() as chromium:
        (place / "serow.toml").write_text(settings(port, provider.issuer))
        with serve(place, port) as server:
            log_in(verdict, chromium, site)
            other_browser(verdict, chromium, site)
            os.kill(server.pid, signal.SIGHUP)
            wait_for(lambda: "generation 2 is serving" in server.said(), "the reload")
            verdict.check(user_of(chromium, site) == SUBJECT, "a reload ended the session")
            said = server.said()
        with serve(place, port) as server:
            verdict.check(user_of(chromium, site) == SUBJECT, "a restart ended the session")
            provider_down(verdict, chromium, site, provider)
            said += server.said()
        # The provider is down since the start: its endpoints are not known.
        with serve(place, port) as server:
            verdict.check(user_of(chromium, site) == SUBJECT, "a provider that is down ended the session")
            status, page = ask(f"{site}/app", {"Accept": "text/html"})
            verdict.check(status == 503 and "Logging in is not possible" in page, f"without endpoints: {status} {page[:200]}")
            provider.start()
            wait_for(lambda: ask(f"{site}/app", {"Accept": "text/html"})[0] == 303, "the provider is known again")
            log_out(verdict, chromium, site, provider)
            said += server.said()
        verdict.check(not server.panics(), f"the server: {server.panics()}")
        urls = chromium("first", "urls") + chromium("other", "urls")
    # The code is no token: it is of use once, and only with the verifier that no URL has. This provider's looks like a JWT.
    code = re.search(r"[?&]code=([^&]+)", " ".join(url for url, _ in urls))
    verdict.check(code is not None, "there is no callback")
    without_code = code[1] if code else ""
    with_tokens = {text for pair in urls for text in pair if TOKEN.search(text.replace(without_code, ""))}
    verdict.check(not with_tokens, f"tokens in URLs: {with_tokens}")
    referrers = [pair for pair in urls if "code=" in pair[1] or "state=" in pair[1]]
    verdict.check(not referrers, f"codes in Referer: {referrers}")
    logged = said + (place / "access.log").read_text()
    found = TOKEN.search(logged.replace(without_code, ""))
    verdict.check(found is None and SECRET not in said, f"in the logs: {found}")
    verdict.figure(f"Chromium logs in: {len(urls)} requests and {len(logged)} bytes of logs were searched for tokens")


def settings(port: int, issuer: str) -> str:
    return f"""listen = "127.0.0.1:{port}"
tls = "self-signed"
workers = 1
access-log = "access.log"
[[site]]
login = {{ issuer = "{issuer}", client-id = "{CLIENT}", client-secret-file = "client.secret", headers = {{ Remote-Email = "email" }} }}
[[site.route]]
path = "/open/*"
login = false
files = {{ root = "public", strip-prefix = true }}
[[site.route]]
path = "/*"
app = {{ application = "app.py" }}
"""


def serve(place: pathlib.Path, port: int) -> Server:
    os.environ["XDG_STATE_HOME"] = str(place / "state")
    return Server([program("serow"), "run", "-c", place / "serow.toml"], port)


@contextmanager
def browsing() -> Iterator[Chromium]:
    chromium = Chromium()
    try:
        yield chromium
    finally:
        chromium.close()


def log_in(verdict: Verdict, chromium: Chromium, site: str) -> None:
    page = f"{site}/app?from=//evil.example"
    chromium("first", "open", page)
    form = chromium("first", "value", "location.href")
    verdict.check("/login/username" in form, f"the browser is not at the provider: {form}")
    chromium("first", "log-in", USER, PASSWORD)
    chromium("first", "wait", "document.body.innerText.includes('REMOTE_USER')")
    found = chromium("first", "value", "location.href")
    verdict.check(found == page, f"the login returned to {found}")
    state = chromium("first", "open", page)
    verdict.check(f"REMOTE_USER={SUBJECT}\n" in state["text"], f"the application: {state['text']}")
    verdict.check(f"HTTP_REMOTE_EMAIL={EMAIL}\n" in state["text"], f"the application: {state['text']}")
    verdict.check("HTTP_COOKIE=-" in state["text"], f"the application sees cookies: {state['text']}")
    verdict.check((state["cookie"], state["local"], state["session"]) == ("", [], []), f"a script sees {state}")
    own = [cookie for cookie in state["cookies"] if "serow-login" in cookie["name"]]
    verdict.check([cookie["name"] for cookie in own] == [SESSION], f"cookies: {own}")
    for cookie in own:
        right = cookie["httpOnly"] and cookie["secure"] and cookie.get("sameSite") == "Lax" and cookie["domain"] == "localhost"
        verdict.check(right, f"the cookie is {cookie}")
        verdict.check(not TOKEN.search(cookie["value"]) and EMAIL not in cookie["value"], f"the cookie has {cookie['value']}")


def other_browser(verdict: Verdict, chromium: Chromium, site: str) -> None:
    """A browser without a session reaches open routes only, and the callback of another browser does not log it in."""
    callbacks = [url for url, _ in chromium("first", "urls") if CALLBACK in url]
    verdict.check(len(callbacks) == 1, f"callbacks: {callbacks}")
    state = chromium("other", "open", callbacks[0])
    verdict.check("The login was not finished" in state["text"] and not state["cookies"], f"a stolen callback: {state}")
    again = chromium("first", "open", callbacks[0])
    verdict.check(f"REMOTE_USER={SUBJECT}" in again["text"], f"a callback that is opened again: {again['text']}")
    verdict.check(ask(f"{site}/app", {"Accept": "application/json"})[0] == 401, "a program is led to the login")
    verdict.check(ask(f"{site}/open/a", {})[0] == 200, "a route without login needs one")
    status = chromium("first", "value", "fetch('/app').then((response) => response.status)")
    verdict.check(status == 200, f"a script with a session gets {status}")


def provider_down(verdict: Verdict, chromium: Chromium, site: str, provider: Provider) -> None:
    provider.stop()
    verdict.check(user_of(chromium, site) == SUBJECT, "a provider that is down ended the session")


def log_out(verdict: Verdict, chromium: Chromium, site: str, provider: Provider) -> None:
    chromium("first", "open", site + LOGOUT)
    chromium("first", "value", "document.querySelector('button').click()")
    chromium("first", "wait", f"location.href.startsWith('{provider.issuer}')")
    cookies = [cookie["name"] for cookie in chromium("first", "open", f"{site}/open/a")["cookies"]]
    verdict.check(SESSION not in cookies, f"after the logout, there are {cookies}")
    chromium("first", "open", f"{site}/app")
    found = chromium("first", "value", "location.href")
    verdict.check(found.startswith(provider.issuer), f"after the logout, {found} is open")


def user_of(chromium: Chromium, site: str) -> str:
    text = chromium("first", "open", f"{site}/app")["text"]
    found = re.search(r"REMOTE_USER=(.*)", text)
    return found[1] if found else text[:200]


class Unfollowed(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_):
        return None


def ask(url: str, headers: dict[str, str]) -> tuple[int, str]:
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    opener = urllib.request.build_opener(Unfollowed, urllib.request.HTTPSHandler(context=context))
    try:
        with opener.open(urllib.request.Request(url, headers=headers), timeout=15) as response:
            return response.status, response.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def wait_for(question, what: str) -> None:
    until = time.monotonic() + 20
    while not question():
        if time.monotonic() > until:
            raise TimeoutError(what)
        time.sleep(0.1)
