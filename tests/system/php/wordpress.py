"""WordPress: its installer, the editor's interfaces, uploads, addresses that must not run, a reload, and a cache around it."""

from __future__ import annotations

import json
import pathlib
import re
import socket
import threading

from ..gallery.browser import browse
from ..polling import wait_until
from .application import PASSWORD, Application, Expectation, Place
from .picture import picture
from .visitor import Answer, Visitor, multipart

CONFIGURATION = """<?php
define('DB_NAME', 'site'); define('DB_USER', 'site'); define('DB_PASSWORD', 'site'); define('DB_HOST', 'localhost:{socket}');
define('DB_CHARSET', 'utf8mb4'); define('DB_COLLATE', ''); define('FS_METHOD', 'direct');
define('WP_HTTP_BLOCK_EXTERNAL', true);
$table_prefix = 'wp_';
foreach (['AUTH_KEY', 'SECURE_AUTH_KEY', 'LOGGED_IN_KEY', 'NONCE_KEY', 'AUTH_SALT', 'SECURE_AUTH_SALT', 'LOGGED_IN_SALT', 'NONCE_SALT'] as $key)
    define($key, hash('sha256', $key));
if (!defined('ABSPATH')) define('ABSPATH', __DIR__ . '/');
require_once ABSPATH . 'wp-settings.php';
"""
AUTHORITIES = "/etc/ssl/certs/ca-certificates.crt"
# A request and a job of cron that wait for the test, and the notice of a change to the cache.
PLUGIN = """<?php
function wait_for_the_test($name) {
    touch("{folder}/$name-begun");
    while (!file_exists("{folder}/$name-go")) usleep(1000);
    touch("{folder}/$name-over");
}
// WordPress requests pages of its own.
add_filter('http_request_args', fn ($options) => ['sslcertificates' => '{certificate}'] + $options);
// No pictures from other sites.
add_filter('pre_option_show_avatars', fn () => '0');
add_action('wp_ajax_slow', function () { wait_for_the_test('request'); wp_die('complete'); });
add_action('slow_job', function () { wait_for_the_test('job'); });
add_action('wp_ajax_schedule', function () { wp_schedule_single_event(time() - 1, 'slow_job'); wp_die('scheduled'); });
add_action('save_post', function ($post) {
    foreach ([get_permalink($post), home_url('/')] as $url)
        if ($url) wp_remote_request($url, ['method' => 'PURGE', 'sslverify' => false]);
});
"""


class WordPress(Application):
    name, version, is_short, has_database = "wordpress", "6.1.9", True, True
    archive = "wordpress"
    packages = ("wordpress", "wordpress-theme-twentytwentythree")
    source = "/usr/share/wordpress"
    no_scripts = ("/wp-content/uploads/*",)
    hidden = ("/.htaccess", "/.git/config", "/wp-content/uploads/evil.php", "/wp-content/uploads/evil.phtml", "/wp-config.php.bak")
    public = ("/wp-includes/css/*.css", "/wp-includes/js/*.js", "/wp-content/themes/*/style.css")

    def prepare(self, place: Place) -> None:
        super().prepare(place)
        site = place.site
        (site / "wp-config.php").unlink(missing_ok=True)
        (site / "wp-config.php").write_text(CONFIGURATION.format(socket=place.database))
        for name in (".git", "wp-content/uploads", "wp-content/mu-plugins"):
            (site / name).mkdir(exist_ok=True)
        for name in (".git/config", ".htaccess", "wp-config.php.bak"):
            (site / name).write_text(f"a secret of {name}")
        (site / "wp-content/mu-plugins/slow.php").write_text(
            PLUGIN.replace("{folder}", str(place.folder)).replace("{certificate}", str(place.certificate or AUTHORITIES)))
        uploads = site / "wp-content/uploads"
        for name in ("evil.php", "evil.pHp", "evil.phar", "evil.phtml", "evil.jpg"):
            (uploads / name).write_text("<?php echo 'ran ' . 'here';")

    def install(self, expect: Expectation, visitor: Visitor, place: Place) -> None:
        install(expect, visitor)
        log_in(expect, visitor)

    def use(self, expect: Expectation, author: Visitor, place: Place) -> None:
        pages(expect, author)
        nonce = author.get("/wp-admin/admin-ajax.php?action=rest-nonce").text
        post = write(expect, author, nonce)
        upload(expect, author, nonce)
        comment(expect, author, post)
        feeds(expect, author)
        refuse(expect, author)
        across_reload(expect, author, place)
        if not place.certificate:
            in_a_browser(expect, place)


