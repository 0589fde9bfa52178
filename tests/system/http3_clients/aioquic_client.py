"""aioquic, as a program: `clients.py` describes the arguments and the output."""

from __future__ import annotations

import hashlib
import json
import pathlib
import ssl
import sys
import time
import urllib.parse

from .. import wire
from ..http3.client import Client
from ..http3.transport import configuration

SECONDS = 60.0
AT_A_TIME = 100


class Session:
    """Opens connections to the server of a URL, with its certificate checked."""

    def __init__(self, url: str, authority: str) -> None:
        parts = urllib.parse.urlsplit(url)
        self.address, self.path, self.authority = ("127.0.0.1", parts.port), parts.path, authority
        self.tickets: list = []

    def connect(self, **options) -> Client:
        made = configuration(verify_mode=ssl.CERT_REQUIRED, cafile=self.authority, **options)
        return Client(self.address, timeout=SECONDS, options=made, session_ticket_handler=self.tickets.append)


def described(answer) -> dict:
    return {"status": answer.status, "body": hashlib.sha256(answer.body).hexdigest()}


def get(session: Session) -> dict:
    with session.connect() as client:
        return described(client.request(session.path))


def post(session: Session, file: str) -> dict:
    with session.connect() as client:
        return described(client.request(session.path, method="POST", body=pathlib.Path(file).read_bytes()))


def many(session: Session, count: str) -> dict:
    with session.connect() as client:
        waiting, succeeded = [], 0
        for number in range(int(count) + AT_A_TIME):
            if number >= AT_A_TIME:
                succeeded += client.response(waiting.pop(0)).status == 200
            if number < int(count):
                waiting.append(client.open(session.path))
        return {"succeeded": succeeded}


def twice(session: Session) -> dict:
    with session.connect() as client:
        client.request(session.path)
        client.pump(lambda: bool(session.tickets), 10)
    with session.connect(session_ticket=session.tickets[0]) as client:
        return described(client.request(session.path)) | {"resumed": client.handshake.session_resumed}


def update(session: Session) -> dict:
    with session.connect() as client:
        stream = client.open(session.path)
        for part in (1, 2, 3):
            client.pump(lambda: len(client.answers[stream].body) > part * 2_000_000)
            client.quic.request_key_update()
        return described(client.response(stream)) | {"updates": 3}


def migrate(session: Session) -> dict:
    with session.connect() as client:
        stream = client.open(session.path)
        for part in (1, 2, 3):
            client.pump(lambda: len(client.answers[stream].body) > part * 2_000_000)
            client.change_port()
            client.quic.change_connection_id()
            client.quic.send_ping(part)
        return described(client.response(stream)) | {"migrations": 3}


def during(session: Session, seconds: str, at_a_time: str) -> dict:
    """After GOAWAY, the next requests are of a new connection; those of the old one complete."""
    until, answered, failed = time.monotonic() + float(seconds), [], []
    client, draining = session.connect(), []
    print("ready", flush=True)
    open_streams: list[tuple[Client, int]] = []
    while time.monotonic() < until or open_streams:
        if client.ended or client.h3.go_aways:
            draining.append(client)
            client = session.connect()
        while len(open_streams) < int(at_a_time) and time.monotonic() < until:
            open_streams.append((client, client.open(session.path)))
        for each in [client, *draining]:
            each.pump(lambda: False, 0.005)
        for owner, stream in list(open_streams):
            if owner.answers[stream].is_over and owner.answers[stream].status == 200:
                answered.append(time.time())
            elif owner.answers[stream].is_over or stream in owner.resets or owner.ended:
                failed.append(f"{time.time():.3f} {owner.ended or owner.resets}")
            else:
                continue
            open_streams.remove((owner, stream))
    for each in [client, *draining]:
        each.close()
    return {"answered": answered, "failed": failed}


VERBS = {"get": get, "post": post, "many": many, "twice": twice, "update": update, "migrate": migrate, "during": during}


def main() -> None:
    verb, url, authority, *arguments = sys.argv[1:]
    try:
        result = VERBS[verb](Session(url, authority), *arguments)
    except wire.Cut as error:
        sys.exit(f"aioquic: {error}")
    print(json.dumps(result))


if __name__ == "__main__":
    main()
