"""Applications from Debian's packages that are too large for the short form."""

from __future__ import annotations

import json
import pathlib

from .application import PYTHON, Application, debian, run
from .visitor import Visitor, assert_equal

LOCAL = """GRAPHITE_ROOT = "/usr/share/graphite-web"
STATIC_ROOT = "/usr/share/graphite-web/static"
CONF_DIR = "/etc/graphite"
LOG_ROTATION = False
LOG_DIR = "@WORK@/log"
STORAGE_DIR = WHISPER_DIR = "@WORK@/whisper"
STANDARD_DIRS = ["@WORK@/whisper"]
INDEX_FILE = "@WORK@/index"
SECRET_KEY = "of the gallery"
URL_PREFIX = "/"
DATABASES = {"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": "@WORK@/graphite.db"}}
"""


class Graphite(Application):
    """A Django application that Debian installs with a file for mod_wsgi only; its database and logs are of this run."""

    name, version = "graphite", "1.1.8"
    app = {"application": "/usr/share/graphite-web/graphite.wsgi", "interpreter": PYTHON, "processes": 2,
           "env": ["GRAPHITE_SETTINGS_MODULE=local", "PYTHONPATH={work}"]}
    path = "/version/"

    def install(self) -> None:
        debian("graphite-web", self.version)

    def prepare(self, work: pathlib.Path, prefix: str) -> None:
        for name in ("whisper", "log"):
            (work / name).mkdir()
        (work / "local.py").write_text(LOCAL.replace("@WORK@", str(work)))
        variables = {"GRAPHITE_SETTINGS_MODULE": "local", "PYTHONPATH": str(work), "DJANGO_SETTINGS_MODULE": "graphite.settings",
                     "DJANGO_SUPERUSER_PASSWORD": "secret"}
        run([PYTHON, "-m", "django", "migrate", "--run-syncdb"], work, **variables)
        run([PYTHON, "-m", "django", "createsuperuser", "--no-input", "--username", "ann", "--email", "a@b.cc"], work, **variables)

    def use(self, visitor: Visitor) -> None:
        visitor.get("/").expect(200, "Graphite Browser")
        visitor.get("/dashboard").expect(200)
        picture = visitor.get("/render/?target=constantLine(42)&width=400&height=200").expect(200)
        assert_equal(picture.body[:8], b"\x89PNG\r\n\x1a\n")
        found = json.loads(visitor.get("/render/?target=constantLine(42)&format=json").expect(200).text)
        assert_equal(found[0]["datapoints"][0][0], 42)
        visitor.get("/metrics/find/?query=*").expect(200)
        event = json.dumps({"what": "Grüße", "tags": ["a"], "data": "x"})
        visitor.send("POST", "/events/", event, "--header", "Content-Type: application/json").expect(200)
        visitor.get("/events/get_data").expect(200, "Gr\\u00fc\\u00dfe")
