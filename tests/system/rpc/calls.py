"""Calls of the service, and their expected results. Each case gets a channel and yields the faults that it finds."""

from __future__ import annotations

import queue
import time
from collections.abc import Iterator
from concurrent import futures

import grpc

from .service import NAME

PATIENCE = 30.0
CHATS, ROUNDS = 100, 20


def unary(channel: grpc.Channel) -> Iterator[str]:
    echo = channel.unary_unary(f"/{NAME}/Echo")
    for length in (0, 1, 100, 70_000, 3_000_000):
        message = bytes(number % 251 for number in range(length))
        answer, call = echo.with_call(message, timeout=PATIENCE, metadata=(("x-said", f"é{length}".encode("ascii", "replace").decode()),))
        if answer != message:
            yield f"{length} bytes came back as {len(answer)}"
        first, last = dict(call.initial_metadata()), dict(call.trailing_metadata())
        if first.get("x-first") != f"?{length}" or last.get("x-last") != "told" or last.get("x-binary-bin") != bytes(range(256)):
            yield f"metadata are {first} and {last}"


def server_streaming(channel: grpc.Channel) -> Iterator[str]:
    count = channel.unary_stream(f"/{NAME}/Count")
    for messages, length in ((0, 0), (1, 0), (1000, 10), (200, 100_000)):
        got = list(count(f"{messages} {length}".encode(), timeout=PATIENCE))
        if got != [bytes([number % 251]) * length for number in range(messages)]:
            yield f"{messages} messages of {length} bytes came as {len(got)}"


def client_streaming(channel: grpc.Channel) -> Iterator[str]:
    total = channel.stream_unary(f"/{NAME}/Total")
    for messages, length in ((0, 0), (1000, 10), (200, 100_000)):
        answer = total((b"x" * length for _ in range(messages)), timeout=PATIENCE)
        if answer != f"{messages} {messages * length}".encode():
            yield f"{messages} messages of {length} bytes came as {answer}"


def both_ways(channel: grpc.Channel) -> Iterator[str]:
    """Each message is an answer to the one before; many such talks at once."""
    def talk(number: int) -> bool:
        said: queue.Queue[bytes | None] = queue.Queue()
        received = channel.stream_stream(f"/{NAME}/Chat")(iter(said.get, None), timeout=PATIENCE)
        for turn in range(ROUNDS):
            message = f"{number} {turn}".encode()
            said.put(message)
            if next(received) != b"heard " + message:
                return False
        said.put(None)
        return next(received, None) is None

    with futures.ThreadPoolExecutor(CHATS) as pool:
        if not all(pool.map(talk, range(CHATS))):
            yield "a talk went wrong"


def errors(channel: grpc.Channel) -> Iterator[str]:
    """In trailers alone, and behind messages."""
    for before in (0, 3):
        got = 0
        try:
            for _ in channel.unary_stream(f"/{NAME}/Fail")(str(before).encode(), timeout=PATIENCE):
                got += 1
            yield "no error"
        except grpc.RpcError as error:
            if (error.code(), error.details()) != (grpc.StatusCode.RESOURCE_EXHAUSTED, "50 % was too much – indeed"):
                yield f"the error is {error.code()}: {error.details()}"
            if dict(error.trailing_metadata()).get("x-why") != "a test":
                yield f"the trailers are {error.trailing_metadata()}"
        if got != before:
            yield f"{got} messages before the error instead of {before}"
    try:
        channel.unary_unary(f"/{NAME}/Nothing")(b"", timeout=PATIENCE)
        yield "a method that is not there answers"
    except grpc.RpcError as error:
        if error.code() != grpc.StatusCode.UNIMPLEMENTED:
            yield f"a method that is not there says {error.code()}"


def deadlines(channel: grpc.Channel) -> Iterator[str]:
    """The client's deadline passes, and the server learns of it."""
    began = time.monotonic()
    try:
        list(channel.unary_stream(f"/{NAME}/Wait")(b"", timeout=0.5))
        yield "no error"
    except grpc.RpcError as error:
        if error.code() != grpc.StatusCode.DEADLINE_EXCEEDED or time.monotonic() - began > PATIENCE:
            yield f"{error.code()} after {time.monotonic() - began:.1f} s"
    yield from cancellation_received(channel)


def cancelling(channel: grpc.Channel) -> Iterator[str]:
    # Not the call of the case before.
    waits(channel, b"0")
    call = channel.unary_stream(f"/{NAME}/Wait")(b"", timeout=PATIENCE)
    if next(call) != b"waiting":
        yield "the first message is wrong"
    # A server of grpcio overlooks, in one of 60 cases, that a call is cancelled while it still sends: without a proxy too.
    if not waits(channel, b"10"):
        yield "the server does not say that it waits"
    call.cancel()
    yield from cancellation_received(channel)


def waits(channel: grpc.Channel, seconds: bytes) -> bool:
    return channel.unary_unary(f"/{NAME}/Waits")(seconds, timeout=PATIENCE) == b"yes"


def cancellation_received(channel: grpc.Channel) -> Iterator[str]:
    if channel.unary_unary(f"/{NAME}/Left")(b"10", timeout=PATIENCE) != b"yes":
        yield "the server did not hear that its client had left"


CASES = (unary, server_streaming, client_streaming, both_ways, errors, deadlines, cancelling)
