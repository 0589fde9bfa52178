"""Redis as a pair with sentinels, and as a cluster."""

from __future__ import annotations

import contextlib
import pathlib
import subprocess
import time

from ..polling import attempts
from ..redis import Redis
from ..server import Broken, free_port

WAIT_SECONDS = 30.0


class Node(Redis):
    """A server with further options."""

    def __init__(self, folder: pathlib.Path, *options: str) -> None:
        super().__init__(folder)
        # Nodes of a cluster listen on a port that is higher by 10,000, too.
        while self.port > 55_535:
            self.port = free_port()
        self.options = options
        folder.mkdir()

    def start(self) -> None:
        text = "\n".join([f"port {self.port}", "bind 127.0.0.1", 'save ""', "appendonly no", f"dir {self.folder}", *self.options])
        path = self.folder / "redis.conf"
        # Sentinels and nodes of clusters write into theirs.
        if not path.exists():
            path.write_text(text + "\n")
        sentinel = ["--sentinel"] if any(line.startswith("sentinel") for line in self.options) else []
        with open(self.folder / "redis.log", "ab") as log:
            self.process = subprocess.Popen(["redis-server", str(path), *sentinel], stdin=subprocess.DEVNULL,
                                            stdout=log, stderr=log, start_new_session=True)
        eventually("redis-server starts", lambda: self.command("PING") == b"PONG")


class Sentinels:
    """A primary, a replica, and three sentinels, while the `with` block runs."""

    def __init__(self, folder: pathlib.Path) -> None:
        self.primary = Node(folder / "primary")
        self.replica = Node(folder / "replica", f"replicaof 127.0.0.1 {self.primary.port}", "repl-diskless-sync-delay 0")
        monitor = [f"sentinel monitor main 127.0.0.1 {self.primary.port} 2", "sentinel down-after-milliseconds main 1500",
                   "sentinel failover-timeout main 6000"]
        self.sentinels = [Node(folder / f"sentinel-{number}", *monitor) for number in range(3)]
        self.nodes = [self.primary, self.replica, *self.sentinels]

    @property
    def url(self) -> str:
        return "redis+sentinel://" + ",".join(f"127.0.0.1:{node.port}" for node in self.sentinels) + "/main"

    def __enter__(self) -> "Sentinels":
        try:
            for node in self.nodes:
                node.start()
            eventually("the replica is in sync", lambda: b"master_link_status:up" in self.replica.command("INFO", "replication"))
            for sentinel in self.sentinels:
                eventually("the sentinels know one another",
                           lambda: b"slaves=1,sentinels=3" in sentinel.command("INFO", "sentinel"))
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_) -> None:
        for node in self.nodes:
            node.kill()


class Cluster:
    """Three primaries with a replica each."""

    def __init__(self, folder: pathlib.Path) -> None:
        options = ("cluster-enabled yes", "cluster-node-timeout 1500", "cluster-require-full-coverage no",
                   "repl-diskless-sync-delay 0")
        self.nodes = [Node(folder / f"node-{number}", *options) for number in range(6)]

    @property
    def urls(self) -> list[str]:
        return [node.url for node in self.nodes]

    def __enter__(self) -> "Cluster":
        try:
            for node in self.nodes:
                node.start()
            addresses = [f"127.0.0.1:{node.port}" for node in self.nodes]
            command = ["redis-cli", "--cluster", "create", *addresses, "--cluster-replicas", "1", "--cluster-yes"]
            subprocess.run(command, check=True, capture_output=True, timeout=60)
            for node in self.nodes:
                eventually("the cluster is ready", lambda: b"cluster_state:ok" in node.command("CLUSTER", "INFO"))
                eventually("the replicas are in sync", lambda: self.is_in_sync(node))
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_) -> None:
        for node in self.nodes:
            node.kill()

    @staticmethod
    def is_in_sync(node: Node) -> bool:
        said = node.command("INFO", "replication")
        return b"connected_slaves:1" in said and b"state=online" in said or b"master_link_status:up" in said

    def holder(self) -> Node:
        """The primary that has the keys of the fleet."""
        slot = self.nodes[0].command("CLUSTER", "KEYSLOT", "{fleet}")
        for first, last, primary, *_ in self.nodes[0].command("CLUSTER", "SLOTS"):
            if first <= slot <= last:
                return next(node for node in self.nodes if node.port == primary[1])
        raise Broken("no node has the slot")


def eventually(what: str, holds, seconds: float = WAIT_SECONDS) -> float:
    """Waits until something holds; how long it took."""
    began = time.monotonic()
    for _ in attempts(seconds):
        with contextlib.suppress(OSError):
            if holds():
                return time.monotonic() - began
    raise Broken(f"not within {seconds:.0f} s: {what}")
