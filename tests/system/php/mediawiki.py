"""MediaWiki with SQLite: titles with the characters of URLs, an upload, the two interfaces for programs."""

from __future__ import annotations

import json
import re
import urllib.parse

from ..gallery.browser import browse
from .application import PASSWORD, Application, Expectation, Place
from .picture import picture
from .visitor import Visitor, multipart

SETTINGS = """
$wgArticlePath = '/wiki/$1';
$wgEnableUploads = true;
$wgUseImageMagick = false;
$wgFileExtensions = ['png'];
$wgShowExceptionDetails = true;
$wgGroupPermissions['*']['edit'] = true;
$wgCacheDirectory = "$IP/cache";
"""
TITLES = {
    "A/B?": "A%2FB%3F",
    "C++": "C%2B%2B",
    "AC/DC": "AC/DC",
    "Grüße & Co": "Gr%C3%BC%C3%9Fe_%26_Co",
    "50% of №1": "50%25_of_%E2%84%961",
    "A:B;C=D,E": "A:B;C=D,E",
    "Dots...": "Dots...",
}


class MediaWiki(Application):
    name, version = "mediawiki", "1.39.17"
    packages = ("mediawiki",)
    source = "/usr/share/mediawiki"
    without = ("extensions-core", "extensions/[!CPW]*")
    entry_points = (
        "/index.php",
        "/load.php",
        "/api.php",
        "/rest.php",
        "/thumb.php",
        "/thumb_handler.php",
        "/img_auth.php",
        "/opensearch_desc.php",
    )
    no_scripts = ("/images/*",)
    hidden = (
        "/LocalSettings.php",
        "/includes/WebStart.php",
        "/includes/.htaccess",
        "/maintenance/tables.json",
        "/maintenance/install.php",
        "/mw-config/index.php",
        "/vendor/composer/*.json",
        "/languages/i18n/*.json",
        "/languages/data/*",
        "/data/wiki.sqlite",
        "/cache/secret.cdb",
        "/images/deleted/a/secret.png",
        "/images/evil.php",
        "/images/.htaccess",
        "/extensions/Cite/src/Cite.php",
        "/composer.json",
    )
    public = ("/resources/assets/*.png",)

    def prepare(self, place: Place) -> None:
        super().prepare(place)
        site = place.site
        (site / "LocalSettings.php").unlink(missing_ok=True)
        for name in ("cache", "data", "images/deleted/a", "images/temp"):
            (site / name).mkdir(parents=True, exist_ok=True)
        (site / "cache/secret.cdb").write_text("a secret of the cache")
        (site / "images/deleted/a/secret.png").write_text("a picture that was deleted")
        (site / "images/evil.php").write_text("<?php echo 'ran ' . 'here';")

    def install(self, expect: Expectation, visitor: Visitor, place: Place) -> None:
        expect("before the installation", answer := visitor.get("/"), 200, "mw-config/index.php" in answer.text)
        expect("a style of the installer", visitor.get("/mw-config/config.css"), 200)
        page = visitor.get("/mw-config/index.php")
        forms = {
            "Language": {"uselang": "en", "ContLang": "en"},
            "Welcome": {},
            "DBConnect": {"DBType": "sqlite", "sqlite_wgSQLiteDataDir": f"{place.site}/data", "sqlite_wgDBname": "wiki"},
            "Name": {
                "config_wgSitename": "Wiki",
                "config__NamespaceType": "site-name",
                "config__AdminName": "Ann",
                "config__AdminPassword": PASSWORD,
                "config__AdminPasswordConfirm": PASSWORD,
                "config__SkipOptional": "skip",
            },
            "Install": {},
        }
        for name, values in forms.items():
            expect(f"the page {name} of the installer", page, 200, 'name="submit-continue"' in page.text)
            page = visitor.form(f"/mw-config/index.php?page={name}", **(page.inputs | values | {"submit-continue": "Continue"}))
            while page.status == 302:
                page = visitor.follow(page)
        expect("the installation", page, 200, "Creating main page with default content... done" in re.sub("<.*?>", "", page.text))
        page = visitor.form("/mw-config/index.php?page=Install", **{"submit-continue": "Continue"})
        expect("its end", visitor.follow(page), 200)
        answer = visitor.get("/mw-config/index.php?localsettings=1")
        expect("LocalSettings.php of the installer", answer, 200, answer.text.startswith("<?php"))
        (place.site / "LocalSettings.php").write_text(answer.text + SETTINGS)
        for path in ("/mw-config/", "/mw-config/index.php", "/mw-config/config.css"):
            expect(f"{path} after the installation", visitor.get(path), 404)

    def use(self, expect: Expectation, visitor: Visitor, place: Place) -> None:
        answer = visitor.get("/")
        expect("the start page", answer, 301, answer.location.endswith("/wiki/Main_Page"))
        answer = visitor.get("/wiki/Main_Page")
        expect("the main page", answer, 200, "MediaWiki has been installed" in answer.text)
        self.log_in(expect, visitor)
        for title, path in TITLES.items():
            self.edit(expect, visitor, title, path)
        self.upload(expect, visitor)
        self.programs(expect, visitor)
        expect("a missing page", visitor.get("/wiki/Missing"), 404)
        expect("styles and scripts", visitor.get("/load.php?lang=en&modules=startup&only=scripts&raw=1&skin=vector"), 200)
        answer = visitor.get("/api.php/x")
        expect("a path behind the interface", answer, 301)
        answer = visitor.get("/index.php/Main_Page")
        expect("a page behind the script", answer, answer.status, answer.status in (200, 301))
        answer = visitor.get("/w/nowhere")
        expect("a path that is no page", answer, answer.status, answer.status in (301, 302, 404))
        self.in_a_browser(expect, place)

    def log_in(self, expect: Expectation, visitor: Visitor) -> None:
        for password in ("wrong", PASSWORD):
            form = visitor.get("/wiki/Special:UserLogin").inputs
            answer = visitor.form(
                "/index.php?title=Special:UserLogin&returnto=Main+Page",
                wpName="Ann",
                wpPassword=password,
                wploginattempt="Log in",
                wpLoginToken=form.get("wpLoginToken", ""),
                wpEditToken=form.get("wpEditToken", "+\\"),
                authAction="login",
                force="",
            )
            if password == PASSWORD:
                expect("the right password", answer, 302)
            else:
                expect("a wrong password", answer, 200, "Incorrect" in answer.text)

    def edit(self, expect: Expectation, visitor: Visitor, title: str, path: str) -> None:
        target = f"/index.php?{urllib.parse.urlencode({'title': title})}"
        form = visitor.get(f"{target}&action=edit").inputs
        values = {
            name: form.get(name, "")
            for name in (
                "wpEditToken",
                "wpStarttime",
                "wpEdittime",
                "editRevId",
                "wpUnicodeCheck",
                "wpUltimateParam",
                "wpAutoSummary",
                "parentRevId",
                "format",
                "model",
                "oldid",
                "mode",
                "wpSection",
            )
        }
        answer = visitor.form(f"{target}&action=submit", wpTextbox1=f"The text of '''{title}'''", wpSave="Save", **values)
        expect(f"an edit of {title}", answer, 302)
        answer = visitor.get(f"/wiki/{path}")
        name = title.replace("&", "&amp;")
        expect(f"the page {path}", answer, 200, f"The text of <b>{name}</b>" in answer.text)

    def upload(self, expect: Expectation, visitor: Visitor) -> None:
        token = visitor.get("/api.php?action=query&meta=tokens&format=json").json["query"]["tokens"]["csrftoken"]
        small = picture(2_000)
        body, kind = multipart(
            {"action": "upload", "format": "json", "token": token, "filename": "A shot (1).png", "ignorewarnings": "1"},
            "file",
            "shot.png",
            small,
        )
        answer = visitor.ask("POST", "/api.php", body, Content_Type=kind)
        if not expect.holds(
            answer.status == 200 and answer.json.get("upload", {}).get("result") == "Success",
            f"an upload: {answer.status} {answer.text[:300]}",
        ):
            return
        path = urllib.parse.urlsplit(answer.json["upload"]["imageinfo"]["url"]).path
        answer = visitor.get(path)
        expect(f"the upload {path}", answer, 200, answer.body == small and answer.fields.get("Content-Type") == "image/png")
        expect("the upload's page", visitor.get("/wiki/File:A_shot_(1).png"), 200)
        answer = visitor.get("/thumb.php?f=A_shot_(1).png&width=10")
        expect("a smaller picture", answer, 200, answer.fields.get("Content-Type") == "image/png")

    def programs(self, expect: Expectation, visitor: Visitor) -> None:
        for title, path in {"C++": "C%2B%2B", "AC/DC": "AC%2FDC", "A/B?": "A%2FB%3F"}.items():
            answer = visitor.get(f"/rest.php/v1/page/{path}")
            expect(f"REST, {path}", answer, 200, answer.status == 200 and answer.json["title"] == title)
        answer = visitor.get("/rest.php/v1/search/page?q=text&limit=3")
        expect("REST, a search", answer, 200, answer.status == 200 and "pages" in answer.json)
        answer = visitor.send_json(
            "POST",
            "/rest.php/v1/page",
            {
                "source": "By REST",
                "title": "New/One",
                "comment": "x",
                "token": visitor.get("/api.php?action=query&meta=tokens&format=json").json["query"]["tokens"]["csrftoken"],
            },
        )
        expect("REST, a new page", answer, 201)
        answer = visitor.get("/api.php?action=query&list=allpages&format=json")
        titles = {page["title"] for page in answer.json["query"]["allpages"]}
        expect("the list of pages", answer, 200, {"New/One", *TITLES} <= titles)
        expect("the description of the search", visitor.get("/opensearch_desc.php"), 200)

    def in_a_browser(self, expect: Expectation, place: Place) -> None:
        fill = (
            f"document.querySelector('#wpName1').value = 'Ann'; document.querySelector('#wpPassword1').value = {json.dumps(PASSWORD)}; "
            "document.querySelector('#wpLoginAttempt').click()"
        )
        found = browse(
            f"{place.origin}/index.php?title=Special:UserLogin&returnto=C%2B%2B",
            ("value", fill),
            ("wait", "document.querySelector('#pt-userpage') && document.readyState == 'complete'"),
            ("value", "document.body.innerText"),
            ("errors",),
        )
        expect.holds("The text of C++" in found[-2] and not found[-1], f"in Chromium: {found[-1]}, {found[-2][:300]!r}")
