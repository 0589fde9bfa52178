"""WordPress: its installer, the editor's interfaces, uploads, addresses that must not run, and a reload."""

from __future__ import annotations

import os
import pathlib
import re
import signal
import subprocess
import tempfile

from ..gallery.application import unpacked
from ..patience import wait_until
from ..server import Server, free_port, program, target
from ..verdict import Verdict
from .picture import picture
from .services import fpm, mariadb
from .visitor import Answer, Visitor, multipart

CONFIGURATION = """<?php
define('DB_NAME', 'site'); define('DB_USER', 'site'); define('DB_PASSWORD', 'site'); define('DB_HOST', 'localhost:{socket}');
define('DB_CHARSET', 'utf8mb4'); define('DB_COLLATE', ''); define('FS_METHOD', 'direct');
$table_prefix = 'wp_';
foreach (['AUTH_KEY', 'SECURE_AUTH_KEY', 'LOGGED_IN_KEY', 'NONCE_KEY', 'AUTH_SALT', 'SECURE_AUTH_SALT', 'LOGGED_IN_SALT', 'NONCE_SALT'] as $key)
    define($key, hash('sha256', $key));
if (!defined('ABSPATH')) define('ABSPATH', __DIR__ . '/');
require_once ABSPATH . 'wp-settings.php';
"""
SETTINGS = """listen = "127.0.0.1:{port}"
[[site]]
php = {{ servers = "{fpm},max=4", root = "site", no-scripts = ["/wp-content/uploads/*"] }}
"""
PASSWORD = "correct horse battery staple"


def run(verdict: Verdict) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        prepare(folder)
        with mariadb(folder) as socket, fpm(folder, 4) as address:
            (folder / "site/wp-config.php").write_text(CONFIGURATION.format(socket=socket))
            port = free_port()
            (folder / "serow.toml").write_text(SETTINGS.format(port=port, fpm=address))
            with Server([program("serow"), "run", "-c", folder / "serow.toml"], port) as server:
                use(verdict, Visitor(port), folder, server)
                verdict.check(server.is_running() and not server.panics(), f"the server: {server.said()[-500:]}")


def prepare(folder: pathlib.Path) -> None:
    """The files of the package, with the files of other packages in the place of links to them."""
    home = target() / "gallery/wordpress"
    unpacked(home, "wordpress", "wordpress-theme-twentytwentythree")
    source, site = home / "usr/share/wordpress", folder / "site"
    subprocess.run(["cp", "-r", source, site], check=True)
    for link in [path for path in site.rglob("*") if path.is_symlink()]:
        # As it would be in an installed package: `source` is /usr/share/wordpress.
        place = pathlib.Path(os.path.normpath(pathlib.Path("/usr/share/wordpress", link.relative_to(site).parent, link.readlink())))
        found = next((path for path in (home / place.relative_to("/"), place) if path.exists()), None)
        link.unlink()
        if found:
            subprocess.run(["cp", "-rL", found, link], check=True)
    (site / "wp-config.php").unlink(missing_ok=True)
    (site / "wp-content/uploads").mkdir(exist_ok=True)


def use(verdict: Verdict, author: Visitor, folder: pathlib.Path, server: Server) -> None:
    def expect(what: str, answer: Answer, status: int, holds: bool = True) -> Answer:
        verdict.check(answer.status == status and holds, f"{what}: {answer.status} {answer.location} {answer.text[:200]!r}")
        return answer

    install(expect, author)
    log_in(expect, author)
    pages(expect, author)
    nonce = author.get("/wp-admin/admin-ajax.php?action=rest-nonce").text
    post = write(expect, author, nonce)
    upload(expect, author, nonce)
    comment(expect, author, post)
    feeds(expect, author)
    refuse(expect, Visitor(author.port), folder)
    across_reload(verdict, expect, author, folder, server)


