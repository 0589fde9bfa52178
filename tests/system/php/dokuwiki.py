"""DokuWiki, which keeps its pages in files below its root: nobody may read them there."""

from __future__ import annotations

import json
import subprocess

from ..gallery.browser import browse
from ..polling import wait_until
from .application import PASSWORD, Application, Expectation, Place
from .picture import picture
from .visitor import Visitor, multipart


class DokuWiki(Application):
    name, version, is_short = "dokuwiki", "2022-07-31a", True
    packages = ("dokuwiki",)
    source = "/usr/share/dokuwiki"
    entry_points = ("/index.php", "/doku.php", "/feed.php", "/install.php", "/lib/exe/*.php")
    has_front_controller = False
    hidden = (
        "/data/pages/wiki/secret.txt",
        "/data/meta/wiki/secret.changes",
        "/data/media/wiki/*.png",
        "/conf/local.php",
        "/conf/users.auth.php",
        "/conf/acl.auth.php",
        "/conf/mime.conf",
        "/bin/dwpage.php",
        "/inc/auth.php",
        "/inc/lang/en/install.html",
        "/vendor/autoload.php",
        "/lib/plugins/acl/admin.php",
        "/lib/tpl/dokuwiki/main.php",
        "/.htaccess",
    )
    public = ("/lib/images/*.png", "/lib/tpl/dokuwiki/images/*.png", "/lib/scripts/*.js")

    def prepare(self, place: Place) -> None:
        super().prepare(place)
        site = place.site
        # As it comes from its makers: Debian has these two elsewhere.
        (site / "inc/preload.php").unlink()
        for source, name in (("var/lib/dokuwiki/data", "data"), ("etc/dokuwiki", "conf")):
            subprocess.run(["cp", "-r", place.home / source, site / name], check=True)
        for name in ("acl.auth.php", "users.auth.php"):
            (site / "conf" / name).unlink()
        (site / ".htaccess").write_text("Require all granted\n")
        # Browsers fetch it as the site's icon. Each picture that DokuWiki sends to a stranger deletes the cookie of a login: also of
        # one that has succeeded in the meantime.
        (site / "data/media/wiki/dokuwiki.svg").unlink(missing_ok=True)
        settings = site / "conf/dokuwiki.php"
        settings.write_text(settings.read_text().replace("/var/lib/dokuwiki/data", "./data"))

    def install(self, expect: Expectation, visitor: Visitor, place: Place) -> None:
        expect("the installer", visitor.get("/install.php"), 200)
        values = {
            "title": "Wiki",
            "acl": "on",
            "superuser": "ann",
            "fullname": "Ann",
            "email": "ann@example.com",
            "password": PASSWORD,
            "confirm": PASSWORD,
            "policy": "0",
            "license": "cc-by-sa",
        }
        answer = visitor.form("/install.php", l="en", submit="", **{f"d[{name}]": value for name, value in values.items()})
        expect("the installer's form", answer, 200, "finished successfully" in answer.text)
        answer = visitor.form("/install.php", l="en", submit="", **{f"d[{name}]": value for name, value in values.items()})
        expect("the installer, a second time", answer, 404)

    def use(self, expect: Expectation, visitor: Visitor, place: Place) -> None:
        answer = visitor.get("/")
        expect("the start page", answer, 302, answer.location.endswith("doku.php?id=start"))
        answer = visitor.form(
            "/doku.php?id=start&do=login", u="ann", p="wrong", sectok=visitor.get("/doku.php?do=login").inputs.get("sectok", "")
        )
        expect("a wrong password", answer, 403, "wrong" in answer.text)
        answer = visitor.form(
            "/doku.php?id=start&do=login", u="ann", p=PASSWORD, sectok=visitor.get("/doku.php?do=login").inputs.get("sectok", "")
        )
        expect("the right password", answer, 302)
        self.edit(expect, visitor, place)
        self.upload(expect, visitor)
        for target, kind in (
            ("/feed.php", "application/xml"),
            ("/lib/exe/css.php?t=dokuwiki", "text/css"),
            ("/lib/exe/js.php?t=dokuwiki", "application/javascript"),
            ("/lib/exe/opensearch.php", "application/opensearchdescription+xml"),
            ("/lib/exe/manifest.php", "application/manifest+json"),
            ("/lib/exe/indexer.php?id=start", "image/gif"),
            ("/doku.php?do=admin&page=usermanager", "text/html"),
        ):
            answer = visitor.get(target)
            expect(target, answer, 200, answer.fields.get("Content-Type", "").startswith(kind))
        call = "<?xml version='1.0'?><methodCall><methodName>dokuwiki.getVersion</methodName></methodCall>"
        expect("XML-RPC", visitor.ask("POST", "/lib/exe/xmlrpc.php", call, Content_Type="text/xml"), 200)
        answer = visitor.get("/doku.php?id=missing")
        expect("a missing page", answer, 200, "does not exist" in answer.text)
        expect("a missing file", visitor.get("/missing"), 404)
        self.inner_addresses(expect, visitor, place)
        self.in_a_browser(expect, place)

    def edit(self, expect: Expectation, visitor: Visitor, place: Place) -> None:
        for page in ("wiki:secret", "grüße"):
            form = visitor.get(f"/doku.php?id={page.replace('ü', '%C3%BC').replace('ß', '%C3%9F')}&do=edit").inputs
            answer = visitor.form(
                "/doku.php",
                **{
                    name: form[name]
                    for name in ("sectok", "id", "rev", "date", "prefix", "suffix", "changecheck", "target")
                    if name in form
                },
                wikitext="====== Grüße ======\nText of the page",
                summary="new",
                **{"do[save]": "1"},
            )
            answer = visitor.follow(expect(f"a new page {page}", answer, 302))
            expect(f"the page {page}", answer, 200, "Text of the page" in answer.text)
        answer = visitor.get("/doku.php?do=search&id=start&q=Gr%C3%BC%C3%9Fe")
        expect("a search", answer, 200)

    def upload(self, expect: Expectation, visitor: Visitor) -> None:
        small = picture(2_000)
        token = visitor.get("/lib/exe/mediamanager.php?ns=wiki").inputs.get("sectok", "")
        body, kind = multipart({"sectok": token, "ns": "wiki", "call": "mediaupload"}, "qqfile", "shot.png", small)
        answer = visitor.ask("POST", "/lib/exe/ajax.php", body, Content_Type=kind)
        expect("an upload", answer, 200, "success" in answer.text)
        answer = visitor.get("/lib/exe/fetch.php?media=wiki:shot.png")
        expect("the upload, fetched", answer, 200, answer.body == small and answer.fields.get("Content-Type") == "image/png")
        answer = visitor.get("/lib/exe/fetch.php?media=wiki:shot.png", Range="bytes=0-7")
        expect("a part of it", answer, 206, answer.body == small[:8])
        body, kind = multipart({"sectok": token, "ns": "wiki", "call": "mediaupload"}, "qqfile", "evil.php", b"<?php echo 1;")
        answer = visitor.ask("POST", "/lib/exe/ajax.php", body, Content_Type=kind)
        expect("a script as an upload", answer, 200, "success" not in answer.text)

    def inner_addresses(self, expect: Expectation, visitor: Visitor, place: Place) -> None:
        """`userewrite = 2` has the page behind the script: PATH_INFO."""
        settings = place.site / "conf/local.php"
        settings.write_text(settings.read_text() + "$conf['userewrite'] = 2;\n")
        # opcache looks at a file again after some seconds.
        wait_until(lambda: "/doku.php/wiki:secret" in visitor.get("/doku.php?id=wiki:secret").text)
        answer = visitor.get("/doku.php/wiki:secret")
        expect("a page by PATH_INFO", answer, 200, "Text of the page" in answer.text)
        answer = visitor.get("/lib/exe/fetch.php/wiki:shot.png")
        expect("an upload by PATH_INFO", answer, 200, answer.fields.get("Content-Type") == "image/png")

    def in_a_browser(self, expect: Expectation, place: Place) -> None:
        fill = (
            f"document.querySelector('[name=u]').value = 'ann'; document.querySelector('[name=p]').value = {json.dumps(PASSWORD)}; "
            "document.querySelector('#dw__login').submit()"
        )
        found = browse(
            f"{place.origin}/doku.php?id=wiki:secret&do=login",
            ("wait", "document.readyState == 'complete'"),
            ("value", fill),
            ("wait", "document.body.innerText.includes('Logged in as')"),
            ("wait", "document.readyState == 'complete'"),
            ("value", "document.body.innerText"),
            ("errors",),
        )
        expect.holds("Text of the page" in found[-2] and not found[-1], f"in Chromium: {found[-1]}, {found[-2][:300]!r}")
