"""A person with a browser: pages, forms, uploads and cookies, by curl over HTTP/1.1 or HTTP/2."""

from __future__ import annotations

import concurrent.futures
import dataclasses
import hashlib
import html.parser
import pathlib
import random
import subprocess
import tempfile
import urllib.parse

# A response that takes longer is lost: curl then ends with an error.
LIMIT = "120"
# The size of a photograph or a short film, beyond the default of `max-body`.
LARGE = random.Random(1).randbytes(20_000_000)
DIGEST = hashlib.sha256(LARGE).hexdigest()


class Lost(Exception):
    """No whole response arrived."""


class Unexpected(Exception):
    """A response that the person did not expect."""


class Fields(html.parser.HTMLParser):
    """The fields of a page's forms, and its links."""

    def __init__(self) -> None:
        super().__init__()
        self.values: dict[str, str] = {}
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        if tag == "input" and found.get("name") and found.get("type") not in ("submit", "button", "checkbox", "radio", "file"):
            self.values[found["name"]] = found.get("value") or ""
        self.links += [found[name] for name in ("href", "src", "action") if found.get(name)]


@dataclasses.dataclass(slots=True)
class Page:
    status: int
    version: str
    headers: dict[str, str]
    body: bytes
    request: str

    @property
    def text(self) -> str:
        return self.body.decode(errors="replace")

    @property
    def fields(self) -> dict[str, str]:
        return self.parsed.values

    @property
    def links(self) -> list[str]:
        return self.parsed.links

    @property
    def parsed(self) -> Fields:
        found = Fields()
        found.feed(self.text)
        return found

    def expect(self, status: int, *parts: str) -> "Page":
        if self.status != status:
            raise Unexpected(f"{self.request}: {self.status} rather than {status}: {self.text[:300]}")
        for part in parts:
            if part not in self.text:
                raise Unexpected(f"{self.request}: without {part!r}: {self.text[:300]}")
        return self


class Visitor:
    def __init__(self, port: int, prefix: str = "", *, http2: bool = False, compressed: bool = False, credentials: str = "") -> None:
        self.credentials = credentials
        self.port, self.prefix, self.origin = port, prefix, f"http://127.0.0.1:{port}"
        self.folder = tempfile.TemporaryDirectory(prefix="visitor-")
        self.jar = pathlib.Path(self.folder.name, "cookies")
        self.options = ["--http2-prior-knowledge" if http2 else "--http1.1", *(["--compressed"] if compressed else []),
                        *(["--user", credentials] if credentials else [])]
        self.number = 0

    def __enter__(self) -> "Visitor":
        return self

    def __exit__(self, *_) -> None:
        self.folder.cleanup()

    def url(self, path: str) -> str:
        return path if path.startswith("http://") else f"{self.origin}{self.prefix}{path}"

    def request(self, path: str, *options: str) -> Page:
        self.number += 1
        stem = pathlib.Path(self.folder.name, str(self.number))
        head, body = stem.with_suffix(".head"), stem.with_suffix(".body")
        command = ["curl", "--silent", "--show-error", "--globoff", "--path-as-is", "--max-time", LIMIT, "--cookie", self.jar, "--cookie-jar",
                   self.jar, "--dump-header", head, "--output", body, *self.options, *options, self.url(path)]
        done = subprocess.run(command, capture_output=True, text=True)
        words = f"{' '.join(map(str, options))[:200]} {self.prefix}{path}"
        if done.returncode != 0:
            raise Lost(f"{words}: {done.stderr.strip()}")
        # The last head: informational responses come before it.
        first, *lines = head.read_text(errors="replace").strip().split("\n\n")[-1].splitlines()
        version, status, *_ = first.split()
        fields = [line.partition(":") for line in lines]
        content = body.read_bytes() if body.exists() else b""
        body.unlink(missing_ok=True)
        return Page(int(status), version, {name.lower(): value.strip() for name, _, value in fields}, content, words)

    def get(self, path: str, *options: str) -> Page:
        return self.request(path, *options)

    def follow(self, page: Page) -> Page:
        """The page that a redirection leads to."""
        if page.status not in (301, 302, 303, 307, 308):
            raise Unexpected(f"{page.request}: {page.status} rather than a redirection: {page.text[:300]}")
        target = urllib.parse.urljoin(self.url(page.request.split()[-1].removeprefix(self.prefix)), page.headers["location"])
        if target != f"{self.origin}{self.prefix}" and not target.startswith(f"{self.origin}{self.prefix}/"):
            raise Unexpected(f"{page.request}: leads to {target}, outside {self.origin}{self.prefix}/")
        return self.get(target)

    def post(self, path: str, values: dict[str, str], *options: str) -> Page:
        pairs = [word for name, value in values.items() for word in ("--data-urlencode", f"{name}={value}")]
        return self.request(path, *(pairs or ["--data", ""]), *options)

    def send(self, method: str, path: str, content: str | bytes, *options: str) -> Page:
        """A request with this body."""
        file = pathlib.Path(self.folder.name, f"{self.number + 1}-{method}.sent")
        file.write_bytes(content.encode() if isinstance(content, str) else content)
        return self.request(path, "--request", method, "--data-binary", f"@{file}", *options)

    def upload(self, path: str, field: str, name: str, content: bytes, values: dict[str, str] | None = None, *options: str) -> Page:
        """A form with a file."""
        file = pathlib.Path(self.folder.name, name)
        file.write_bytes(content)
        pairs = (word for key, value in (values or {}).items() for word in ("--form-string", f"{key}={value}"))
        return self.request(path, *pairs, "--form", f"{field}=@{file}", *options)

    def at_once(self, *actions) -> list:
        """Does several things at the same time; each action takes a visitor with the same cookies."""
        with concurrent.futures.ThreadPoolExecutor(len(actions)) as pool:
            return [future.result() for future in [pool.submit(action, self.twin()) for action in actions]]

    def twin(self) -> "Visitor":
        other = Visitor(self.port, self.prefix)
        other.options = self.options
        if self.jar.exists():
            other.jar.write_bytes(self.jar.read_bytes())
        return other

    def cookie_values(self) -> dict[str, str]:
        lines = self.jar.read_text().splitlines() if self.jar.exists() else []
        found = [line.split("\t") for line in lines if line.count("\t") == 6]
        return {fields[5]: fields[6] for fields in found}

    def cookies(self) -> str:
        """The field `Cookie`, for a request that curl does not make."""
        return "; ".join(f"{name}={value}" for name, value in self.cookie_values().items())

    def token(self, name: str) -> str:
        """The value of a cookie."""
        return self.cookie_values().get(name, "")

    def socket(self, path: str, **headers: str):
        from .websocket import connect

        return connect(self.port, f"{self.prefix}{path}", headers)


def assert_equal(found: object, wanted: object) -> None:
    if found != wanted:
        raise Unexpected(f"{str(found)[:300]} rather than {str(wanted)[:300]}")
