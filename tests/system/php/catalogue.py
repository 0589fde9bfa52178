"""All PHP applications."""

from __future__ import annotations

from . import dokuwiki, frameworks, mediawiki, phpmyadmin, roundcube

APPLICATIONS = (dokuwiki.DokuWiki, mediawiki.MediaWiki, phpmyadmin.PhpMyAdmin, roundcube.Roundcube, frameworks.Symfony,
                frameworks.Laravel)
