"""An application that is elsewhere: what a worker receives and what it is to send goes over a unix socket. Both ends are here."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import os
import pathlib
import pickle
from collections.abc import AsyncIterator, Callable

LENGTH = 8  # bytes before each message
SECONDS = 2.0


async def app(scope, receive, send):
    """In the worker: does what it is told, and says what came of it."""
    if scope["type"] == "lifespan":
        return
    reader, writer = await asyncio.open_unix_connection(os.environ["APPLICATION"])

    async def do(number, what):
        try:
            write(writer, (number, await what, None))
        except OSError as error:
            write(writer, (number, None, OSError(str(error))))  # whatever kind of it this is
        except Exception as error:
            write(writer, (number, None, error))

    write(writer, scope)
    doing = []
    try:
        while True:
            number, order, message = await read(reader)
            if order == "return":
                return
            if order == "raise":
                raise RuntimeError(message)
            doing.append(asyncio.create_task(do(number, receive() if order == "receive" else send(message))))
    finally:
        for task in doing:
            task.cancel()
        writer.close()


@contextlib.asynccontextmanager
async def serve(application: Callable, path: pathlib.Path) -> AsyncIterator[None]:
    """In the test: runs the application for each worker's connection, and lets it end."""
    running = set()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        running.add(asyncio.current_task())
        numbers, waiting = itertools.count(1), {}

        async def ask(order: str, message: dict | None = None):
            number = next(numbers)
            waiting[number] = asyncio.get_running_loop().create_future()
            write(writer, (number, order, message))
            return without_reason(await waiting[number])

        async def listen() -> None:
            while True:
                number, result, error = await read(reader)
                waiting[number].set_exception(error) if error else waiting[number].set_result(result)

        scope = await read(reader)
        listening = asyncio.create_task(listen())
        try:
            await application(scope, lambda: ask("receive"), lambda message: ask("send", message))
            write(writer, (0, "return", None))
        except Exception as error:
            write(writer, (0, "raise", repr(error)))
        finally:
            listening.cancel()

    path.unlink(missing_ok=True)
    async with await asyncio.start_unix_server(answer, path):
        yield
        if running:
            await asyncio.wait(running, timeout=SECONDS)


def without_reason(message: dict | None) -> dict | None:
    """Where no frame came that could say a reason, Uvicorn leaves it out, and it is empty otherwise; both may be."""
    if message and message.get("code") in (1006, 1012) and not message["reason"]:
        del message["reason"]
    return message


def write(writer: asyncio.StreamWriter, message: object) -> None:
    packet = pickle.dumps(message)
    writer.write(len(packet).to_bytes(LENGTH, "big") + packet)


async def read(reader: asyncio.StreamReader) -> object:
    length = int.from_bytes(await reader.readexactly(LENGTH), "big")
    return pickle.loads(await reader.readexactly(length))
