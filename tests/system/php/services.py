"""The programs behind WordPress: php-fpm and MariaDB, each in a folder of its own."""

from __future__ import annotations

import contextlib
import os
import pathlib
import shutil
import socket
import subprocess
from collections.abc import Iterator

from ..polling import wait_until

POOL = """[global]
error_log = {folder}/fpm.log
daemonize = no
[site]
listen = {folder}/fpm.sock
listen.mode = 0666
{user}pm = static
pm.max_children = {children}
catch_workers_output = no
php_admin_value[upload_max_filesize] = 8M
php_admin_value[post_max_size] = 16M
php_value[include_path] = .:{include}:/usr/share/php
"""


@contextlib.contextmanager
def running(command: list[str | pathlib.Path], log: pathlib.Path) -> Iterator[subprocess.Popen[bytes]]:
    with log.open("wb") as output, subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=output) as process:
        try:
            yield process
        finally:
            process.terminate()
            process.wait()


@contextlib.contextmanager
def fpm(folder: pathlib.Path, children: int, include: pathlib.Path = pathlib.Path("/usr/share/php"),
        user: str = "") -> Iterator[str]:
    """A php-fpm with so many children, whose scripts include others from this folder; the address of its socket. It runs as the
    user of the test, or as this one."""
    settings = folder / "fpm.conf"
    settings.write_text(POOL.format(folder=folder, children=children, include=include, user=f"user = {user}\n" if user else ""))
    program = max(pathlib.Path("/usr/sbin").glob("php-fpm*"))
    # As root, it wants a user, or this.
    with running([program, "-R", "-F", "-y", settings], folder / "fpm.out"):
        wait_until(lambda: (folder / "fpm.sock").exists(), 20)
        yield f"unix:{folder}/fpm.sock"


@contextlib.contextmanager
def mariadb(folder: pathlib.Path) -> Iterator[pathlib.Path]:
    """A MariaDB with the database `site`; its socket."""
    data, socket = folder / "database", folder / "database.sock"
    subprocess.run(["mariadb-install-db", "--no-defaults", "--user=root", f"--datadir={data}", "--auth-root-authentication-method=normal"],
                   check=True, capture_output=True)
    program = shutil.which("mariadbd") or "/usr/sbin/mariadbd"
    command = [program, "--no-defaults", "--user=root", f"--datadir={data}", f"--socket={socket}", "--skip-networking",
               "--innodb-flush-log-at-trx-commit=0", "--innodb-flush-method=nosync"]
    with running(command, folder / "database.log"):
        client = ["mariadb", "--no-defaults", f"--socket={socket}", "--user=root"]
        wait_until(lambda: subprocess.run([*client, "-e", "select 1"], capture_output=True).returncode == 0, 60)
        subprocess.run([*client, "-e", "create database site; create user site@localhost identified by 'site'; grant all on `site%`.* to site@localhost"],
                       check=True)
        yield socket


# Dovecot reads no mail as root.
NOBODY = 65_534
DOVECOT = """protocols = imap
listen = 127.0.0.1
base_dir = {folder}/dovecot
log_path = {folder}/dovecot.log
ssl = no
disable_plaintext_auth = no
mail_location = maildir:{folder}/mail/%u
first_valid_uid = 0
first_valid_gid = 0
passdb {{
  driver = static
  args = password=secret
}}
userdb {{
  driver = static
  args = uid={user} gid={user} home={folder}/mail/%u
}}
service imap-login {{
  chroot =
  inet_listener imap {{
    port = {port}
  }}
  inet_listener imaps {{
    port = 0
  }}
}}
service anvil {{
  chroot =
}}
service stats {{
  chroot =
}}
"""


@contextlib.contextmanager
def dovecot(folder: pathlib.Path, port: int) -> Iterator[None]:
    """An IMAP server whose users all have the password `secret`."""
    # Its processes for logins have a user of their own.
    folder.chmod(0o755)
    mail = folder / "mail"
    mail.mkdir()
    mail.chmod(0o777)
    settings = folder / "dovecot.conf"
    settings.write_text(DOVECOT.format(folder=folder, port=port, user=os.getuid() or NOBODY))
    with running(["/usr/sbin/dovecot", "-F", "-c", settings], folder / "dovecot.out"):
        wait_until(lambda: greets(port), 20)
        yield


def greets(port: int) -> bool:
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)) as connection:
        return connection.recv(100).startswith(b"* OK")
    return False