class WordPressBehindServers(WordPress):
    """With a php-fpm that Serow does not start."""

    name, serving = "wordpress-servers", "servers"


class WordPressBySettings(WordPress):
    name, serving, is_short = "wordpress-settings", "settings", False


class WordPressHttp2(WordPress):
    name, protocol, is_short = "wordpress-http2", "http2", False


class WordPressHttp3(WordPress):
    name, protocol, is_short = "wordpress-http3", "http3", False


def install(expect: Expectation, author: Visitor) -> None:
    answer = author.get("/")
    expect("before the installation", answer, 302, answer.location.endswith("/wp-admin/install.php"))
    # The installer requests a post of the new site, to find out whether permalinks work: it needs a second child of php-fpm.
    answer = author.form("/wp-admin/install.php?step=2", weblog_title="Site", user_name="author", admin_password=PASSWORD,
                         admin_password2=PASSWORD, admin_email="author@example.com", blog_public="1")
    expect("the installer", answer, 200, "Success!" in answer.text)


def log_in(expect: Expectation, author: Visitor) -> None:
    answer = author.get("/wp-admin")
    expect("a folder without its slash", answer, 301, answer.location.endswith("/wp-admin/"))
    answer = author.get("/wp-admin/")
    expect("the dashboard of a stranger", answer, 302, "wp-login.php?redirect_to=" in answer.location)
    author.get("/wp-login.php")
    answer = author.form("/wp-login.php", log="author", pwd="wrong", testcookie="1")
    expect("a wrong password", answer, 200, "incorrect" in answer.text)
    answer = author.form("/wp-login.php", log="author", pwd=PASSWORD, testcookie="1")
    expect("the right password", answer, 302, len(answer.fields.get_all("Set-Cookie", [])) >= 4)


def pages(expect: Expectation, author: Visitor) -> None:
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


def write(expect: Expectation, author: Visitor, nonce: str) -> str:
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


def upload(expect: Expectation, author: Visitor, nonce: str) -> None:
    small, large = picture(2_000), picture(1_900_000)
    answer = author.ask("POST", "/wp-json/wp/v2/media", small, X_WP_Nonce=nonce, Content_Type="image/png",
                        Content_Disposition='attachment; filename="a picture.png"')
    if expect("a picture", answer, 201).status == 201:
        path = re.sub(r"^https?://[^/]+", "", answer.json["source_url"])
        answer = author.get(path)
        expect("the picture as a file", answer, 200, answer.body == small and answer.fields.get("Content-Type") == "image/png")
    key = upload_nonce(author)
    for chunked in (False, True):
        body, kind = multipart({"action": "upload-attachment", "_wpnonce": key}, "async-upload", "large.png", large)
        answer = author.ask("POST", "/wp-admin/async-upload.php", body, chunked, Content_Type=kind)
        expect(f"a large picture, chunked: {chunked}", answer, 200, '"success":true' in answer.text)
    answer = author.ask("POST", "/wp-admin/async-upload.php", b"x" * 11_000_000, Content_Type="image/png")
    expect("more than max-body", answer, 413)


def upload_nonce(author: Visitor) -> str:
    found = re.search(r'"_wpnonce":"([0-9a-f]+)"', author.get("/wp-admin/media-new.php").text)
    return found.group(1) if found else ""


