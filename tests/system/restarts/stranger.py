#!/usr/bin/env python3
"""A generation that is not Serow: it speaks the words of one, and then does what STRANGER says."""

from __future__ import annotations

import json
import os
import socket
import sys
import time


def main(way: str, folder: str) -> int:
    if way == "ends":
        return 0
    channel = socket.socket(fileno=0)
    say = lambda **word: channel.send(json.dumps(word).encode())
    if way == "silent":
        time.sleep(60)
    if way == "garbage":
        channel.send(b"\xff\0{")
        time.sleep(60)
    if way == "closed":
        channel.shutdown(socket.SHUT_RDWR)
        time.sleep(60)
    ready = dict(word="Ready", admin=f"unix:{folder}/admin.sock", announcement="", replaced_ms=1000, stopped_ms=1000)
    say(**ready)
    # It serves, and has been taken over.
    wanted = dict(address=f"unix:{folder}/stolen.sock", backlog=1, unix_mode=0o666, share=False, sockets=1)
    say(word="Listen", listeners=[wanted])
    say(**dict(ready, admin=f"unix:{folder}/stolen-door.sock"))
    say(word="Failed", reason="\x1b[31m")
    say(word="New", what={})
    for report in (7, [1], {"pacing": {"queue_delay": {}}}, {"pacing": {"queue_delay": {"buckets": [1, {"up_to_us": 1}]}}}):
        say(word="Report", report=report)
    say(word="Report", report={"requests": {"total": "x"}, "version": "\x1b[31m", "http2": {"connection_errors": {'"}\n': 1}}})
    for number in range(20_000):
        channel.settimeout(5)
        say(word="Report", report={"version": "x" * 1000, "number": number})
    channel.send(b"\xff")
    time.sleep(60)
    return 0


if __name__ == "__main__":
    folder = os.path.dirname(os.path.abspath(sys.argv[0]))
    with open(os.path.join(folder, "way")) as file:
        sys.exit(main(file.read(), folder))
