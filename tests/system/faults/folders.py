"""The served folder goes away, is replaced, or may not be read."""

from __future__ import annotations

import os
import pathlib
import shutil
import time

from .. import wire
from ..server import Server
from ..verdict import Verdict

NOBODY = 65534
# The promise for whatever changes in the file system, and some scheduling.
SEEN_AFTER = 1.1


def status(server: Server, target: str) -> int:
    return wire.ask_once(server.address, target).status


def removed(verdict: Verdict, folder: pathlib.Path, short: bool) -> None:
    """The folder is removed, and later there is another of the name."""
    served = folder / "site"
    served.mkdir()
    (served / "file").write_text("one")
    with Server.files(served) as server:
        before = status(server, "/file")
        shutil.rmtree(served)
        time.sleep(SEEN_AFTER)
        gone = status(server, "/file"), status(server, "/")
        served.mkdir()
        (served / "file").write_text("two")
        time.sleep(SEEN_AFTER)
        body = wire.ask_once(server.address, "/file").body
        verdict.check((before, gone, body) == (200, (404, 404), b"two"), f"removed: {before}, then {gone}, then {body!r}")
    verdict.say(f"removed: {before}, then {gone[0]}, then the new folder's {body.decode()}")


def replaced(verdict: Verdict, folder: pathlib.Path, short: bool) -> None:
    """A deployment: the folder is a link that comes to show to another."""
    for name in ("one", "two"):
        (folder / name).mkdir()
        (folder / name / "file").write_text(name)
    link = folder / "current"
    link.symlink_to("one")
    with Server.files(link) as server:
        first = wire.ask_once(server.address, "/file").body
        (folder / "next").symlink_to("two")
        os.rename(folder / "next", link)
        time.sleep(SEEN_AFTER)
        second = wire.ask_once(server.address, "/file").body
    verdict.check((first, second) == (b"one", b"two"), f"replaced: {first!r}, then {second!r}")
    verdict.say(f"replaced: {first.decode()}, then {second.decode()}")


def unreadable(verdict: Verdict, folder: pathlib.Path, short: bool) -> None:
    """Files and folders that the server's user may not read: 403, and 200 as soon as it may."""
    user = NOBODY if os.geteuid() == 0 else None
    served = folder / "site"
    (served / "closed").mkdir(parents=True)
    for name in ("file", "closed/file"):
        (served / name).write_text("x")
    os.chmod(folder, 0o755)
    (served / "file").chmod(0)
    (served / "closed").chmod(0)
    server = Server.files(served, user=user)
    # Where it was built, others may not enter.
    server.command[0] = shutil.copy(server.command[0], folder)
    with server:
        before = [status(server, target) for target in ("/file", "/closed/file", "/closed/", "/")]
        (served / "file").chmod(0o644)
        (served / "closed").chmod(0o755)
        time.sleep(SEEN_AFTER)
        after = [status(server, target) for target in ("/file", "/closed/file", "/closed/", "/")]
        served.chmod(0)
        time.sleep(SEEN_AFTER)
        shut = [status(server, target) for target in ("/file", "/")]
        served.chmod(0o755)
        time.sleep(SEEN_AFTER)
        again = status(server, "/file")
    verdict.say(f"unreadable: {before} before, {after} after chmod; {shut} with the root closed, then {again}")
    verdict.check(before == [403, 403, 403, 200] and after == [200] * 4, f"unreadable: {before}, then {after}")
    verdict.check(all(code in (403, 404) for code in shut) and again == 200, f"unreadable root: {shut}, then {again}")


CASES = (removed, replaced, unreadable)
