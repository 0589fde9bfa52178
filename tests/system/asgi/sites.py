"""Sites with WebSockets, as people write them: routes of Starlette, and a chat of Django Channels behind its check of origins."""

import django
from channels.generic.websocket import AsyncWebsocketConsumer
from channels.routing import ProtocolTypeRouter, URLRouter
from channels.security.websocket import AllowedHostsOriginValidator
from django.conf import settings
from django.core.asgi import get_asgi_application
from django.http import HttpResponse
from django.urls import path
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route, WebSocketRoute
from starlette.websockets import WebSocketDisconnect

closed = []


async def echo(websocket):
    await websocket.accept(websocket["subprotocols"][-1] if websocket["subprotocols"] else None)
    await websocket.send_json([websocket["scheme"], websocket["http_version"], websocket.path_params["name"], dict(websocket.query_params)])
    while True:
        message = await websocket.receive()
        if message["type"] == "websocket.disconnect":
            closed.append(message["code"])
            return
        if message.get("text") == "close":
            await websocket.close(3001)
        elif message.get("text") is not None:
            await websocket.send_text(message["text"])
        else:
            await websocket.send_bytes(message["bytes"])


async def iterated(websocket):
    """As Starlette's documentation has it."""
    await websocket.accept()
    try:
        while True:
            await websocket.send_text((await websocket.receive_text()).upper())
    except WebSocketDisconnect as error:
        closed.append(error.code)


async def codes(request):
    return PlainTextResponse(" ".join(map(str, closed)))


starlette = Starlette(routes=[WebSocketRoute("/echo/{name}", echo), WebSocketRoute("/iterated", iterated), Route("/codes", codes)])

settings.configure(
    ALLOWED_HOSTS=["localhost"], SECRET_KEY="of the test", ROOT_URLCONF=__name__, INSTALLED_APPS=["channels"],
    CHANNEL_LAYERS={"default": {"BACKEND": "channels.layers.InMemoryChannelLayer"}})
django.setup()


class Chat(AsyncWebsocketConsumer):
    async def connect(self):
        self.room = self.scope["url_route"]["kwargs"]["room"]
        await self.channel_layer.group_add(self.room, self.channel_name)
        await self.accept()

    async def disconnect(self, code):
        await self.channel_layer.group_discard(self.room, self.channel_name)
        await self.channel_layer.group_send(self.room, {"type": "said", "text": f"left with {code}"})

    async def receive(self, text_data=None, bytes_data=None):
        await self.channel_layer.group_send(self.room, {"type": "said", "text": text_data})

    async def said(self, message):
        await self.send(message["text"])


async def page(request):
    return HttpResponse("a page")


urlpatterns = [path("page", page)]
channels = ProtocolTypeRouter({
    "http": get_asgi_application(),
    "websocket": AllowedHostsOriginValidator(URLRouter([path("chat/<room>", Chat.as_asgi())])),
})
