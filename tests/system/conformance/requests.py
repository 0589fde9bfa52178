"""The table: about a hundred requests for one folder."""

from __future__ import annotations

import dataclasses
import os
import pathlib

# Whole seconds, long ago: the date as both servers send it.
MODIFIED = 1_000_000_000
DATE = "Sun, 09 Sep 2001 01:46:40 GMT"
BEFORE = "Sun, 09 Sep 2001 01:46:39 GMT"
AFTER = "Sun, 09 Sep 2001 01:46:41 GMT"
TEXT = "".join(f"line {number}\n" for number in range(400))


def make_site(folder: pathlib.Path) -> None:
    files = {"index.html": "<p>home</p>\n", "small.txt": "0123456789", "empty.txt": "", "large.txt": TEXT, "noending": "x",
             "a b.txt": "space", "ü.txt": "umlaut", "%41.txt": "percent", "folder/index.html": "<p>folder</p>\n",
             "listed/one.txt": "1", "listed/two.txt": "2", "listed/sub/x.txt": "x", ".hidden": "h", "q?.txt": "question",
             "plus+.txt": "plus", "packed.css": "body { }\n" * 300, "a;b.txt": "semicolon"}
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    import gzip
    (folder / "packed.css.gz").write_bytes(gzip.compress((folder / "packed.css").read_bytes(), mtime=0))
    (folder / "inside.txt").symlink_to("small.txt")
    for path in [*folder.rglob("*"), folder]:
        if not path.is_symlink():
            os.utime(path, (MODIFIED, MODIFIED))


@dataclasses.dataclass(frozen=True)
class Asked:
    """One request. `{tag}` in a header stands for the server's own entity tag of the target."""

    name: str
    target: str
    headers: tuple[tuple[str, str], ...] = ()
    method: str = "GET"
    body: bytes = b""


