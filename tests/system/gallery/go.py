"""Programs in Go."""

from __future__ import annotations

import json

from .application import Application, debian
from .visitor import Visitor, assert_equal


class Prometheus(Application):
    """A program that knows its prefix. A reload runs two copies in one folder: Debian's version makes no lock file there."""

    name, version = "prometheus", "2.42.0"
    app = {"command": ["prometheus", "--config.file=prometheus.yml", "--storage.tsdb.path=metrics",
                       "--web.listen-address=127.0.0.1:{port}", "--web.external-url=http://127.0.0.1{prefix}/",
                       "--web.route-prefix={prefix}/"], "check-path": "{prefix}/-/ready"}
    path, has_replicas = "/-/ready", False

    def install(self) -> None:
        debian("prometheus", self.version)

    def use(self, visitor: Visitor) -> None:
        visitor.follow(visitor.get("/"))
        # Debian's package has the classic interface only.
        page = visitor.get("/classic/graph").expect(200)
        for link in page.links:
            if link.endswith((".js", ".css")) or ".js?" in link:
                visitor.get(link.removeprefix(visitor.prefix)).expect(200)
        text = visitor.post("/api/v1/query", {"query": "vector(6) * 7"}).expect(200).text
        assert_equal(json.loads(text)["data"]["result"][0]["value"][1], "42")
        visitor.post("/api/v1/query", {"query": "("}).expect(400, "bad_data")
        visitor.get("/metrics").expect(200, "prometheus_build_info")
