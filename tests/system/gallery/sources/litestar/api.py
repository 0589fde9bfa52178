"""As Litestar's documentation has them: lifespan, an upload, events, a WebSocket."""

import contextlib
import hashlib
from typing import Annotated

from litestar import Litestar, Request, get, post, websocket_listener
from litestar.datastructures import UploadFile
from litestar.enums import RequestEncodingType
from litestar.params import Body
from litestar.response import ServerSentEvent


@contextlib.asynccontextmanager
async def lifespan(app: Litestar):
    app.state.ready = True
    yield


@get("/")
async def index(request: Request) -> dict:
    return {"ready": request.app.state.ready, "prefix": request.scope["root_path"]}


@post("/upload")
async def upload(data: Annotated[UploadFile, Body(media_type=RequestEncodingType.MULTI_PART)]) -> dict:
    content = await data.read()
    return {"length": len(content), "digest": hashlib.sha256(content).hexdigest()}


@get("/events")
async def events() -> ServerSentEvent:
    async def generate():
        for number in range(200):
            yield {"data": f"{number} {'x' * 1000}"}

    return ServerSentEvent(generate())


@get("/typed/{number:int}")
async def typed(number: int) -> int:
    return number


@websocket_listener("/echo")
async def echo(data: dict) -> dict:
    return {"echo": data["text"]}


app = Litestar([index, upload, events, typed, echo], lifespan=[lifespan], request_max_body_size=64_000_000)
