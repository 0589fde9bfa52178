"""All applications of the gallery."""

from __future__ import annotations

from . import debian, go, node, perl, python_frameworks, python_packages, redmine, ruby

APPLICATIONS = (
    python_frameworks.Flask, python_frameworks.FastApi, python_frameworks.Django, perl.Mojolicious, perl.Dancer, ruby.Sinatra, node.Express,
    python_packages.Radicale, python_packages.Datasette, python_packages.FastApiNew, python_packages.Litestar, python_packages.Trac,
    python_packages.WsgiDav, python_packages.Dash, python_packages.Wagtail, python_packages.JupyterLab, python_packages.NiceGui,
    node.Verdaccio, node.NodeRed, go.Prometheus, debian.Graphite, ruby.Rails, redmine.Redmine, perl.RequestTracker, node.Next, go.Gitea,
)
