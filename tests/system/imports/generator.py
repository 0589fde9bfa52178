"""Random servers of nginx, and requests that tell apart which of their locations answer."""

from __future__ import annotations

import dataclasses
import random

PREFIXES = ["/", "/a", "/a/", "/ab", "/a/b", "/a/b/", "/c", "/c/", "/c/d/e/"]
EXPRESSIONS = [r"\.x$", r"\.y$", r"^/a/.*\.x$", r"^/(a|c)/", r"b", r"/b/", r"^/c/([a-z]+)/", r"\.(x|y)$", r"^/a"]
FIELDS = ["X-One", "X-Two"]
STATUSES = [200, 403, 404, 410, 503]
TARGETS = ["/a/1.x", "/c/2", "/ab", "/page", "/a/b/3.y", "/gone"]
# Files below the folder that is the root of all servers.
FILES = ["index.html", "a/1.x", "a/index.html", "a/b/3.y", "a/b/index.html", "c/index.html", "c/d/index.html", "ab.html", "page"]
PATHS = ["/", "/a", "/a/", "/ab", "/abc", "/a/b", "/a/b/", "/a/1.x", "/a/b/3.y", "/a/b/c.x", "/c", "/c/", "/c/d", "/c/d/", "/c/d/e/", "/c/d/e/f.x",
         "/c/zz/b/q.y", "/page", "/gone", "/q.X", "/a/%62/", "/%61/1.x", "//a///b/", "/a/q.x?v=1&w=2", "/ab?q=%20", "/c/d/e/b.y", "/missing.x"]


# Variables that `X-Key` decides about: their values, in blocks of `http`.
DISTRIBUTIONS = """    split_clients "$http_x_key~" $variant { 10% one; 0.5% ""; 33.33% $two; 12.05% three; * 0; }
    geo $http_x_key $place { default none; 10.0.0.0/8 office; 10.1.0.0/16 lab; 10.1.2.3 0; 192.0.0.0/3 ""; 2001:db8::/32 lab; 2001:db8::1 six; ::/1 low;
        172.16.0.0/12 gone; delete 172.16.0.0/12; }
    geo $http_x_key $range { ranges; default none; 0.0.0.0-2.0.0.255 low; 10.0.0.1-10.1.2.3 ten; 10.1.2.4-10.1.2.4 one; 200.0.0.0-254.0.0.1 high; }
"""


def keys(count: int) -> list[str]:
    """Values of `X-Key`: addresses, most of them in networks of `geo`, and other texts."""
    drawn = random.Random(1)

    def number() -> int:
        return drawn.choice([0, 1, 2, 3, drawn.randrange(256)])

    shapes = (
        lambda: f"10.{number()}.{number()}.{number()}",
        lambda: f"{number()}.{number()}.{number()}.{number()}",
        lambda: f"::ffff:10.{number()}.{number()}.{number()}",
        lambda: f"2001:db8::{number():x}",
        lambda: f"{drawn.randrange(1 << 16):x}::{number():x}",
        lambda: "".join(drawn.choices("abcXYZ019-._/:", k=drawn.randrange(1, 40))),
    )
    return [drawn.choice(shapes)() for _ in range(count)]


KEYS = keys(50)


