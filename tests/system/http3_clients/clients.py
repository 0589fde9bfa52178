"""The clients, and what each of them cannot do.

A client is a program with the arguments VERB URL AUTHORITY [ARGUMENT…], where AUTHORITY is the file of the certificate
authority. The last line that it prints is an object in JSON; it ends with 0 unless it had no response. The verbs:

  get                        a response: its status, the SHA-256 of its body, and the protocol if the client tells it
  post FILE                  the same after an upload; `sent` is the SHA-256 of a body that the client made itself
  many COUNT                 requests, up to 100 at a time: how many succeeded
  twice                      the response over a second connection; `resumed` if the client tells it
  update                     a response during which the client changes keys, and how often it did
  migrate                    a response during which the client changes ports and connection IDs, and how often it did
  during SECONDS AT_A_TIME   requests without a pause: when each was answered, and what failed; prints `ready` after the
                             first; `unsent` of those that failed the client did not send
"""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable

from . import tools

NO_KEYS = "does not change keys on request"
NO_MIGRATION = "does not migrate on request"


@dataclasses.dataclass(frozen=True)
class Client:
    name: str
    # Whose QUIC and HTTP/3 it is.
    stack: str
    command: Callable[[], list[str]]
    cannot: dict[str, str] = dataclasses.field(default_factory=dict)
    is_browser: bool = False


def module(name: str, *arguments: str) -> Callable[[], list[str]]:
    return lambda: [sys.executable, "-m", f"system.http3_clients.{name}", *arguments]


def browser(name: str, program: str) -> Callable[[], list[str]]:
    def command() -> list[str]:
        tools.find(program)
        return module("browser_client", name)()
    return command


CLIENTS = (
    Client("aioquic", "aioquic", module("aioquic_client"), {"crash": "does not know stateless resets"}),
    Client("libcurl", "ngtcp2, nghttp3", module("curl_client"), {"key update": NO_KEYS, "migration": NO_MIGRATION}),
    Client("quic-go", "quic-go", lambda: [str(tools.quic_go())]),
    Client("Chromium", "Google's QUICHE", browser("Chromium", "chromium"),
           {"key update": NO_KEYS, "migration": NO_MIGRATION}, is_browser=True),
    Client("Firefox", "neqo", browser("Firefox", "firefox-esr"),
           {"key update": NO_KEYS, "migration": NO_MIGRATION}, is_browser=True),
    Client("quiche", "Cloudflare's quiche", lambda: [str(tools.quiche())], {"key update": NO_KEYS}),
)
