"""The cases, from the files in cases/.

    == RFC 9112 §6.3: a title                  a case, or with `?` lines one for each of them
    > POST /a-NNNN HTTP/1.1                    a line and its CRLF; a backslash at its end leaves the CRLF out
    > Content-Length: LENGTH                   LENGTH is the size of all `|` lines, SIZE the same in hexadecimal
    > VALUE                                    what stands behind a `?`
    >
    | hello\\
    ? Transfer-Encoding: xchunked
    = refused 400 501                          what is to come of it, see Expected

`\\r`, `\\n`, `\\t`, `\\0`, `\\\\` and `\\xHH` are bytes. NNNN is the case's number, always of four digits. NOTHING behind a `?` is
nothing, and `? list:NAME` are the lines of cases/lists/NAME.txt. Behind each case stands a request for /next-NNNN. In files
for HTTP/2 (http2_*.txt) a `>` line is a field, `> name => value`, a `|` line is data, and fields behind data are trailers."""

from __future__ import annotations

import dataclasses
import pathlib
import re

FOLDER = pathlib.Path(__file__).with_name("cases")
ESCAPES = {"r": b"\r", "n": b"\n", "t": b"\t", "0": b"\0", "\\": b"\\"}
KINDS = ("refused", "cut", "seen", "either")


class Wrong(Exception):
    """A case file that cannot be read: one line."""


@dataclasses.dataclass(frozen=True)
class Expected:
    """The expected outcome of a case.

    refused [STATUS...]   nothing of it reaches the upstream; the client is told so
    cut                   the upstream may have begun to read /a; it never has it whole, and sees nothing behind it
    seen NAME...          the upstream sees these, whole, in this order: a, smuggled, next
    either                refused, cut, or seen: but never what is smuggled
    """

    kind: str
    words: tuple[str, ...]
    # `= has NAME: VALUE` and `= lacks NAME`, of /a as the upstream sees it; `= body TEXT`.
    has: tuple[tuple[str, str], ...] = ()
    lacks: tuple[str, ...] = ()
    body: bytes | None = None


@dataclasses.dataclass(frozen=True)
class Stream:
    """A request of HTTP/2 as it is sent: fields whatever they are, data, trailers."""

    fields: tuple[tuple[bytes, bytes], ...]
    data: bytes | None
    trailers: tuple[tuple[bytes, bytes], ...]


@dataclasses.dataclass(frozen=True)
class Case:
    number: int
    # File, title and value.
    name: str
    sent: bytes | Stream
    expected: Expected

    @property
    def file(self) -> str:
        return self.name.partition(":")[0]


@dataclasses.dataclass
class Written:
    """A case as it stands in its file."""

    title: str
    # `>` or `|`, and the text behind it.
    lines: list[tuple[str, str]] = dataclasses.field(default_factory=list)
    values: list[str] = dataclasses.field(default_factory=list)
    results: list[str] = dataclasses.field(default_factory=list)


def cases() -> list[Case]:
    found: list[Case] = []
    for file in sorted(FOLDER.glob("*.txt")):
        for written in read(file.name, file.read_text()):
            for value in listed(written.values) or [None]:
                name = f"{file.stem}: {written.title}" + (f" [{value}]" if value is not None else "")
                try:
                    found.append(made(len(found) + 1, name, written, value, is_http2=file.stem.startswith("http2_")))
                except (ValueError, IndexError) as error:
                    raise Wrong(f"{name}: {error}") from error
    return found


def listed(values: list[str]) -> list[str]:
    found = []
    for value in values:
        if value.startswith("list:"):
            lines = (FOLDER / "lists" / f"{value[5:]}.txt").read_text().splitlines()
            found += [line for line in lines if line and not line.startswith("#")]
        else:
            found.append(value)
    return found


def read(name: str, text: str) -> list[Written]:
    found: list[Written] = []
    for number, line in enumerate(text.split("\n"), 1):
        mark, rest = line[:1], line[2:]
        if line.startswith("== "):
            found.append(Written(line[3:]))
        elif mark in "#" or not line.strip():
            continue
        elif not found or mark not in ">|?=" or line[1:2] not in ("", " "):
            raise Wrong(f"{name}, line {number}: a case begins with ==, its lines with > | ? or =")
        elif mark in ">|":
            found[-1].lines.append((mark, rest))
        else:
            (found[-1].values if mark == "?" else found[-1].results).append(rest)
    return found


def made(number: int, name: str, written: Written, value: str | None, is_http2: bool) -> Case:
    def filled(text: str) -> str:
        return text.replace("VALUE", (value or "").replace("NOTHING", "")).replace("NNNN", f"{number:04}")

    lines = [(mark, filled(text)) for mark, text in written.lines]
    counted = sum(len(line_bytes(text)) for mark, text in lines if mark == "|")
    lines = [(mark, text.replace("LENGTH", str(counted)).replace("SIZE", f"{counted:x}")) for mark, text in lines]
    sent = stream(lines) if is_http2 else b"".join(line_bytes(text) for _, text in lines)
    return Case(number, name, sent, expected(written.results))


def stream(lines: list[tuple[str, str]]) -> Stream:
    fields: list[tuple[bytes, bytes]] = []
    trailers: list[tuple[bytes, bytes]] = []
    data = None
    for mark, text in lines:
        if mark == "|":
            data = (data or b"") + line_bytes(text)
            continue
        name, arrow, value = text.partition(" =>")
        if not arrow:
            raise ValueError(f"a field is `name => value`, not {text!r}")
        (fields if data is None else trailers).append((unescaped(name), unescaped(value.removeprefix(" "))))
    return Stream(tuple(fields), data, tuple(trailers))


def line_bytes(text: str) -> bytes:
    # An escaped backslash at the end is one; a single one leaves the line's end out.
    if len(re.search(r"\\*$", text).group()) % 2:
        return unescaped(text[:-1])
    return unescaped(text) + b"\r\n"


def unescaped(text: str) -> bytes:
    found, place = bytearray(), 0
    while place < len(text):
        if text[place] != "\\":
            found += text[place].encode()
            place += 1
        elif text[place + 1] == "x":
            found.append(int(text[place + 2:place + 4], 16))
            place += 4
        else:
            try:
                found += ESCAPES[text[place + 1]]
            except KeyError:
                raise ValueError(f"unknown escape \\{text[place + 1]}") from None
            place += 2
    return bytes(found)


def expected(results: list[str]) -> Expected:
    kind, words, has, lacks, body = None, (), [], [], None
    for result in results:
        verb, _, rest = result.partition(" ")
        if verb in KINDS and kind is None:
            kind, words = verb, tuple(rest.split())
        elif verb == "has":
            name, _, value = rest.partition(":")
            has.append((name.lower(), value.strip()))
        elif verb == "lacks":
            lacks.append(rest.lower())
        elif verb == "body":
            body = unescaped(rest)
        else:
            raise ValueError(f"unknown expectation: {result}")
    if kind is None:
        raise ValueError(f"expects none of {', '.join(KINDS)}")
    return Expected(kind, words, tuple(has), tuple(lacks), body)
