"""A large upload: what it takes of memory and time, beside nginx."""

from __future__ import annotations

import contextlib
import os
import pathlib
import socket
import statistics
import subprocess
import time

from system.resident import Watch, without_huge_pages
from system.server import REPOSITORY, Server, free_port
from system.verdict import Verdict

# The bar for the memory of one upload, in bytes.
MEMORY = 2_000_000
PIECE = bytes(range(256)) * 4096
PAGE = REPOSITORY / "docs/measurements/webdav.md"
BEGIN, END = "<!-- measured: uploads -->", "<!-- end -->"


def run(verdict: Verdict, place: pathlib.Path, short: bool, write: bool) -> None:
    length, rounds = (64 << 20, 5) if short else (1 << 30, 5)
    ours, theirs = place / "large", place / "nginx"
    ours.mkdir()
    theirs.mkdir()
    rows = {"serow": [], "nginx": []}
    server = Server.files(ours, "--write", "put", "--max-body", "unlimited", before=without_huge_pages)
    with server, nginx(theirs, short) as peer:
        # The first upload makes the allocations that last.
        upload(server.address, 64 << 20)
        if peer is not None:
            upload(peer, 64 << 20)
        grown = []
        # To look at the memory takes time, so that uploads are timed without it.
        for _ in range(rounds):
            grown.append(growth(server, length))
            verdict.check((ours / "upload").stat().st_size == length, "the upload is not complete")
            (ours / "upload").unlink()
        for _ in range(rounds):
            rows["serow"].append(timed(server.address, length))
            (ours / "upload").unlink()
            if peer is not None:
                rows["nginx"].append(timed(peer, length))
                (theirs / "site/upload").unlink()
    memory = int(statistics.median(grown))
    verdict.check(memory <= MEMORY, f"an upload took {memory} bytes of memory")
    seconds = {name: statistics.median(times) for name, times in rows.items() if times}
    verdict.figure(f"upload of {length >> 20} MiB: {memory >> 10} KiB of memory (at most {max(grown) >> 10}), {seconds['serow']:.2f} s")
    if "nginx" in seconds:
        ratio = statistics.median(other / own for own, other in zip(rows["serow"], rows["nginx"]))
        verdict.figure(f"nginx {seconds['nginx']:.2f} s, {ratio:.2f} times as long (median of the ratios)")
        verdict.compare_time(ratio >= 1.0, f"nginx is faster: its upload takes {ratio:.2f} times as long")
        if write:
            write_page(length, seconds, ratio, memory, rounds)


def growth(server: Server, length: int) -> int:
    """By how many bytes the server grows at most while it receives an upload."""
    before = server.memory()
    with Watch(server) as watch:
        upload(server.address, length)
    return max(0, watch.most - before)


def timed(address: tuple[str, int], length: int) -> float:
    began = time.monotonic()
    upload(address, length)
    return time.monotonic() - began


def upload(address: tuple[str, int], length: int) -> None:
    with socket.create_connection(address, 120) as connection:
        connection.sendall(f"PUT /upload HTTP/1.1\r\nHost: localhost\r\nContent-Length: {length}\r\n\r\n".encode())
        for _ in range(length // len(PIECE)):
            connection.sendall(PIECE)
        status = connection.recv(4096).split(b" ", 2)[1]
        assert status in (b"201", b"204"), status


@contextlib.contextmanager
def nginx(place: pathlib.Path, short: bool):
    """nginx with its module for uploads, its temporary files on the same file system; nothing in the short form."""
    if short:
        yield None
        return
    port = free_port()
    (place / "site").mkdir()
    (place / "nginx.conf").write_text(f"""
        daemon off; master_process off; pid {place}/pid; error_log {place}/error.log; worker_processes 1;
        events {{}}
        http {{
            access_log off; client_max_body_size 0; client_body_temp_path {place}/body;
            server {{
                listen 127.0.0.1:{port};
                location / {{ root {place}/site; dav_methods PUT DELETE; }}
            }}
        }}
    """)
    with Server(["nginx", "-c", place / "nginx.conf", "-p", place], port) as server:
        yield server.address


def write_page(length: int, seconds: dict[str, float], ratio: float, memory: int, rounds: int) -> None:
    version = subprocess.run(["nginx", "-v"], capture_output=True, text=True).stderr.strip().rpartition("/")[2]
    before, _, rest = PAGE.read_text().partition(BEGIN)
    text = f"""
`tests/webdav --only large --write` uploads a file of {length >> 20} MiB over loopback, {rounds} times, to `serow files --write put` and
to Debian's nginx {version} (`dav_methods PUT`, temporary files on the same file system), in turn. Neither synchronises the
file with the disk. Serow is a build of the cargo profile `{os.environ.get("SEROW_PROFILE", "release")}`, on a machine with {os.cpu_count()} processors.

| server | seconds (median) | memory of the upload (median) |
| --- | ---: | ---: |
| Serow | {seconds['serow']:.2f} | +{memory >> 10} KiB |
| nginx | {seconds['nginx']:.2f} | – |

nginx took {ratio:.2f} times as long (median of the ratios of each round).

"""
    PAGE.write_text(f"{before}{BEGIN}\n{text}{END}{rest.partition(END)[2]}")
