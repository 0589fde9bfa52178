"""libcurl with ngtcp2 and nghttp3, as a program: `clients.py` describes the arguments and the output."""

from __future__ import annotations

import hashlib
import io
import json
import pathlib
import sys
import time

import pycurl

SECONDS = 60
# With more, fewer of the 128 streams that Serow permits may be left than libcurl wants to begin: it would open a second
# connection instead of waiting for MAX_STREAMS.
AT_A_TIME = 64
# CURL_HTTP_VERSION_3.
HTTP3 = 30


class Session:
    """Transfers from a URL, with the server's certificate checked, and TLS sessions that outlive connections."""

    def __init__(self, url: str, authority: str) -> None:
        self.url, self.authority = url, authority
        self.share = pycurl.CurlShare()
        self.share.setopt(pycurl.SH_SHARE, pycurl.LOCK_DATA_SSL_SESSION)

    def transfer(self) -> tuple[pycurl.Curl, io.BytesIO]:
        curl, body = pycurl.Curl(), io.BytesIO()
        for option, value in ((pycurl.URL, self.url), (pycurl.CAINFO, self.authority), (pycurl.WRITEDATA, body),
                              (pycurl.HTTP_VERSION, pycurl.CURL_HTTP_VERSION_3ONLY), (pycurl.TIMEOUT, SECONDS),
                              (pycurl.SHARE, self.share), (pycurl.PIPEWAIT, 1), (pycurl.NOSIGNAL, 1)):
            curl.setopt(option, value)
        return curl, body


def described(curl: pycurl.Curl, body: io.BytesIO) -> dict:
    version = curl.getinfo(pycurl.INFO_HTTP_VERSION)
    return {"status": curl.getinfo(pycurl.RESPONSE_CODE), "body": hashlib.sha256(body.getvalue()).hexdigest(),
            "protocol": "h3" if version == HTTP3 else str(version)}


def get(session: Session) -> dict:
    curl, body = session.transfer()
    curl.perform()
    return described(curl, body)


def post(session: Session, file: str) -> dict:
    curl, body = session.transfer()
    content = pathlib.Path(file).read_bytes()
    curl.setopt(pycurl.POST, 1)
    curl.setopt(pycurl.POSTFIELDSIZE_LARGE, len(content))
    curl.setopt(pycurl.READDATA, io.BytesIO(content))
    # Without it, libcurl would wait for 100 (Continue).
    curl.setopt(pycurl.HTTPHEADER, ["Expect:"])
    curl.perform()
    return described(curl, body)


def twice(session: Session) -> dict:
    curl, _ = session.transfer()
    curl.perform()
    curl.close()
    return get(session)


class Transfers:
    """Several transfers at a time. The end of each calls `done`, with an error or with an empty text."""

    def __init__(self, session: Session) -> None:
        self.session, self.multi = session, pycurl.CurlMulti()
        self.under_way: dict[pycurl.Curl, io.BytesIO] = {}
        self.idle: list[tuple[pycurl.Curl, io.BytesIO]] = []

    def begin(self) -> None:
        curl, body = self.idle.pop() if self.idle else self.session.transfer()
        body.seek(0), body.truncate()
        self.under_way[curl] = body
        self.multi.add_handle(curl)

    def go_on(self, done) -> None:
        self.multi.perform()
        self.multi.select(0.1)
        while True:
            waiting, succeeded, failed = self.multi.info_read()
            for curl in succeeded:
                status = curl.getinfo(pycurl.RESPONSE_CODE)
                self._end(curl, done, "" if status == 200 else f"status {status}")
            for curl, number, message in failed:
                self._end(curl, done, f"{number}: {message}")
            if not waiting:
                return

    def _end(self, curl: pycurl.Curl, done, error: str) -> None:
        self.multi.remove_handle(curl)
        self.idle.append((curl, self.under_way.pop(curl)))
        done(error)


def many(session: Session, count: str) -> dict:
    transfers, errors = Transfers(session), []
    begun = 0
    while len(errors) < int(count):
        while begun < int(count) and len(transfers.under_way) < AT_A_TIME:
            transfers.begin()
            begun += 1
        transfers.go_on(errors.append)
    return {"succeeded": errors.count(""), "failed": [error for error in errors if error][:5]}


def during(session: Session, seconds: str, at_a_time: str) -> dict:
    transfers, answered, failed = Transfers(session), [], []

    def done(error: str) -> None:
        if error:
            failed.append(f"{time.time():.3f} {error}")
        else:
            if not answered:
                print("ready", flush=True)
            answered.append(time.time())

    until = time.monotonic() + float(seconds)
    while time.monotonic() < until or transfers.under_way:
        while len(transfers.under_way) < int(at_a_time) and time.monotonic() < until:
            transfers.begin()
        transfers.go_on(done)
    return {"answered": answered, "failed": failed}


VERBS = {"get": get, "post": post, "many": many, "twice": twice, "during": during}


def main() -> None:
    verb, url, authority, *arguments = sys.argv[1:]
    try:
        result = VERBS[verb](Session(url, authority), *arguments)
    except pycurl.error as error:
        sys.exit(f"libcurl: {error}")
    print(json.dumps(result))


if __name__ == "__main__":
    main()
