"""The resident memory of a server: what it takes at most while something lasts."""

from __future__ import annotations

import ctypes
import threading

from .server import Server

# prctl(2).
PR_SET_THP_DISABLE = 41
LIBRARY = ctypes.CDLL(None)


def without_huge_pages() -> None:
    """Of the process that begins: the kernel puts 2 MiB together where it finds some pages in use, whenever it likes."""
    LIBRARY.prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0)


class Watch:
    """How much memory a server takes at most while the `with` block lasts."""

    def __init__(self, server: Server) -> None:
        self.server, self.most, self.looks = server, 0, 0
        self.is_over = threading.Event()
        self.thread = threading.Thread(target=self.run, daemon=True)

    def run(self) -> None:
        while not self.is_over.wait(0.02):
            self.most = max(self.most, self.server.memory())
            self.looks += 1

    def __enter__(self) -> "Watch":
        self.thread.start()
        return self

    def __exit__(self, *_) -> None:
        self.is_over.set()
        self.thread.join()
