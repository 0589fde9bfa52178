"""All applications of the gallery."""

from __future__ import annotations

from . import node, perl, python_frameworks, ruby

APPLICATIONS = (
    python_frameworks.Flask, python_frameworks.FastApi, python_frameworks.Django, perl.Mojolicious, perl.Dancer, ruby.Sinatra, node.Express,
)
