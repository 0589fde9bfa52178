"""The texts of a file that the rules look at.

A mask has the length and the lines of the file, and a NUL for each character of another kind."""

from __future__ import annotations

import bisect
import dataclasses
import pathlib
import re

# A character of another kind. It separates texts, so no pattern matches across it.
NUL = "\0"

RUST = re.compile(r"""
    (?P<doc>//[/!](?!/)[^\n]*)
  | (?P<line>//[^\n]*)
  | (?P<block>/\*.*?\*/)
  | (?P<raw>\b(?:b|c)?r(?P<hashes>\#*)".*?"(?P=hashes))
  | (?P<string>(?:\b[bc])?"(?:[^"\\]|\\.)*")
  | (?P<char>'(?:[^'\\\n]|\\(?:u\{[^}]*\}|x..|.))')
  | (?P<name>\b(?:r\#)?[A-Za-z_][A-Za-z0-9_]*)
""", re.VERBOSE | re.DOTALL)
TEST_MODULE = re.compile(r"#\[cfg\((?:all\()?test\b[^\]]*\]\s*(?:#\[[^\]]*\]\s*)*"
                         r"(?:pub(?:\([^)]*\))?\s+)?mod\s+(\w+)\s*([;{])")
FUNCTION = re.compile(r"\bdef (\w+)")
SCRIPT = re.compile(r"""
    (?P<comment>(?<![^\s])\#[^\n]*(?:\n[ \t]*\#[^\n]*)*)
  | \"\"\"(?P<docstring>.*?)\"\"\"
  | "(?:[^"\\\n]|\\.)*" | '(?:[^'\\\n]|\\.)*'
""", re.VERBOSE | re.DOTALL)
PLACEHOLDER = re.compile(r"\{[^{}\n]*\}")
INLINE_CODE = re.compile(r"(`+)(?!`).+?(?<!`)\1(?!`)", re.DOTALL)
FENCE = re.compile(r"^ *```.*?^ *```", re.DOTALL | re.MULTILINE)
LINK_TARGET = re.compile(r"(?<=\])\([^)\s]*\)|https?://\S+")
COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
IGNORED = re.compile(r"<!-- wording: ignore -->.*?(?:<!-- wording: check -->|\Z)", re.DOTALL)


class Prose:
    """The texts that a mask leaves, separated by NULs, and their offsets in the file."""

    def __init__(self, mask: str) -> None:
        pieces = [piece for piece in re.finditer(r"[^\0]+", mask) if not piece.group().isspace()]
        self.text = NUL + "".join(f"{piece.group()}{NUL}" for piece in pieces)
        self._origins = [piece.start() for piece in pieces]
        self._starts, start = [], 1
        for piece in pieces:
            self._starts.append(start)
            start += len(piece.group()) + 1

    def origin(self, offset: int) -> int:
        piece = max(0, bisect.bisect_right(self._starts, offset) - 1)
        return self._origins[piece] + offset - self._starts[piece]


@dataclasses.dataclass
class Texts:
    """Of a file: prose and comments; the first occurrence of each name, and the types that it defines, as (offset, name)."""

    whole: str
    prose: list[Prose]
    # Those that are not documentation.
    comments: list[Prose]
    names: list[tuple[int, str]]
    types: list[tuple[int, str]]

    def position(self, offset: int) -> tuple[int, int]:
        line = self.whole.count("\n", 0, offset) + 1
        return line, offset - (self.whole.rfind("\n", 0, offset) + 1) + 1


def read(path: pathlib.Path, in_tests: bool) -> Texts:
    text = path.read_text(errors="replace")
    if path.suffix == ".rs":
        return rust(text, in_tests)
    if path.suffix in (".py", ".sh"):
        return Texts(text, [], [Prose(script(text))], [(found.start(1), found.group(1)) for found in FUNCTION.finditer(text)], [])
    prose = [Prose(toml(text) if path.suffix == ".toml" else markdown(text))]
    return Texts(text, prose, [], [], [])


