"""Messages as JSON, with lifespan, a stream, an upload and a WebSocket; as FastAPI's tutorial has them."""

import asyncio
import contextlib
import hashlib

from fastapi import FastAPI, File, HTTPException, Request, UploadFile, WebSocket, WebSocketDisconnect
from fastapi.responses import HTMLResponse, StreamingResponse
from pydantic import BaseModel

sockets: set[WebSocket] = set()
state = {}


app = FastAPI()


# As lifespan does; Debian's version does not have its argument.
@app.on_event("startup")
async def start():
    await asyncio.sleep(0)
    state["ready"] = True


class Message(BaseModel):
    text: str
    amount: int = 1


@app.get("/")
async def index(request: Request):
    return {"ready": state["ready"], "docs": str(request.url_for("swagger_ui_html"))}


@app.post("/messages", status_code=201)
async def create(message: Message):
    return {"text": message.text.upper(), "amount": message.amount}


@app.post("/upload")
async def upload(file: UploadFile = File()):
    digest, length = hashlib.sha256(), 0
    while piece := await file.read(65536):
        digest.update(piece)
        length += len(piece)
    return {"length": length, "digest": digest.hexdigest(), "name": file.filename}


@app.post("/raw")
async def raw(request: Request):
    pieces = [len(piece) async for piece in request.stream()]
    return {"length": sum(pieces), "pieces": len(pieces)}


@app.get("/numbers")
async def numbers():
    async def generate():
        for number in range(2000):
            yield f"data: {number} {'x' * 1000}\n\n"

    return StreamingResponse(generate(), media_type="text/event-stream")


@app.get("/late")
async def late():
    raise HTTPException(418, "a teapot")


@app.websocket("/chat")
async def chat(websocket: WebSocket):
    await websocket.accept(subprotocol="chat" if "chat" in websocket.scope["subprotocols"] else None)
    sockets.add(websocket)
    await websocket.send_json({"path": websocket.url.path, "name": websocket.query_params.get("name")})
    with contextlib.suppress(WebSocketDisconnect):
        while True:
            text = await websocket.receive_text()
            for other in list(sockets):
                await other.send_text(text)
    sockets.discard(websocket)


@app.get("/page", response_class=HTMLResponse)
async def page():
    return """<p id="said"></p><script>
const socket = new WebSocket(location.href.replace('http', 'ws').replace('/page', '/chat'))
let count = 0
socket.onmessage = event => {
    if (count++ === 0) socket.send('from the browser: '.padEnd(100000, 'ü'))
    else document.getElementById('said').textContent = event.data.length + ' ' + socket.extensions
}</script>"""
