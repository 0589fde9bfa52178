"""The cases of errors.toml: what a client must not do is answered with the error code that the RFCs name."""

from __future__ import annotations

import pathlib
import re
import tomllib

import pylsqpack
from aioquic.buffer import Buffer
from aioquic.quic.events import StreamDataReceived
from aioquic.quic.packet import QuicErrorCode
from aioquic.tls import Epoch

from .. import wire
from ..verdict import Verdict
from . import fields, serving
from .client import Client
from .origin import Origin
from .transport import Quic, Transport, configuration

CASES = pathlib.Path(__file__).with_suffix(".toml")
ALERTS = {10: "unexpected_message", 109: "missing_extension", 120: "no_application_protocol"}
TYPES = {"control": b"\0", "encoder": b"\2", "decoder": b"\3", "uni": b"", "request": b""}
HTTP = ("H3_NO_ERROR", "H3_GENERAL_PROTOCOL_ERROR", "H3_INTERNAL_ERROR", "H3_STREAM_CREATION_ERROR", "H3_CLOSED_CRITICAL_STREAM",
        "H3_FRAME_UNEXPECTED", "H3_FRAME_ERROR", "H3_EXCESSIVE_LOAD", "H3_ID_ERROR", "H3_SETTINGS_ERROR", "H3_MISSING_SETTINGS",
        "H3_REQUEST_REJECTED", "H3_REQUEST_CANCELLED", "H3_REQUEST_INCOMPLETE", "H3_MESSAGE_ERROR", "H3_CONNECT_ERROR",
        "H3_VERSION_FALLBACK")
QPACK = ("QPACK_DECOMPRESSION_FAILED", "QPACK_ENCODER_STREAM_ERROR", "QPACK_DECODER_STREAM_ERROR")
APPLICATION = {0x100 + place: name for place, name in enumerate(HTTP)} | {0x200 + place: name for place, name in enumerate(QPACK)}
# How long the answer to a mistake may take; and how long a mistake without an answer is waited for.
SECONDS = 10.0


def run(only: str | None, verdict: Verdict) -> None:
    cases = tomllib.loads(CASES.read_text())["case"]
    passed = differing = 0
    chosen = [case for case in cases if not only or only.lower() in case["name"].lower()]
    with Origin() as origin, serving.proxy(origin.url) as server:
        for case in chosen:
            said = attempt(case, server.address)
            if "differs" in case:
                differing += verdict.check(said in case["sends"], f"{case['name']}: {said} instead of {case['sends']}, which is "
                                                                  f"known: {case['differs']}")
                continue
            wanted = " or ".join(case["expect"])
            passed += verdict.check(said in case["expect"], f"{case['name']} ({case['rfc']}): {said} instead of {wanted}")
        verdict.check(server.is_running() and not server.panics(), f"errors: {server.said()[-300:]}")
        with Client(server.address) as client:
            verdict.check(client.request("/").status == 200, "errors: no answer in the end")
    verdict.figure(f"{passed} of {len(chosen)} kinds of invalid input end with the code of the RFCs, {differing} with another that is known")


