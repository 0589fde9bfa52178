"""The application, in a worker: it writes what it gets where its case looks for it, and sends what it finds there."""

import os
import pathlib
import pickle

# Parts of a scope that Daphne does not have; the specification has them.
UNKNOWN = {"http": ("extensions", "state"), "websocket": ("extensions", "state", "http_version")}


async def app(scope, receive, send):
    if scope["type"] == "lifespan":
        return
    folder = pathlib.Path(os.environ["MEETING"], "current").resolve()
    scope = {name: value for name, value in scope.items() if name not in UNKNOWN[scope["type"]]}
    # The client has to say one, but the case has not.
    scope["headers"] = [field for field in scope["headers"] if field != (b"host", b"unsaid")]
    messages = []
    try:
        while not messages or not messages[-1]["type"].endswith(".disconnect"):
            messages.append(await receive())
            tell(folder, scope, messages, None)
            for message in ordered(folder):
                await send(message)
    except Exception as error:
        tell(folder, scope, messages, error)
        raise


def tell(folder, scope, messages, error):
    (folder / "received.new").write_bytes(pickle.dumps((scope, messages, error)))
    (folder / "received.new").rename(folder / "received")


def ordered(folder):
    try:
        orders = (folder / "orders").read_bytes()
    except FileNotFoundError:
        return []
    (folder / "orders").unlink()
    return pickle.loads(orders)
