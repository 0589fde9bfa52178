"""TLS as a client that trusts anybody: what is tested has certificates of its own making."""

from __future__ import annotations

import functools
import ssl


@functools.cache
def context(protocol: str) -> ssl.SSLContext:
    """Asks for one protocol by ALPN.

    Made once, and without the system's certificates: to read those takes a client longer than a server takes for the whole
    handshake, and would be measured as the server's time.
    """
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    made.check_hostname, made.verify_mode = False, ssl.CERT_NONE
    made.set_alpn_protocols([protocol])
    return made