def install(expect, author: Visitor) -> None:
    answer = author.get("/")
    expect("before the installation", answer, 302, answer.location.endswith("/wp-admin/install.php"))
    # The installer requests a post of the new site, to find out whether permalinks work: it needs a second child of php-fpm.
    answer = author.form("/wp-admin/install.php?step=2", weblog_title="Site", user_name="author", admin_password=PASSWORD,
                         admin_password2=PASSWORD, admin_email="author@example.com", blog_public="1")
    expect("the installer", answer, 200, "Success!" in answer.text)


def log_in(expect, author: Visitor) -> None:
    answer = author.get("/wp-admin")
    expect("a folder without its slash", answer, 301, answer.location.endswith("/wp-admin/"))
    answer = author.get("/wp-admin/")
    expect("the dashboard of a stranger", answer, 302, "wp-login.php?redirect_to=" in answer.location)
    author.get("/wp-login.php")
    answer = author.form("/wp-login.php", log="author", pwd="wrong", testcookie="1")
    expect("a wrong password", answer, 200, "incorrect" in answer.text)
    answer = author.form("/wp-login.php", log="author", pwd=PASSWORD, testcookie="1")
    expect("the right password", answer, 302, len(answer.fields.get_all("Set-Cookie", [])) >= 4)


def pages(expect, author: Visitor) -> None:
    answer = author.get("/")
    expect("the start page", answer, 200, "wp-json" in answer.fields.get("Link", ""))
    answer = author.ask("HEAD", "/")
    expect("HEAD", answer, 200, answer.body == b"")
    for target in ("/wp-admin/", "/wp-admin/options-permalink.php", "/wp-admin/site-health.php", "/wp-admin/theme-editor.php",
                   "/wp-admin/load-scripts.php?c=1&load%5Bchunk_0%5D=jquery-core", "/wp-includes/css/buttons.css"):
        expect(target, author.get(target), 200)
    answer = author.get("/wp-admin/options-permalink.php")
    # It says so of servers that it does not know.
    expect("permalinks", answer, 200, "index.php/%year%" not in answer.text)
    for target in ("/wp-json/", "/index.php?rest_route=/wp/v2/posts", "/index.php/wp-json/"):
        answer = author.get(target)
        expect(target, answer, 200, answer.fields.get("Content-Type", "").startswith("application/json"))
    expect("a missing page", author.get("/does/not/exist"), 404)
    answer = author.get("/robots.txt")
    expect("robots.txt", answer, 200, answer.fields.get("Content-Type", "").startswith("text/plain"))


def write(expect, author: Visitor, nonce: str) -> str:
    answer = author.send_json("POST", "/wp-json/wp/v2/posts", {"title": "Grüße", "content": "Text", "status": "publish"}, X_WP_Nonce=nonce)
    if expect("a new post", answer, 201).status != 201:
        return "/"
    post = answer.json
    path = re.sub(r"^https?://[^/]+", "", post["link"])
    expect("the post", author.get(path), 200)
    expect("the post without its slash", author.get(path.rstrip("/")), 301)
    expect("the post by its number", author.get(f"/?p={post['id']}"), 301)
    answer = author.send_json("PUT", f"/wp-json/wp/v2/posts/{post['id']}", {"title": "Changed"}, X_WP_Nonce=nonce)
    expect("a changed post", answer, 200)
    return str(post["id"])


