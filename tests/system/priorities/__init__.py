"""The benchmark of HTTP/2 priorities on slow links: its servers, pictures and tables."""
