"""A load balancer for validations: each connection goes to any server, and to another one if a server is killed meanwhile.

An authority gives a validation up whose connection is reset; that is about the kernel and not about the fleet.
"""

from __future__ import annotations

import random
import selectors
import socket
import threading

SECONDS = 5.0


class Balancer:
    """Runs while the `with` block does. `ports` are those of the servers."""

    def __init__(self) -> None:
        self.ports: list[int] = []
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=256)
        self.port = self.listener.getsockname()[1]
        self.used: set[int] = set()

    def __enter__(self) -> "Balancer":
        threading.Thread(target=self.accept, daemon=True).start()
        return self

    def __exit__(self, *_) -> None:
        self.listener.close()

    def accept(self) -> None:
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=(client,), daemon=True).start()

    def serve(self, client: socket.socket) -> None:
        with client:
            client.settimeout(SECONDS)
            try:
                first = client.recv(65536)
                if not first:
                    return
                for port in random.sample(self.ports, len(self.ports)):
                    if self.relay(client, first, port):
                        self.used.add(port)
                        return
            except OSError:
                pass

    def relay(self, client: socket.socket, first: bytes, port: int) -> bool:
        """Returns whether the server has answered; an alert is an answer as well."""
        try:
            server = socket.create_connection(("127.0.0.1", port), SECONDS)
        except OSError:
            return False
        with server:
            try:
                server.sendall(first)
                answer = server.recv(65536)
            except OSError:
                return False
            if not answer:
                return False
            client.sendall(answer)
            with selectors.DefaultSelector() as selector:
                selector.register(client, selectors.EVENT_READ, server)
                selector.register(server, selectors.EVENT_READ, client)
                while ready := selector.select(SECONDS):
                    for key, _ in ready:
                        data = key.fileobj.recv(65536)
                        if not data:
                            return True
                        key.data.sendall(data)
        return True