def attempt(case: dict, address: tuple[str, int]) -> str:
    """The code with which the server answers."""
    def prepare(quic: Quic) -> None:
        quic.left_out |= set(case.get("without", ()))
        quic.added |= {int(number): bytes.fromhex(value) for number, value in case.get("parameters", {}).items()}
        quic.has_parameters = case.get("extension", True)
        for name, epoch in (("initial", Epoch.INITIAL), ("handshake", Epoch.HANDSHAKE)):
            if name in case:
                quic.raw[epoch] = [bytes.fromhex(content) for content in case[name]]
        quic.changes |= HEADERS.get(case.get("header"), {})
    options = configuration(alpn_protocols=case["alpn"]) if "alpn" in case else None
    with Listening(address, options, prepare) as transport:
        if "frames" in case or "streams" in case:
            try:
                transport.complete(SECONDS)
            except wire.Cut as error:
                return str(error)
            # Cases about the server's streams need these open.
            transport.pump(lambda: 3 in transport.quic._streams, SECONDS)
            opened = send_streams(transport, case.get("streams", ()))
            for stream in case.get("resets", ()):
                transport.pump(lambda: False, 0.2)
                transport.quic.reset_stream(stream, 0)
            transport.quic.raw[Epoch.ONE_RTT] = [bytes.fromhex(content) for content in case.get("frames", ())]
        else:
            opened = []
        transport.pump(lambda: any(stream in transport.resets or stream in transport.statuses for stream in opened), SECONDS)
        if transport.ended is None:
            said = [name(transport.resets[stream]) for stream in opened if stream in transport.resets]
            return (said or list(transport.statuses.values()) or ["nothing"])[0]
        return name(transport.ended.error_code, transport.ended.frame_type)


class Listening(Transport):
    """Notes responses that are whole."""

    def __init__(self, *rest) -> None:
        self.received: dict[int, bytes] = {}
        self.statuses: dict[int, str] = {}
        super().__init__(*rest)

    def handle(self, event) -> None:
        super().handle(event)
        if isinstance(event, StreamDataReceived) and event.stream_id % 4 == 0:
            whole = self.received[event.stream_id] = self.received.get(event.stream_id, b"") + event.data
            if event.end_stream:
                # The server's encoder may use no table: SETTINGS of these clients are empty.
                head = Buffer(data=whole[1:])
                section = head.pull_bytes(head.pull_uint_var())
                _, found = pylsqpack.Decoder(0, 0).feed_header(event.stream_id, section)
                self.statuses[event.stream_id] = f"status {dict(found)[b':status'].decode()}"


def send_streams(transport: Transport, streams: list[list[str]]) -> list[int]:
    """Those of a case; the numbers of those that are requests."""
    requests = []
    if not any(kind.startswith("control") for kind, _ in streams):
        streams = [["control", "04 00"], *streams]
    quic = transport.quic
    for kind, content in streams:
        name, ends = kind.rstrip("."), kind.endswith(".")
        stream = quic.get_next_available_stream_id(is_unidirectional=name != "request")
        quic.send_stream_data(stream, TYPES[name] + parse(content), ends)
        if name == "request":
            requests.append(stream)
    return requests


def parse(content: str) -> bytes:
    """The content of a stream, from its notation in errors.toml."""
    parts = b""
    for section, digits in re.findall(r"\(HEADERS ?([^)]*)\)|([0-9a-f]+)", content):
        if digits:
            parts += bytes.fromhex(digits)
        elif section:
            pairs = [re.fullmatch(r"(:?[^:]*): ?(.*)", line.strip()).groups() for line in section.split("|")]
            parts += fields.frame(fields.HEADERS, fields.section(pairs))
        else:
            parts += fields.headers(method="POST")
    return parts


def name(code: int, frame: int | None = None) -> str:
    if frame is None:
        return APPLICATION.get(code, f"{code:#x}")
    if 0x100 <= code < 0x200:
        return ALERTS.get(code - 0x100, f"alert {code - 0x100}")
    return QuicErrorCode(code).name if code in set(QuicErrorCode) else f"transport error {code:#x}"


def set_reserved(bits: int):
    return lambda header, payload: (bytes([header[0] | bits]) + header[1:], payload)


def empty(header: bytes, payload: bytes) -> tuple[bytes, bytes]:
    """With a packet number of four bytes, so that there is enough for header protection."""
    return bytes([header[0] | 3]) + header[1:-2] + bytes(2) + header[-2:], b""


HEADERS = {"reserved-handshake": {Epoch.HANDSHAKE: set_reserved(0x0C)}, "reserved-short": {Epoch.ONE_RTT: set_reserved(0x18)},
           "empty": {Epoch.ONE_RTT: empty}}
