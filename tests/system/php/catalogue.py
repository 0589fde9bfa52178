"""All PHP applications."""

from __future__ import annotations

from . import dokuwiki, mediawiki, phpmyadmin

APPLICATIONS = (dokuwiki.DokuWiki, mediawiki.MediaWiki, phpmyadmin.PhpMyAdmin)
