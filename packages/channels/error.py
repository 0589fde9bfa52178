"""The error of building and testing packages."""

from __future__ import annotations


class ChannelError(Exception):
    """A package cannot be built, or does not work; the message is one line that says what to do."""
