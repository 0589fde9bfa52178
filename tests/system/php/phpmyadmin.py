"""phpMyAdmin: databases and tables by its forms, an import, an export."""

from __future__ import annotations

import json
import re

from ..gallery.browser import browse
from .application import Application, Expectation, Place
from .visitor import Answer, Visitor, multipart

CONFIGURATION = """<?php
$cfg['blowfish_secret'] = '0123456789abcdef0123456789abcdef';
$cfg['Servers'][1] = ['auth_type' => 'cookie', 'host' => 'localhost', 'socket' => '{socket}', 'connect_type' => 'socket'];
$cfg['TempDir'] = '{folder}/site/tmp';
$cfg['UploadDir'] = $cfg['SaveDir'] = '';
"""


class PhpMyAdmin(Application):
    name, version, has_database = "phpmyadmin", "5.2.1", True
    packages = ("phpmyadmin",)
    source = "/usr/share/phpmyadmin"
    entry_points = ("/index.php", "/url.php", "/show_config_errors.php", "/js/messages.php")
    has_front_controller = False
    hidden = (
        "/config.inc.php",
        "/libraries/config.default.php",
        "/libraries/classes/Core.php",
        "/libraries/routes.php",
        "/templates/header.twig",
        "/templates/login/form.twig",
        "/sql/create_tables.sql",
        "/autoload.php",
        "/tmp/twig/secret.php",
        "/tmp/secret.txt",
        "/locale/*/LC_MESSAGES/*.mo",
        "/config.sample.inc.php",
    )
    public = ("/themes/pmahomme/img/logo_left.png", "/favicon.ico")

    def prepare(self, place: Place) -> None:
        super().prepare(place)
        site = place.site
        file = site / "libraries/vendor_config.php"
        text = (
            file.read_text()
            .replace("'/etc/phpmyadmin/config.inc.php'", "ROOT_PATH . 'config.inc.php'")
            .replace("'/var/lib/phpmyadmin/tmp/'", "ROOT_PATH . 'tmp/'")
        )
        file.write_text(text)
        (site / "tmp/twig").mkdir(parents=True)
        (site / "tmp/twig/secret.php").write_text("<?php echo 'ran ' . 'here';")
        (site / "tmp/secret.txt").write_text("a secret of the temporary folder")
        (site / "config.inc.php").write_text(CONFIGURATION.format(socket=place.database, folder=place.folder))

    def log_in(self, visitor: Visitor, password: str) -> Answer:
        form = visitor.get("/index.php?route=/").inputs
        return visitor.form(
            "/index.php?route=/",
            pma_username="site",
            pma_password=password,
            server="1",
            token=form.get("token", ""),
            set_session=form.get("set_session", ""),
        )

    def use(self, expect: Expectation, visitor: Visitor, place: Place) -> None:
        answer = visitor.get("/")
        expect("the start page", answer, 200, "pma_username" in answer.text)
        answer = self.log_in(visitor, "wrong")
        expect("a wrong password", answer, 200, "Access denied" in answer.text)
        expect("the right password", self.log_in(visitor, "site"), 302)
        answer = visitor.get("/index.php?route=/")
        token = expect("the start page of a user", answer, 200, "Logout" in answer.text or "Log out" in answer.text).inputs.get("token", "")
        common = {"ajax_request": "true", "token": token, "server": "1"}
        statement = "CREATE TABLE fruit (id INT AUTO_INCREMENT PRIMARY KEY, name VARCHAR(40)) DEFAULT CHARSET=utf8mb4; INSERT INTO fruit (name) VALUES ('Grüße'), ('apple')"
        answer = visitor.form("/index.php?route=/import", db="site", sql_query=statement, sql_delimiter=";", is_js_confirmed="0", **common)
        expect("a statement", answer, 200, '"success":true' in answer.text)
        answer = visitor.form("/index.php?route=/server/databases/create", new_db="site_new", db_collation="utf8mb4_general_ci", **common)
        expect("a new database", answer, 200, '"success":true' in answer.text)
        fields = {
            "db": "site",
            "table": "vegetable",
            "num_fields": "1",
            "do_save_data": "1",
            "field_name[0]": "name",
            "field_type[0]": "VARCHAR",
            "field_length[0]": "20",
            "tbl_storage_engine": "InnoDB",
            "field_default_type[0]": "NONE",
            **dict.fromkeys(("primary_indexes", "unique_indexes", "indexes", "fulltext_indexes", "spatial_indexes"), "[]"),
        }
        answer = visitor.form("/index.php?route=/table/create", **fields, **common)
        expect("a new table by the form", answer, 200, '"success":true' in answer.text)
        answer = visitor.get("/index.php?route=/sql&server=1&db=site&table=fruit&pos=0")
        expect("the rows", answer, 200, "Grüße" in answer.text)
        self.transfer(expect, visitor, token)
        for target in (
            "/index.php?route=/database/structure&db=site",
            "/index.php?route=/server/status",
            "/js/messages.php?l=en",
            "/themes/pmahomme/css/theme.css",
            "/index.php?route=/check-relations",
            "/show_config_errors.php",
            "/url.php?url=https%3A%2F%2Fwww.phpmyadmin.net%2F",
        ):
            expect(target, visitor.get(target), 200)
        expect("a path behind the script", visitor.get("/index.php/x"), 200)
        expect("a path that is not there", visitor.get("/missing"), 404)
        self.in_a_browser(expect, place)

    def transfer(self, expect: Expectation, visitor: Visitor, token: str) -> None:
        script = "\n".join(
            f"-- {'comment ' * 100}\nINSERT INTO fruit (name) VALUES ('imported {number}');" for number in range(1_000)
        ).encode()
        for chunked in (False, True):
            fields = {
                "token": token,
                "server": "1",
                "db": "site",
                "import_type": "database",
                "format": "sql",
                "charset_of_file": "utf-8",
                "ajax_request": "true",
            }
            body, kind = multipart(fields, "import_file", "fruit.sql", script, "application/sql")
            answer = visitor.ask("POST", "/index.php?route=/import", body, chunked, Content_Type=kind)
            expect(f"an import of {len(script)} bytes, chunked: {chunked}", answer, 200, "successfully finished, 1000 " in answer.text)
        answer = visitor.form(
            "/index.php?route=/export",
            token=token,
            server="1",
            db="site",
            export_type="database",
            export_method="quick",
            quick_or_custom="quick",
            what="sql",
            filename_template="@DATABASE@",
            **{
                "table_select[]": "fruit",
                "table_structure[]": "fruit",
                "table_data[]": "fruit",
                "sql_structure_or_data": "structure_and_data",
            },
        )
        found = len(re.findall(r"'imported \d+'", answer.text))
        expect("an export", answer, 200, found == 2_000 and answer.fields.get("Content-Disposition", "").startswith("attachment"))

    def in_a_browser(self, expect: Expectation, place: Place) -> None:
        fill = (
            "document.querySelector('#input_username').value = 'site'; document.querySelector('#input_password').value = 'site'; "
            "document.querySelector('#input_go').click()"
        )
        found = browse(
            f"{place.origin}/index.php",
            ("value", fill),
            ("wait", "document.querySelector('#pma_navigation_tree') && document.readyState == 'complete'"),
            ("wait", "document.body.innerText.includes('Database server')"),
            ("value", "document.body.innerText"),
            ("errors",),
        )
        expect.holds("MariaDB" in found[-2] and not found[-1], f"in Chromium: {found[-1]}, {json.dumps(found[-2][:300])}")
