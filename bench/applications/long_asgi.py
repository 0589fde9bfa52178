"""A dot, or 8 MB in pieces."""

PIECE = b"x" * 80_000


async def app(scope, receive, send):
    if scope["type"] != "http":
        return
    count, piece = (100, PIECE) if scope["path"] == "/long" else (1, b".")
    headers = [(b"content-type", b"text/plain"), (b"content-length", b"%d" % (count * len(piece)))]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    for number in range(count):
        await send({"type": "http.response.body", "body": piece, "more_body": number < count - 1})
