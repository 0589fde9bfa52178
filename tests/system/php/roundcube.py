"""Roundcube with SQLite and Dovecot: its folders of settings, logs and temporary files are beside its pages."""

from __future__ import annotations

import contextlib
import imaplib
import json
import re
import subprocess

from ..gallery.browser import browse
from ..server import free_port
from .application import Application, Expectation, Place
from .picture import picture
from .services import dovecot
from .visitor import Answer, Visitor, multipart

MESSAGE = "From: bob@example.com\r\nTo: ann@example.com\r\nSubject: A first message\r\nMIME-Version: 1.0\r\nContent-Type: text/plain; charset=utf-8\r\n\r\nGrüße von Bob\r\n"


class Roundcube(Application):
    name, version = "roundcube", "1.6.5"
    packages = ("roundcube-core", "roundcube-sqlite3")
    source = "/usr/share/roundcube"
    entry_points = ("/index.php",)
    has_front_controller = False
    hidden = (
        "/SQL/sqlite.initial.sql",
        "/bin/update.sh",
        "/config/config.inc.php",
        "/config/defaults.inc.php",
        "/config/mail.sqlite",
        "/logs/errors.log",
        "/temp/secret.bin",
        "/installer/index.php",
        "/installer/client.js",
        "/program/include/iniset.php",
        "/program/lib/Roundcube/bootstrap.php",
        "/program/localization/index.inc",
        "/program/localization/en_US/labels.inc",
        "/plugins/jqueryui/jqueryui.php",
        "/composer.json",
        "/config.inc.php.sample",
        "/.htaccess",
    )
    public = ("/program/js/*.js", "/skins/elastic/images/*", "/skins/elastic/styles/*.css")

    def prepare(self, place: Place) -> None:
        super().prepare(place)
        site, self.imap = place.site, free_port()
        subprocess.run(["cp", "-r", place.home / "etc/roundcube", site / "config"], check=True)
        for name in ("logs", "temp"):
            (site / name).mkdir()
        (site / "temp/secret.bin").write_text("a secret of the temporary folder")
        (site / "logs/errors.log").write_text("an error that nobody may read\n")
        (site / ".htaccess").write_text("Require all granted\n")
        (site / "config/config.inc.php").unlink(missing_ok=True)
        for file in [path for path in site.rglob("*.php") if path.is_file()]:
            text = file.read_bytes()

            if b"/var/lib/roundcube/" in text:
                file.write_bytes(text.replace(b"/var/lib/roundcube/", f"{site}/".encode()))

    @contextlib.contextmanager
    def beside(self, place: Place):
        with dovecot(place.folder, self.imap):
            mailbox = imaplib.IMAP4("127.0.0.1", self.imap)
            mailbox.login("ann", "secret")
            mailbox.append("INBOX", None, None, MESSAGE.encode())
            mailbox.logout()
            yield

    def install(self, expect: Expectation, visitor: Visitor, place: Place) -> None:
        answer = visitor.get("/installer/")
        expect("the installer", answer, 200, "Check environment" in answer.text)
        for path in ("styles.css", "client.js", "images/roundcube_logo.png"):
            expect(f"{path} of the installer", visitor.get(f"/installer/{path}"), 200)
        expect("another script of the installer", visitor.get("/installer/config.php"), 404)
        form = visitor.get("/installer/index.php?_step=2").inputs
        values = {
            "_dbtype": "sqlite",
            "_dbname": f"{place.site}/config/mail.sqlite",
            "_imap_host[]": f"localhost:{self.imap}",
            "_smtp_host": "localhost:9",
            "_log_driver": "file",
            "_skin": "elastic",
            "_auto_create_user": "1",
            "_create_default_folders": "1",
            "submit": "CREATE CONFIG",
        }
        answer = visitor.form("/installer/index.php", **(form | values))
        expect("the form of the installer", answer, 200, "The config file was saved successfully" in answer.text)
        answer = visitor.get("/installer/index.php?_step=3")
        expect("its check", answer, 200, "Check DB config" in answer.text)
        if "Initialize database" in answer.text:
            answer = visitor.form("/installer/index.php?_step=3", _step="3", initdb="Initialize database")
            expect("the new database", answer, 200, "DB Schema" in answer.text and "NOT OK" not in answer.text)
        stranger = visitor.stranger().get("/installer/index.php?_step=2")
        expect("the installer, of a stranger", stranger, 200, "The installer is disabled" in stranger.text)
        place.restart()
        for path in ("/installer/", "/installer/index.php", "/installer/styles.css"):
            expect(f"{path} after the installation", visitor.get(path), 404)

    def log_in(self, visitor: Visitor, password: str) -> Answer:
        form = visitor.get("/").inputs
        return visitor.form(
            "/?_task=login",
            _token=form.get("_token", ""),
            _task="login",
            _action="login",
            _timezone="Europe/Paris",
            _url="",
            _user="ann",
            _pass=password,
        )

    def use(self, expect: Expectation, visitor: Visitor, place: Place) -> None:
        page = visitor.get("/")
        expect("the login page", page, 200, "rcmloginuser" in page.text)
        for path in sorted(set(re.findall(r'(?:src|href)="((?:skins|program|plugins)/[^"]+)"', page.text))):
            expect(path, visitor.get(f"/{path}"), 200)
        answer = self.log_in(visitor, "wrong")
        expect("a wrong password", answer, 401, "Login failed" in answer.text)
        answer = self.log_in(visitor, "secret")
        expect("the right password", answer, 302, "_task=mail" in answer.location)
        page = visitor.get("/?_task=mail&_mbox=INBOX")
        found = re.search(r'"request_token":"([^"]+)"', page.text)
        token = found.group(1) if expect("the mailbox", page, 200, bool(found)) and found else ""
        answer = visitor.get(
            "/?_task=mail&_action=list&_mbox=INBOX&_remote=1", X_Roundcube_Request=token, X_Requested_With="XMLHttpRequest"
        )
        expect("the list of messages", answer, 200, "A first message" in answer.text)
        answer = visitor.get("/?_task=mail&_uid=1&_mbox=INBOX&_action=show")
        expect("the message", answer, 200, "Grüße von Bob" in answer.text)
        answer = visitor.get(f"/?_task=mail&_uid=1&_mbox=INBOX&_action=viewsource&_save=1&_token={token}")
        expect(
            "the message as a file",
            answer,
            200,
            "Grüße von Bob" in answer.text and "attachment" in answer.fields.get("Content-Disposition", ""),
        )
        self.compose(expect, visitor, token)
        for task in ("addressbook", "settings&_action=folders", "settings&_action=about"):
            expect(task, visitor.get(f"/?_task={task}"), 200)
        expect("a path that is not there", visitor.get("/missing"), 404)
        self.in_a_browser(expect, place)

    def compose(self, expect: Expectation, visitor: Visitor, token: str) -> None:
        page = visitor.follow(expect("a new message", visitor.get("/?_task=mail&_action=compose"), 302))
        found = re.search(r'"compose_id":"([0-9a-f]+)"', page.text)
        number = found.group(1) if found else ""
        large = picture(2_000_000)
        body, kind = multipart({"_token": token}, "_attachments[]", "shot.png", large)
        answer = visitor.ask(
            "POST",
            f"/?_task=mail&_action=upload&_id={number}&_uploadid=1&_remote=1&_from=compose",
            body,
            True,
            Content_Type=kind,
            X_Roundcube_Request=token,
        )
        attached = re.search(r"rcmfile\d+", answer.text)
        if not expect.holds(answer.status == 200 and bool(attached), f"an attachment: {answer.status} {answer.text[:300]!r}"):
            return
        answer = visitor.get(f"/?_task=mail&_action=display-attachment&_id={number}&_file={attached.group()}")
        expect("the attachment", answer, 200, answer.body == large)
        answer = visitor.form(
            "/?_task=mail&_framed=1",
            _token=token,
            _task="mail",
            _action="send",
            _id=number,
            _draft="1",
            _to="bob@example.com",
            _subject="A draft",
            _message="The text of the draft",
            _charset="UTF-8",
            _is_html="0",
            _from="1",
            _attachments=attached.group().removeprefix("rcmfile"),
        )
        expect("a draft", answer, 200, "draft" in answer.text.lower())
        answer = visitor.get(
            "/?_task=mail&_action=list&_mbox=Drafts&_remote=1", X_Roundcube_Request=token, X_Requested_With="XMLHttpRequest"
        )
        expect("the drafts", answer, 200, "A draft" in answer.text)

    def in_a_browser(self, expect: Expectation, place: Place) -> None:
        fill = (
            "document.querySelector('#rcmloginuser').value = 'ann'; document.querySelector('#rcmloginpwd').value = 'secret'; "
            "document.querySelector('#rcmloginsubmit').click()"
        )
        found = browse(
            f"{place.origin}/",
            ("value", fill),
            ("wait", "document.querySelector('#messagelist') && document.body.innerText.includes('A first message')"),
            ("value", "document.body.innerText"),
            ("errors",),
        )
        expect.holds(not found[-1], f"in Chromium: {found[-1]}, {json.dumps(found[-2][:300])}")