def upload(expect, author: Visitor, nonce: str) -> None:
    small, large = picture(2_000), picture(3_000_000)
    answer = author.ask("POST", "/wp-json/wp/v2/media", small, X_WP_Nonce=nonce, Content_Type="image/png",
                        Content_Disposition='attachment; filename="a picture.png"')
    if expect("a picture", answer, 201).status == 201:
        path = re.sub(r"^https?://[^/]+", "", answer.json["source_url"])
        answer = author.get(path)
        expect("the picture as a file", answer, 200, answer.body == small and answer.fields.get("Content-Type") == "image/png")
    page = author.get("/wp-admin/media-new.php").text
    found = re.search(r'"_wpnonce":"([0-9a-f]+)"', page)
    for chunked in (False, True):
        body, kind = multipart({"action": "upload-attachment", "_wpnonce": found.group(1) if found else ""}, "async-upload", "large.png", large)
        answer = author.ask("POST", "/wp-admin/async-upload.php", body, chunked, Content_Type=kind)
        expect(f"a large picture, chunked: {chunked}", answer, 200, '"success":true' in answer.text)
    answer = author.ask("POST", "/wp-admin/async-upload.php", b"x" * 11_000_000, Content_Type="image/png")
    expect("more than max-body", answer, 413)


def comment(expect, author: Visitor, post: str) -> None:
    answer = author.form("/wp-comments-post.php", comment_post_ID=post, comment="A comment", submit="Post")
    expect("a comment", answer, 302, "#comment-" in answer.location)
    call = "<?xml version='1.0'?><methodCall><methodName>demo.sayHello</methodName></methodCall>"
    expect("XML-RPC", author.ask("POST", "/xmlrpc.php", call, Content_Type="text/xml"), 200)
    expect("XML-RPC by GET", author.get("/xmlrpc.php"), 405)


def feeds(expect, author: Visitor) -> None:
    stranger = Visitor(author.port)
    answer = stranger.get("/feed/")
    expect("the feed", answer, 200, "ETag" in answer.fields)
    answer = stranger.get("/feed/", If_None_Match=answer.fields.get("ETag", ""), If_Modified_Since=answer.fields.get("Last-Modified", ""))
    expect("the feed again", answer, 304, answer.body == b"")


def refuse(expect, stranger: Visitor, folder: pathlib.Path) -> None:
    """Nothing runs that was uploaded, and no source is sent."""
    uploads = folder / "site/wp-content/uploads"
    for name in ("evil.php", "evil.pHp", "evil.phar", "evil.phtml"):
        (uploads / name).write_text("<?php echo 'ran ' . 'here';")
    (uploads / "evil.jpg").write_text("<?php echo 'ran ' . 'here';")
    for path in ("evil.php", "evil.pHp", "evil.php/x", "evil.jpg/x.php", "evil.phar", "evil.phtml", "evil.php%00.jpg", "evil.php%20", "evil.jpg%2Fx.php"):
        answer = stranger.get(f"/wp-content/uploads/{path}")
        expect(path, answer, answer.status, answer.status in (301, 400, 404) and "ran here" not in answer.text and "<?php" not in answer.text)
    answer = stranger.get("/wp-content/uploads/evil.jpg")
    expect("a picture that is none", answer, 200, answer.fields.get("Content-Type") == "image/jpeg")
    for path in ("/.htaccess", "/.git/config", "/wp-content/uploads/", "/wp-includes/"):
        answer = stranger.get(path)
        expect(path, answer, answer.status, answer.status in (403, 404))
    answer = stranger.get("/wp-config.php")
    expect("the configuration", answer, 200, answer.body == b"")


def across_reload(verdict: Verdict, expect, author: Visitor, folder: pathlib.Path, server: Server) -> None:
    """A request that is under way at a reload completes, and the next one is answered."""
    (folder / "site/slow.php").write_text("<?php touch('begun'); while (!file_exists('go')) usleep(1000); echo 'complete';")
    command = ["curl", "-s", "-w", "%{http_code}", f"http://127.0.0.1:{author.port}/slow.php"]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as slow:
        verdict.check(wait_until((folder / "site/begun").exists), "the slow script does not begin")
        server.process.send_signal(signal.SIGHUP)
        expect("a page during the reload", author.get("/"), 200)
        (folder / "site/go").touch()
        said = slow.communicate()[0]
    verdict.check(said == b"complete200", f"a request across a reload: {said!r}")
    expect("a page after the reload", author.get("/wp-admin/"), 200)
