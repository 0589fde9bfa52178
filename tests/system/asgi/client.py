"""The client that the suite sends requests with."""

from __future__ import annotations

import http.client

# Fields that a server adds to each response; Daphne's are others.
ADDED = ("date", "content-length", "connection")


class Connection(http.client.HTTPConnection):
    """HTTP/1.1 must name a host (RFC 9112 §3.2), and many cases do not."""

    has_host = False

    def putheader(self, header: str | bytes, *values) -> None:
        name = header if isinstance(header, bytes) else header.encode()
        self.has_host |= name.lower() == b"host"
        super().putheader(header, *values)

    def endheaders(self, *arguments, **named) -> None:
        if not self.has_host:
            super().putheader("Host", "unsaid")
        super().endheaders(*arguments, **named)

    def getresponse(self) -> http.client.HTTPResponse:
        response = super().getresponse()
        for name in ADDED:
            del response.headers[name]
        return response