def blank(text: str) -> str:
    return re.sub(r"[^\n]", NUL, text)


def hidden(pattern: re.Pattern[str], text: str) -> str:
    return pattern.sub(lambda found: blank(found.group()), text)


def markdown(text: str) -> str:
    for pattern in (IGNORED, COMMENT):
        text = hidden(pattern, text)
    # Text in fences is checked, since it has comments; backticks in it do not begin code.
    parts, end = [], 0
    for fence in FENCE.finditer(text):
        parts += [outside_fences(text[end:fence.start()]), fence.group()]
        end = fence.end()
    return "".join([*parts, outside_fences(text[end:])])


def outside_fences(text: str) -> str:
    return hidden(LINK_TARGET, hidden(INLINE_CODE, text))


def toml(text: str) -> str:
    """The comments of a settings file."""
    return "".join(line if line.lstrip().startswith("#") else blank(line) for line in text.splitlines(keepends=True))


def script(text: str) -> str:
    """The comments and docstrings of a script in Python or of the shell."""
    mask, end = list(blank(text)), 0
    for token in SCRIPT.finditer(text):
        start, end = token.span("comment") if token.group("comment") else token.span("docstring")
        if start >= 0:
            mask[start:end] = token.group()[start - token.start():end - token.start()]
    return "".join(mask)


def rust(text: str, in_tests: bool) -> Texts:
    """Rustdoc and string literals, these only outside tests; and names."""
    tests = test_blocks(text)
    docs, strings, lines = (list(blank(text)) for _ in range(3))
    names, types, before = {}, [], ""
    for token in RUST.finditer(text):
        start, end = token.span()
        if token.lastgroup == "doc":
            docs[start:end] = "   " + token.group()[3:]
            # The margin of the next line belongs to the same text.
            margin = re.compile(r"\n[ \t]*(?=//[/!])").match(text, end)
            if margin:
                docs[end:margin.end()] = margin.group()
        elif token.lastgroup == "line":
            lines[start:end] = "  " + token.group()[2:]
            margin = re.compile(r"\n[ \t]*(?=//(?![/!]))").match(text, end)
            if margin:
                lines[end:margin.end()] = margin.group()
        elif token.group("raw") or token.group("string"):
            if not in_tests and not any(first <= start < last for first, last in tests):
                strings[start:end] = literal(token.group())
        elif token.lastgroup == "name":
            name = token.group().removeprefix("r#")
            names.setdefault(name, start)
            if before in ("struct", "enum", "union", "trait", "type"):
                types.append((start, name))
            before = name
    prose = [Prose(outside_fences("".join(docs))), Prose("".join(strings))]
    comments = [Prose(outside_fences("".join(lines)))]
    return Texts(text, prose, comments, [(offset, name) for name, offset in names.items()], types)


def literal(token: str) -> str:
    """A string's content, without placeholders; an escaped line end is a space, any other escape ends a text."""
    first, last = token.index('"'), token.rindex('"')
    content = hidden(PLACEHOLDER, token[first + 1:last])
    content = re.sub(r"\\\n", " \n", content)
    content = re.sub(r'\\"', ' "', content)
    content = re.sub(r"\\.", NUL * 2, content)
    return blank(token[:first + 1]) + content + blank(token[last:])


def test_blocks(text: str) -> list[tuple[int, int]]:
    """The spans of `#[cfg(test)] mod … { … }`. The closing brace stands where the line of `mod` begins."""
    blocks = []
    for found in TEST_MODULE.finditer(text):
        if found.group(2) == "{":
            margin = re.search(r"[ \t]*\Z", text[:text.rfind("#[cfg", 0, found.start() + 1)]).group()
            closing = text.find(f"\n{margin}}}", found.end())
            blocks.append((found.start(), closing if closing >= 0 else len(text)))
    return blocks


def test_modules(text: str) -> list[str]:
    """The modules that a file declares for tests only, and that are files of their own."""
    return [found.group(1) for found in TEST_MODULE.finditer(text) if found.group(2) == ";"]
