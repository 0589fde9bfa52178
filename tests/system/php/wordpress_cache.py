"""WordPress behind the cache: strangers get stored pages, each person with a cookie of WordPress gets pages of their own."""

from __future__ import annotations

import contextlib
import re

from .application import Expectation, Place
from .visitor import Answer, Visitor
from .wordpress import WordPress


def result(answer: Answer) -> str:
    """`hit`, `stored` or `bypassed`, as Cache-Status says it."""
    found = answer.fields.get("Cache-Status", "")
    return "hit" if "; hit" in found else "stored" if "stored" in found else "bypassed"


class CachedWordPress(WordPress):
    name, serving, is_short = "wordpress-cache", "settings", False
    cookies = ("wordpress*logged*in", "wordpress*sec", "comment*author", "wp-postpass")
    hidden = ()

    def use(self, expect: Expectation, author: Visitor, place: Place) -> None:
        nonce = author.get("/wp-admin/admin-ajax.php?action=rest-nonce").text
        post = author.send_json(
            "POST", "/wp-json/wp/v2/posts", {"title": "First", "content": "Text", "status": "publish"}, X_WP_Nonce=nonce
        ).json
        path = re.sub(r"^https?://[^/]+", "", post["link"])
        with contextlib.closing(author.stranger()) as stranger:
            self.strangers(expect, stranger, path)
            self.authors(expect, author, stranger, path)
            self.commentators(expect, author, stranger, path, post["id"])
            self.disguised(expect, author, stranger, path)
            self.secrets(expect, author, stranger, nonce)
            self.changes(expect, author, stranger, path, post["id"], nonce)

    def strangers(self, expect: Expectation, stranger: Visitor, path: str) -> None:
        for target in ("/", path, "/feed/", "/wp-json/wp/v2/posts"):
            for wanted in ("stored", "hit"):
                answer = stranger.get(target)
                expect(
                    f"{target} of a stranger, wanted: {wanted}, {answer.fields.get('Cache-Status')}", answer, 200, result(answer) == wanted
                )
        answer = stranger.get(path, Cookie="unrelated=1; _ga=GA1.2.3")
        expect(f"a page with cookies of others, {answer.fields.get('Cache-Status')}", answer, 200, result(answer) == "hit")
        for target in ("/wp-login.php", "/wp-admin/", "/does/not/exist", "/wp-cron.php", "/xmlrpc.php"):
            for _ in range(2):
                answer = stranger.get(target)
                expect(f"{target}, {answer.fields.get('Cache-Status')}", answer, answer.status, result(answer) != "hit")
        expect("HEAD", answer := stranger.ask("HEAD", path), 200, result(answer) == "hit")

    def authors(self, expect: Expectation, author: Visitor, stranger: Visitor, path: str) -> None:
        for _ in range(2):
            answer = author.get(path)
            expect(
                f"the page of the author, {answer.fields.get('Cache-Status')}",
                answer,
                200,
                "wpadminbar" in answer.text and result(answer) == "bypassed",
            )
        answer = stranger.get(path)
        expect("the page of a stranger after that of the author", answer, 200, "wpadminbar" not in answer.text and result(answer) == "hit")
        expect("the dashboard", answer := author.get("/wp-admin/"), 200, result(answer) == "bypassed")

    def commentators(self, expect: Expectation, author: Visitor, stranger: Visitor, path: str, post: int) -> None:
        with contextlib.closing(author.stranger()) as reader:
            answer = reader.form(
                "/wp-comments-post.php",
                comment_post_ID=str(post),
                comment="A remark",
                author="Bob",
                email="bob@example.com",
                submit="Post",
                **{"wp-comment-cookies-consent": "yes"},
            )
            expect("a comment", answer, 302, any(name.startswith("comment_author_") for name in reader.jar))
            for _ in range(2):
                answer = reader.get(path)
                expect(
                    f"the page of its writer, {answer.fields.get('Cache-Status')}",
                    answer,
                    200,
                    result(answer) == "bypassed" and 'value="bob@example.com"' in answer.text,
                )
        answer = stranger.get(path)
        expect(
            f"the page of a stranger after a comment, {answer.fields.get('Cache-Status')}",
            answer,
            200,
            "bob@example.com" not in answer.text,
        )

    def disguised(self, expect: Expectation, author: Visitor, stranger: Visitor, path: str) -> None:
        """PHP takes dots, spaces and brackets in the name of a cookie for `_`."""
        hashed = next(name for name in author.jar if name.startswith("wordpress_logged_in_")).removeprefix("wordpress_logged_in_")
        for number, name in enumerate(("comment.author_", "comment author_", "comment[author_", "comment.author.")):
            target = f"{path}?disguised={number}"
            answer = stranger.get(target, Cookie=f"{name}{hashed}=Mallory")
            expect(f"{name}, {answer.fields.get('Cache-Status')}", answer, 200, result(answer) == "bypassed")
            expect(f"a page after {name}", answer := stranger.get(target), 200, "Mallory" not in answer.text)

    def secrets(self, expect: Expectation, author: Visitor, stranger: Visitor, nonce: str) -> None:
        """A post with a password is for those who know it."""
        post = author.send_json(
            "POST",
            "/wp-json/wp/v2/posts",
            {"title": "Closed", "content": "the hidden text", "status": "publish", "password": "sesame"},
            X_WP_Nonce=nonce,
        ).json
        path = re.sub(r"^https?://[^/]+", "", post["link"])
        expect("a closed post", answer := stranger.get(path), 200, "the hidden text" not in answer.text)
        with contextlib.closing(author.stranger()) as reader:
            # Without Referer, WordPress does not redirect.
            expect("its password", reader.form("/wp-login.php?action=postpass", post_password="sesame"), 200)
            expect(
                "a closed post with its password",
                answer := reader.get(path),
                200,
                "the hidden text" in answer.text and result(answer) == "bypassed",
            )
        expect("a closed post, again", answer := stranger.get(path), 200, "the hidden text" not in answer.text and result(answer) == "hit")
        draft = author.send_json(
            "POST", "/wp-json/wp/v2/posts", {"title": "Draft", "content": "a draft", "status": "draft"}, X_WP_Nonce=nonce
        ).json
        expect("a draft of the author", answer := author.get(f"/?p={draft['id']}&preview=true"), 200, "a draft" in answer.text)
        expect("the draft, for a stranger", answer := stranger.get(f"/?p={draft['id']}&preview=true"), 404, "a draft" not in answer.text)

    def changes(self, expect: Expectation, author: Visitor, stranger: Visitor, path: str, post: int, nonce: str) -> None:
        """The plug-in of the test purges the post and the start page, as plug-ins for caches do."""
        for target in (path, "/"):
            stranger.get(target)
        answer = author.send_json("PUT", f"/wp-json/wp/v2/posts/{post}", {"title": "Second"}, X_WP_Nonce=nonce)
        expect("an edit", answer, 200)
        for target in (path, "/"):
            answer = stranger.get(target)
            expect(
                f"{target} after an edit, {answer.fields.get('Cache-Status')}",
                answer,
                200,
                "Second" in answer.text and result(answer) == "stored",
            )
            expect(
                f"{target} after an edit, again", answer := stranger.get(target), 200, "Second" in answer.text and result(answer) == "hit"
            )


class CachedWordPressHttp2(CachedWordPress):
    """A browser has a field for each cookie there."""

    name, protocol = "wordpress-cache-http2", "http2"
