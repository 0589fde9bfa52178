"""Random paths: those that exist, those that attackers try, and all between."""

from __future__ import annotations

import random
from collections.abc import Callable
from urllib.parse import quote_from_bytes

NAMES = ("", ".", "..", "...", "a", "news", "2", "%00", "%2e", "%2e%2e", ".%2e", "%252e%252e", "..;", ";", "%2F", "%5C", "\\", "%zz", "%", "index.php",
         "x.php", "evil.php", "other.php", ".git", ".env", "%C3%A4", "%FF", "a%0Ab", "+", "~", "*", "index.php%00.jpg", "other.php%20", "other.php.",
         "other.php;a=b", "OTHER.PHP", "other.pHP", "other.php%0A", "other%2Ephp", "other.php%3F", "other.php::$DATA", "other.php%5Cx", "..%5Cother.php",
         "..%2Fother.php", "uploads%2Fevil.php", "style.css", ".well-known", "@", "a=b", "$", "!", "'", "(", ")", ",", ":")
ENDS = ("/", "//", "/.", "/..", ".", "%20", "%00", "%00.php", "~", ".bak", ";", ";.php", "%0a", "/x.php", "/a/b", "/%2e%2e/other.php", "/.git/x", "/a%2Fb",
        "/;/", "/index.php", "/other.php/x", "\\", "%5c", "%2f", "/.php", ".php", "%23", "%3F.php", "/..%2f..%2fother.php")
LONGEST = 7_000


class Paths:
    def __init__(self, existing: list[str], seed: int) -> None:
        self.existing = [quote_from_bytes(name.encode(errors="surrogateescape")) for name in existing]
        self.random = random.Random(seed)
        self.changes: tuple[Callable[[str], str], ...] = (
            self.end, self.end, self.encode, self.encode_twice, self.more_slashes, self.insert, self.insert, self.encode_slash, self.other_case, self.longer,
            self.detour)

    def path(self) -> bytes:
        pick = self.random
        if pick.random() < 0.7:
            path = "/" + pick.choice(self.existing)
        else:
            path = "/" + "/".join(pick.choice(NAMES) for _ in range(pick.randrange(6)))
        for _ in range(pick.choice((0, 0, 1, 1, 1, 2, 3))):
            path = pick.choice(self.changes)(path)
        # Beyond this length, requests are refused whatever they name (414).
        return (path if path.startswith("/") else "/" + path).encode()[:LONGEST]

    def end(self, path: str) -> str:
        return path + self.random.choice(ENDS)

    def place(self, path: str) -> int:
        return self.random.randrange(len(path)) if path else 0

    def encode(self, path: str) -> str:
        at = self.place(path)
        return path if path[at:at + 1] in ("", "/", "%") else f"{path[:at]}%{ord(path[at]):02{self.random.choice('xX')}}{path[at + 1:]}"

    def encode_twice(self, path: str) -> str:
        return self.encode(path).replace("%", "%25", 1)

    def more_slashes(self, path: str) -> str:
        return path.replace("/", self.random.choice(("//", "///", "/./", "/%2e/")), self.random.randrange(1, 3))

    def insert(self, path: str) -> str:
        slashes = [at for at, letter in enumerate(path) if letter == "/"]
        at = self.random.choice(slashes) if slashes else 0
        return f"{path[:at]}/{self.random.choice(NAMES)}{path[at:]}"

    def encode_slash(self, path: str) -> str:
        head, slash, rest = path[1:].partition("/")
        return f"/{head}{self.random.choice(('%2F', '%5C', chr(92), '%252F')) if slash else ''}{rest}"

    def other_case(self, path: str) -> str:
        at = self.place(path)
        return path[:at] + path[at:at + 4].swapcase() + path[at + 4:]

    def longer(self, path: str) -> str:
        return path + self.random.choice(("/" + "a" * 255, "/" + "b" * 256, "/c" * 500, "/" + "x" * 3000 + ".php"))

    def detour(self, path: str) -> str:
        return f"/{self.random.choice(self.existing)}/..{path}"