def comment(expect: Expectation, author: Visitor, post: str) -> None:
    answer = author.form("/wp-comments-post.php", comment_post_ID=post, comment="A comment", submit="Post")
    expect("a comment", answer, 302, "#comment-" in answer.location)
    call = "<?xml version='1.0'?><methodCall><methodName>demo.sayHello</methodName></methodCall>"
    expect("XML-RPC", author.ask("POST", "/xmlrpc.php", call, Content_Type="text/xml"), 200)
    expect("XML-RPC by GET", author.get("/xmlrpc.php"), 405)


def feeds(expect: Expectation, author: Visitor) -> None:
    stranger = author.stranger()
    answer = stranger.get("/feed/")
    expect("the feed", answer, 200, "ETag" in answer.fields)
    answer = stranger.get("/feed/", If_None_Match=answer.fields.get("ETag", ""), If_Modified_Since=answer.fields.get("Last-Modified", ""))
    expect("the feed again", answer, 304, answer.body == b"")


def refuse(expect: Expectation, author: Visitor) -> None:
    """Nothing runs that was uploaded, and no source is sent."""
    stranger = author.stranger()
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


def across_reload(expect: Expectation, author: Visitor, place: Place) -> None:
    """A request of an administrator, an upload and a job of cron are under way at a reload, and complete."""
    folder, said = place.folder, []
    expect("a job for cron", author.get("/wp-admin/admin-ajax.php?action=schedule"), 200)
    expect("the request of cron", author.stranger().ask("POST", "/wp-cron.php?doing_wp_cron"), 200)
    slow = threading.Thread(target=lambda: said.append(author.twin().get("/wp-admin/admin-ajax.php?action=slow")))
    slow.start()
    half = HalfUpload(author, place) if not place.certificate else None
    for name in ("request", "job"):
        expect.holds(wait_until((folder / f"{name}-begun").exists), f"the {name} does not begin")
    place.reload()
    expect("a page during the reload", author.get("/"), 200)
    for name in ("request", "job"):
        (folder / f"{name}-go").touch()
    slow.join()
    expect("a request across a reload", said[0], 200, said[0].text == "complete")
    expect.holds(wait_until((folder / "job-over").exists), "the job of cron did not complete")
    if half:
        answer = half.complete()
        expect.holds(b" 200 " in answer[:20] and b'"success":true' in answer, f"an upload across a reload: {answer[:300]!r}")
    expect("a page after the reload", author.get("/wp-admin/"), 200)


class HalfUpload:
    """An upload of which a half is sent."""

    def __init__(self, author: Visitor, place: Place) -> None:
        body, kind = multipart({"action": "upload-attachment", "_wpnonce": upload_nonce(author)}, "async-upload", "half.png", picture(1_000_000))
        cookies = "; ".join(f"{name}={value}" for name, value in author.jar.items())
        head = f"POST /wp-admin/async-upload.php HTTP/1.1\r\nHost: 127.0.0.1:{place.port}\r\nCookie: {cookies}\r\nContent-Type: {kind}\r\n" \
               f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
        self.connection, self.rest = socket.create_connection(("127.0.0.1", place.port)), body[len(body) // 2:]
        self.connection.sendall(head.encode() + body[:len(body) // 2])

    def complete(self) -> bytes:
        with self.connection:
            self.connection.sendall(self.rest)
            return b"".join(iter(lambda: self.connection.recv(65_536), b""))


def in_a_browser(expect: Expectation, place: Place) -> None:
    fill = "document.querySelector('#user_login').value = 'author'; document.querySelector('#user_pass').value = " \
           f"{json.dumps(PASSWORD)}; document.querySelector('#wp-submit').click()"
    found = browse(f"{place.origin}/wp-login.php", ("value", fill), ("wait", "document.querySelector('#dashboard-widgets') && document.readyState == 'complete'"),
                   ("value", "document.body.innerText"), ("errors",))
    expect.holds("At a Glance" in found[-2] and not found[-1], f"in Chromium: {found[-1]}, {found[-2][:300]!r}")
