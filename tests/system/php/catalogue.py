"""All PHP applications."""

from __future__ import annotations

from . import dokuwiki, frameworks, mediawiki, phpmyadmin, roundcube, wordpress, wordpress_cache

APPLICATIONS = (
    wordpress.WordPress, wordpress.WordPressBehindServers, wordpress.WordPressBySettings, wordpress.WordPressHttp2, wordpress.WordPressHttp3, wordpress_cache.CachedWordPress, wordpress_cache.CachedWordPressHttp2,
    dokuwiki.DokuWiki, mediawiki.MediaWiki, phpmyadmin.PhpMyAdmin, roundcube.Roundcube, frameworks.Symfony, frameworks.Laravel,
)
