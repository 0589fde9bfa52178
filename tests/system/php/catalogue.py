"""All PHP applications."""

from __future__ import annotations

from . import dokuwiki, frameworks, mediawiki, phpmyadmin, roundcube, wordpress

APPLICATIONS = (wordpress.WordPress, wordpress.WordPressHttp2, wordpress.WordPressHttp3, dokuwiki.DokuWiki, mediawiki.MediaWiki, phpmyadmin.PhpMyAdmin, roundcube.Roundcube, frameworks.Symfony,
                frameworks.Laravel)