@dataclasses.dataclass
class Generator:
    """Servers, each from its own seed."""

    seed: int

    def __post_init__(self) -> None:
        self.random = random.Random(self.seed)
        self.count = 0

    def server(self, name: str, port: int, root: str) -> str:
        lines = [f"listen 127.0.0.1:{port};", f"server_name {name};", f"root {root};"]
        lines += self.fields(0.3)
        lines += self.pages(0.2)
        if self.random.random() < 0.15:
            lines += self.steps(1, is_server=True)
        lines += self.locations(depth=0, outer="")
        if self.random.random() < 0.4:
            lines.append(f"location @named {{ {self.fields_text(0.3)} return {self.random.choice([200, 404])} \"named $uri\"; }}")
        return "server {\n    " + "\n    ".join(lines) + "\n}\n"

    def locations(self, depth: int, outer: str | None) -> list[str]:
        """Locations in a prefix, or in an expression: there, nginx takes only expressions."""
        used: set[str] = set()
        lines = []
        for _ in range(self.random.randint(1 if depth == 0 else 0, 5 if depth == 0 else 2)):
            sign = self.random.choice(["~", "~*"] if outer is None else ["", "", "", "=", "^~", "~", "~*"])
            if sign.startswith("~"):
                path = self.random.choice(EXPRESSIONS)
            else:
                path = self.random.choice([prefix for prefix in PREFIXES if prefix.startswith(outer)] or [outer + "z"])
            # nginx has `/a` and `^~ /a` as the same location.
            key = ("=" if sign == "=" else "~" if sign.startswith("~") else "prefix") + path
            if key in used:
                continue
            used.add(key)
            lines.append(self.location(sign, path, depth))
        return lines

    def location(self, sign: str, path: str, depth: int) -> str:
        inner = []
        if depth < 2 and sign != "=" and self.random.random() < 0.3:
            inner = self.locations(depth + 1, None if sign.startswith("~") else path)
        body = self.fields(0.25) + self.pages(0.15) + self.content() + inner
        if self.random.random() < 0.06:
            body.append("internal;")
        if self.random.random() < 0.06:
            body.append(self.random.choice(["deny all;", "deny all;", "allow 127.0.0.1; deny all;", "deny 127.0.0.1;", "allow 192.0.2.1; deny all;"]))
        return f"location {sign} {path} {{ " + " ".join(body) + " }"

    def content(self) -> list[str]:
        chosen = self.random.random()
        if chosen < 0.5:
            self.count += 1
            return [f'return {self.random.choice([200, 200, 200, 404, 410])} "location {self.count} $uri $args";']
        if chosen < 0.6:
            return [f"return {self.random.choice([301, 302, 307, 308])} http://other.test{self.random.choice(TARGETS)}{self.random.choice(['', '?k=1', '$is_args$args'])};"]
        if chosen < 0.75:
            return self.steps(self.random.randint(1, 2), is_server=False)
        if chosen < 0.85:
            last = self.random.choice(["=404", "=410", "/page", "/index.html?t=1", "/gone?$args"])
            return [f"try_files {self.random.choice(['$uri', '$uri $uri/', '$uri $uri.html', '$uri/ $uri'])} {last};"]
        return []

    def steps(self, count: int, *, is_server: bool) -> list[str]:
        """Directives of the module `rewrite`."""
        steps = []
        for _ in range(count):
            kind = self.random.random()
            if kind < 0.4:
                steps.append(f"if ({self.condition()}) {{ {self.answer()} }}")
            elif kind < 0.8:
                flags = ["last", "redirect", "permanent"] if is_server else ["last", "last", "break", "redirect", "permanent"]
                expression = self.random.choice(["^/a/(.*)$", "^/c/([a-z]+)/(.*)$", r"^(.*)\.x$", "^/gone$", "^/ab"])
                target = self.random.choice(TARGETS + ["/c/$1", "/a/$1"] if "(" in expression else TARGETS)
                flag = self.random.choice(flags)
                target = f"http://other.test{target}" if flag in ("redirect", "permanent") else target
                steps.append(f"rewrite {expression} {target}{self.random.choice(['', '', '?', '?z=1'])} {flag};")
            else:
                steps.append(f"if ({self.condition()}) {{ rewrite ^ {self.random.choice(TARGETS)} last; }}")
        return steps

    def condition(self) -> str:
        return self.random.choice(["$arg_v", "$arg_v = 1", "$arg_v != 1", "$request_method = POST", "$http_x_test ~ ^o", "$http_x_test !~* ^O",
                                   "$uri ~ ^/a", "$request_uri ~* B", "$host = other.test", "$variant", "$variant = one",
                                   "$place = lab", "$place != none"])

    def answer(self) -> str:
        self.count += 1
        return self.random.choice([f'return 200 "answer {self.count} $uri";', "return 403;", f"return 301 http://other.test{self.random.choice(TARGETS)};"])

    def fields(self, chance: float) -> list[str]:
        fields = []
        while self.random.random() < chance:
            self.count += 1
            always = self.random.choice(["", " always"])
            value = self.random.choice([f"v{self.count}"] * 8 + ["$variant", "$place"])
            fields.append(f"add_header {self.random.choice(FIELDS)} {value}{always};")
        return fields

    def fields_text(self, chance: float) -> str:
        return " ".join(self.fields(chance))

    def pages(self, chance: float) -> list[str]:
        if self.random.random() >= chance:
            return []
        status = self.random.choice(["404", "403 404", "410", "503"])
        return [f"error_page {status} {self.random.choice(['', '', '=200 ', '= '])}{self.random.choice(['/page', '/a/1.x', '/gone'])};"]

    def requests(self, count: int) -> list[tuple[str, str, dict[str, str]]]:
        """Methods, targets and fields."""
        made = []
        for _ in range(count):
            fields = {"X-Test": self.random.choice(["one", "two"])} if self.random.random() < 0.2 else {}
            if self.random.random() < 0.5:
                fields["X-Key"] = self.random.choice(KEYS)
            method = self.random.choice(["GET"] * 8 + ["HEAD", "POST"])
            path = self.random.choice(PATHS)
            if self.random.random() < 0.15:
                path += ("&" if "?" in path else "?") + self.random.choice(["v=1", "v=0", "v", "other=2"])
            made.append((method, path, fields))
        return made
