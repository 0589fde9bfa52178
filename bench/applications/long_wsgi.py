"""A dot, or 8 MB in pieces."""

PIECE = b"x" * 80_000


def app(environ, start_response):
    if environ["PATH_INFO"] != "/long":
        start_response("200 OK", [("Content-Type", "text/plain"), ("Content-Length", "1")])
        return [b"."]
    start_response("200 OK", [("Content-Type", "text/plain"), ("Content-Length", "8000000")])
    return (PIECE for _ in range(100))
