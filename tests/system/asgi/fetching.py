"""As much of a client of HTTP as Uvicorn's suite needs."""

from __future__ import annotations

import asyncio
import http.client
import urllib.parse

SECONDS = 10.0


class Response:
    def __init__(self, response: http.client.HTTPResponse) -> None:
        self.status_code, self.headers, self.content = response.status, response.headers, response.read()
        self.text = self.content.decode(errors="replace")


class AsyncClient:
    async def __aenter__(self) -> "AsyncClient":
        return self

    async def __aexit__(self, *_) -> None:
        pass

    async def get(self, url: str, headers: dict[str, str]) -> Response:
        return await asyncio.to_thread(get, url, headers)


def get(url: str, headers: dict[str, str]) -> Response:
    address = urllib.parse.urlsplit(url)
    connection = http.client.HTTPConnection(address.hostname, address.port, timeout=SECONDS)
    connection.request("GET", address.path or "/", headers=headers)
    return Response(connection.getresponse())