def table() -> list[Asked]:
    found: list[Asked] = []

    def add(name: str, target: str, method: str = "GET", body: bytes = b"", **headers: str) -> None:
        fields = tuple((key.replace("_", "-"), value) for key, value in headers.items())
        found.append(Asked(name, target, fields, method, body))

    for name, target in [
            ("file", "/small.txt"), ("index", "/"), ("index of a folder", "/folder/"), ("index by name", "/folder/index.html"),
            ("empty file", "/empty.txt"), ("no ending", "/noending"), ("link", "/inside.txt"), ("missing", "/missing"),
            ("missing below", "/folder/missing"), ("below a file", "/small.txt/x"), ("file with slash", "/small.txt/"),
            ("folder without slash", "/folder"), ("folder without slash, query", "/folder?a=b"), ("listing", "/listed/"),
            ("listing without slash", "/listed"), ("hidden", "/.hidden"), ("query", "/small.txt?x=1&y"), ("empty query", "/small.txt?"),
            ("encoded letter", "/sm%61ll.txt"), ("encoded space", "/a%20b.txt"), ("plus", "/plus+.txt"), ("plus is no space", "/a+b.txt"),
            ("umlaut", "/%C3%BC.txt"), ("umlaut, small digits", "/%c3%bc.txt"), ("encoded percent", "/%2541.txt"),
            ("decoded once", "/%41.txt"), ("encoded question mark", "/q%3F.txt"), ("semicolon", "/a;b.txt"),
            ("two slashes", "//small.txt"), ("two slashes within", "/folder//index.html"), ("dot", "/./small.txt"),
            ("dot within", "/folder/./index.html"), ("up and down", "/folder/../small.txt"), ("above the root", "/../small.txt"),
            ("above the root, encoded", "/%2e%2e/small.txt"), ("encoded slash", "/folder%2Findex.html"), ("NUL", "/small.txt%00"),
            ("broken encoding", "/%zz"), ("cut encoding", "/small.txt%4"), ("three dots", "/..."), ("backslash", "/folder\\index.html"),
            ("fragment", "/small.txt#x"), ("long name", "/" + "x" * 300), ("folder dot", "/folder/."), ("folder dot dot", "/folder/..")]:
        add(name, target)
    for method in ("HEAD", "OPTIONS", "POST", "PUT", "DELETE", "TRACE", "PATCH", "FOO"):
        add(f"method {method}", "/small.txt", method)
    add("HEAD of a listing", "/listed/", "HEAD")
    add("HEAD of what is missing", "/missing", "HEAD")
    add("POST with a body", "/small.txt", "POST", b"x=1", Content_Length="3")
    add("GET with a body", "/small.txt", "GET", b"abc", Content_Length="3")
    add("POST to what is missing", "/missing", "POST", Content_Length="0")
    add("DELETE of a folder", "/folder/", "DELETE")

    for name, value in [("first", "bytes=0-0"), ("some", "bytes=2-4"), ("to the end", "bytes=5-"), ("last", "bytes=-3"), ("all", "bytes=0-"),
                        ("beyond", "bytes=5-100"), ("long suffix", "bytes=-100"), ("behind", "bytes=10-"), ("far behind", "bytes=100-200"),
                        ("suffix of none", "bytes=-0"), ("backwards", "bytes=4-2"), ("no number", "bytes=a-b"), ("other unit", "lines=1-2"),
                        ("no equals", "bytes 0-1"), ("capitals", "BYTES=0-1"), ("two", "bytes=0-1,5-6"), ("two, touching", "bytes=0-1,2-3"),
                        ("two, overlapping", "bytes=0-5,3-7"), ("two, one behind", "bytes=0-1,50-60"), ("two, both behind", "bytes=50-60,70-"),
                        ("many", "bytes=" + ",".join(f"{n}-{n}" for n in range(9))), ("whole twice", "bytes=0-,0-"), ("spaces", "bytes= 0-1 , 3-4"),
                        ("empty", ""), ("huge", "bytes=0-99999999999999999999")]:
        add(f"range, {name}", "/small.txt", Range=value)
    add("range of HEAD", "/small.txt", "HEAD", Range="bytes=0-1")
    add("range of nothing", "/empty.txt", Range="bytes=0-")
    add("suffix of nothing", "/empty.txt", Range="bytes=-1")
    add("range of what is missing", "/missing", Range="bytes=0-1")
    add("range and gzip", "/large.txt", Range="bytes=0-9", Accept_Encoding="gzip")

    add("If-None-Match, same", "/small.txt", If_None_Match="{tag}")
    add("If-None-Match, weak", "/small.txt", If_None_Match="W/{tag}")
    add("If-None-Match, other", "/small.txt", If_None_Match='"other"')
    add("If-None-Match, list", "/small.txt", If_None_Match='"other", {tag}')
    add("If-None-Match, any", "/small.txt", If_None_Match="*")
    add("If-None-Match, any, missing", "/missing", If_None_Match="*")
    add("If-None-Match before If-Modified-Since", "/small.txt", If_None_Match='"other"', If_Modified_Since=DATE)
    add("If-None-Match, same, HEAD", "/small.txt", "HEAD", If_None_Match="{tag}")
    add("If-None-Match, same, of a folder", "/folder/", If_None_Match="{tag}")
    add("If-Modified-Since, same", "/small.txt", If_Modified_Since=DATE)
    add("If-Modified-Since, before", "/small.txt", If_Modified_Since=BEFORE)
    add("If-Modified-Since, after", "/small.txt", If_Modified_Since=AFTER)
    add("If-Modified-Since, no date", "/small.txt", If_Modified_Since="yesterday")
    add("If-Match, same", "/small.txt", If_Match="{tag}")
    add("If-Match, weak", "/small.txt", If_Match="W/{tag}")
    add("If-Match, other", "/small.txt", If_Match='"other"')
    add("If-Match, any", "/small.txt", If_Match="*")
    add("If-Unmodified-Since, same", "/small.txt", If_Unmodified_Since=DATE)
    add("If-Unmodified-Since, before", "/small.txt", If_Unmodified_Since=BEFORE)
    add("If-Unmodified-Since, no date", "/small.txt", If_Unmodified_Since="yesterday")
    add("If-Match before If-Unmodified-Since", "/small.txt", If_Match="{tag}", If_Unmodified_Since=BEFORE)
    add("If-Range, same tag", "/small.txt", Range="bytes=0-1", If_Range="{tag}")
    add("If-Range, weak tag", "/small.txt", Range="bytes=0-1", If_Range="W/{tag}")
    add("If-Range, other tag", "/small.txt", Range="bytes=0-1", If_Range='"other"')
    add("If-Range, same date", "/small.txt", Range="bytes=0-1", If_Range=DATE)
    add("If-Range, earlier date", "/small.txt", Range="bytes=0-1", If_Range=BEFORE)
    add("If-Range without Range", "/small.txt", If_Range='"other"')
    add("If-None-Match with Range", "/small.txt", Range="bytes=0-1", If_None_Match="{tag}")
    add("If-Match, other, with Range", "/small.txt", Range="bytes=0-1", If_Match='"other"')

    for name, value in [("gzip", "gzip"), ("gzip refused", "gzip;q=0"), ("any", "*"), ("identity", "identity"), ("unknown", "foo"),
                        ("capitals", "GZIP"), ("quality", "gzip;q=0.5"), ("list", "deflate, gzip")]:
        add(f"encoding, {name}", "/large.txt", Accept_Encoding=value)
    add("encoding of a small file", "/small.txt", Accept_Encoding="gzip")
    add("encoding beforehand", "/packed.css", Accept_Encoding="gzip")
    add("encoding beforehand, not taken", "/packed.css")
    add("encoding, HEAD", "/large.txt", "HEAD", Accept_Encoding="gzip")
    add("the packed file itself", "/packed.css.gz", Accept_Encoding="gzip")
    return found
