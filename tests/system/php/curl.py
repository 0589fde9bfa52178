"""libcurl with HTTP/2 and HTTP/3 as a program, in the Python that has it: requests as lines of JSON, and their responses."""

from __future__ import annotations

import base64
import io
import json
import sys

import pycurl

SECONDS = 300
# CURL_HTTP_VERSION_2 and CURL_HTTP_VERSION_3, as libcurl names the version of a transfer.
VERSIONS = {"http2": (pycurl.CURL_HTTP_VERSION_2TLS, 3), "http3": (pycurl.CURL_HTTP_VERSION_3ONLY, 30)}


def fields(given: dict[str, str]) -> list[tuple[str, str]]:
    """As browsers send them: a field for each cookie (RFC 9113 §8.2.3)."""
    return [(name, part) for name, value in given.items() for part in (value.split("; ") if name == "Cookie" else [value])]


def transfer(curl: pycurl.Curl, order: dict) -> dict:
    wanted, expected = VERSIONS[order["protocol"]]
    body, lines = io.BytesIO(), []
    curl.reset()
    for option, value in ((pycurl.URL, order["url"]), (pycurl.CAINFO, order["authority"]), (pycurl.WRITEDATA, body), (pycurl.HTTP_VERSION, wanted),
                          (pycurl.TIMEOUT, SECONDS), (pycurl.PATH_AS_IS, 1), (pycurl.CUSTOMREQUEST, order["method"]), (pycurl.HEADERFUNCTION, lines.append),
                          (pycurl.HTTPHEADER, [f"{name}: {value}" for name, value in fields(order["fields"])])):
        curl.setopt(option, value)
    if order["method"] == "HEAD":
        curl.setopt(pycurl.NOBODY, 1)
    if order["body"] is not None:
        content = base64.b64decode(order["body"])
        curl.setopt(pycurl.UPLOAD, 1)
        curl.setopt(pycurl.READDATA, io.BytesIO(content))
        # Without a length, as `chunked` in HTTP/1.1.
        curl.setopt(pycurl.INFILESIZE_LARGE, -1 if order["chunked"] else len(content))
    curl.perform()
    if curl.getinfo(pycurl.INFO_HTTP_VERSION) != expected:
        raise pycurl.error(0, f"version {curl.getinfo(pycurl.INFO_HTTP_VERSION)}")
    # After informational responses.
    last = b"".join(lines).decode("latin-1").strip().split("\r\n\r\n")[-1].split("\r\n")[1:]
    received = [line.partition(":")[::2] for line in last]
    return {"status": curl.getinfo(pycurl.RESPONSE_CODE), "fields": [[name, value.strip()] for name, value in received],
            "body": base64.b64encode(body.getvalue()).decode()}


def main() -> None:
    curl = pycurl.Curl()
    for line in sys.stdin:
        try:
            print(json.dumps(transfer(curl, json.loads(line))), flush=True)
        except pycurl.error as error:
            print(json.dumps({"error": str(error)}), flush=True)
            curl = pycurl.Curl()


if __name__ == "__main__":
    main()
