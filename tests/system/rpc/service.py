#!/usr/bin/python3
"""A service whose messages are bytes: PORT [KEY CERTIFICATE]."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from concurrent import futures

import grpc

NAME = "serow.Test"
LARGEST = [("grpc.max_receive_message_length", 64 << 20), ("grpc.max_send_message_length", 64 << 20)]


class Service:
    def __init__(self) -> None:
        # One for each call of `wait` that ended by its client.
        self.waiting, self.cancelled = threading.Semaphore(0), threading.Semaphore(0)

    def echo(self, request: bytes, context: grpc.ServicerContext) -> bytes:
        said = dict(context.invocation_metadata())
        context.send_initial_metadata((("x-first", said.get("x-said", "")),))
        context.set_trailing_metadata((("x-last", "told"), ("x-binary-bin", bytes(range(256)))))
        return request

    def count(self, request: bytes, context: grpc.ServicerContext) -> Iterator[bytes]:
        """As many messages as it is told, of as many bytes."""
        messages, length = map(int, request.split())
        for number in range(messages):
            yield bytes([number % 251]) * length

    def total(self, requests: Iterator[bytes], context: grpc.ServicerContext) -> bytes:
        messages = [len(message) for message in requests]
        return f"{len(messages)} {sum(messages)}".encode()

    def chat(self, requests: Iterator[bytes], context: grpc.ServicerContext) -> Iterator[bytes]:
        for message in requests:
            yield b"heard " + message

    def fail(self, request: bytes, context: grpc.ServicerContext) -> Iterator[bytes]:
        """Fails after as many messages as it is told."""
        for _ in range(int(request)):
            yield b"before"
        context.set_trailing_metadata((("x-why", "a test"),))
        context.abort(grpc.StatusCode.RESOURCE_EXHAUSTED, "50 % was too much – indeed")

    def wait(self, request: bytes, context: grpc.ServicerContext) -> Iterator[bytes]:
        """One message, and nothing more until the client leaves."""
        over = threading.Event()
        if not context.add_callback(over.set):
            over.set()
        yield b"waiting"
        # Resumed once the message is sent.
        self.waiting.release()
        over.wait()
        self.cancelled.release()

    def waits(self, request: bytes, context: grpc.ServicerContext) -> bytes:
        """Waits until a call of `wait` has sent its message."""
        return b"yes" if self.waiting.acquire(timeout=float(request)) else b"no"

    def left(self, request: bytes, context: grpc.ServicerContext) -> bytes:
        """Waits until a call of `wait` has ended."""
        return b"yes" if self.cancelled.acquire(timeout=float(request)) else b"no"


def handlers(service: Service) -> grpc.GenericRpcHandler:
    return grpc.method_handlers_generic_handler(NAME, {
        "Echo": grpc.unary_unary_rpc_method_handler(service.echo),
        "Count": grpc.unary_stream_rpc_method_handler(service.count),
        "Total": grpc.stream_unary_rpc_method_handler(service.total),
        "Chat": grpc.stream_stream_rpc_method_handler(service.chat),
        "Fail": grpc.unary_stream_rpc_method_handler(service.fail),
        "Wait": grpc.unary_stream_rpc_method_handler(service.wait),
        "Waits": grpc.unary_unary_rpc_method_handler(service.waits),
        "Left": grpc.unary_unary_rpc_method_handler(service.left),
    })


def main() -> None:
    port, *files = sys.argv[1:]
    server = grpc.server(futures.ThreadPoolExecutor(200), options=LARGEST)
    server.add_generic_rpc_handlers((handlers(Service()),))
    if files:
        key, certificate = (open(file, "rb").read() for file in files)
        server.add_secure_port(f"127.0.0.1:{port}", grpc.ssl_server_credentials([(key, certificate)]))
    else:
        server.add_insecure_port(f"127.0.0.1:{port}")
    server.start()
    server.wait_for_termination()


if __name__ == "__main__":
    main()
