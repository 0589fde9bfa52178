"""Uvicorn's suite of WebSockets: what stands in the place of Uvicorn itself for it, and its cases. Their applications are
functions within them, so what runs in a worker is a relay."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import importlib
import inspect
import itertools
import pathlib
import sys
import traceback
import types
import typing
from collections.abc import AsyncIterator, Callable

import pytest

from ..server import Server, free_port
from . import fetching, relay
from .servers import Servers

SECONDS = 10.0
# Cases whose server ends while they go on, or has settings of its own; the others have one together.
ALONE = ("test_shutdown", "test_send_close_on_server_shutdown", "test_server_keepalive_ping_timeout",
         "test_fragmented_message_exceeding_max_size",
         "test_send_binary_data_to_server_bigger_than_default_on_websockets", "test_can_disable_permessage_deflate_extension")


class Config:
    """The application, and what else a case says, as far as it can be set."""

    def __init__(self, app: Callable, port: int = 0, ws_max_size: int | None = None, ws_ping_interval: float | None = None,
                 ws_per_message_deflate: bool = True, **_rest) -> None:
        self.app, self.port = app, port
        given = {"--max-message": ws_max_size, "--websocket-compression": "" if ws_per_message_deflate else "false",
                 "--websocket-ping": ws_ping_interval and f"{ws_ping_interval * 1000:.0f}ms"}
        self.options = [word for option, value in given.items() if value for word in (option, str(value))]


class Suite:
    """The cases, and the server that they have together."""

    def __init__(self, folder: pathlib.Path, websockets: pathlib.Path, servers: Servers) -> None:
        self.servers = servers
        self.path = pathlib.Path(servers.folder.name, "application")
        self.shared = servers.relaying(free_port(), self.path)
        self.stand_in()
        sys.path[:0] = [str(folder), str(websockets / "src")]
        self.module = importlib.import_module("tests.protocols.test_websocket")

    def stand_in(self) -> None:
        names = {
            "uvicorn": {"Config": Config}, "uvicorn._types": {"__getattr__": of_any_type}, "uvicorn.config": {"Config": Config},
            "uvicorn.server": {"ServerState": object}, "uvicorn.protocols.websockets.wsproto_impl": {"WSProtocol": Config},
            "uvicorn.protocols.websockets.websockets_sansio_impl": {"WebSocketsSansIOProtocol": Suite},
            "tests.utils": {"run_server": self.run_server}, "httpx2": {"AsyncClient": fetching.AsyncClient},
        }
        for name, content in names.items():
            sys.modules[name] = types.ModuleType(name)
            vars(sys.modules[name]).update(content)

    def cases(self) -> dict[str, Callable[[], list[str]]]:
        """By name; each gives what was wrong."""
        found = {}
        for name, function in inspect.getmembers(self.module, inspect.iscoroutinefunction):
            if name.startswith("test_"):
                for shape, values in shapes(function):
                    case = functools.partial(self.run, name, function, values)
                    # Some wait a tenth of a second for what takes a busy machine longer.
                    found[f"uvicorn.{name}{shape}"] = lambda case=case: case() and case()
        return found

    def run(self, name: str, function: Callable, values: dict) -> list[str]:
        port = free_port() if name in ALONE else self.shared.port
        offered = {"ws_protocol_cls": Config, "http_protocol_cls": None, "unused_tcp_port": port} | values
        arguments = {name: offered[name] for name in inspect.signature(function).parameters}
        try:
            asyncio.run(asyncio.wait_for(function(**arguments), SECONDS))
        except (Exception, pytest.fail.Exception, pytest.skip.Exception):
            return [traceback.format_exc()]
        return []

    @contextlib.asynccontextmanager
    async def run_server(self, config: Config) -> AsyncIterator["Running"]:
        async with relay.serve(config.app, self.path):
            if config.port == self.shared.port:
                yield Running(self.shared)
                return
            running = Running(self.servers.relaying(config.port, self.path, *config.options))
            try:
                yield running
            finally:
                await running.shutdown()


class Running:
    def __init__(self, server: Server) -> None:
        self.server = server

    async def shutdown(self) -> None:
        await asyncio.to_thread(self.server.__exit__)


def of_any_type(name: str) -> object:
    """Names that only stand behind colons."""
    if name.startswith("__"):
        raise AttributeError(name)
    return typing.Any


def shapes(function: Callable) -> list[tuple[str, dict]]:
    """The parameters of a test, expanded as by pytest: the name and the values of each combination."""
    marks = [mark for mark in getattr(function, "pytestmark", []) if mark.name == "parametrize"]
    if not marks:
        return [("", {})]
    each = []
    for mark in marks:
        names = [name.strip() for name in mark.args[0].split(",")]
        rows = [row if len(names) > 1 else (row,) for row in mark.args[1]]
        ids = mark.kwargs.get("ids") or ["-".join(map(str, row)) for row in rows]
        each.append([(name, dict(zip(names, row))) for name, row in zip(ids, rows)])
    return [(f"[{'-'.join(name for name, _ in chosen)}]", {key: value for _, row in chosen for key, value in row.items()})
            for chosen in itertools.product(*reversed(each))]
