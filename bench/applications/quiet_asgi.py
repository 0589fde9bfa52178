"""Streams that say one word and then nothing, and how many tasks the event loop has: for bench/left-streams."""

import asyncio

from starlette.applications import Starlette
from starlette.responses import JSONResponse, StreamingResponse
from starlette.routing import Route


async def stream(request):
    async def events():
        yield "data: hello\n\n"
        await asyncio.Event().wait()

    return StreamingResponse(events(), media_type="text/event-stream")


async def tasks(request):
    with open("/proc/self/statm") as file:
        resident = int(file.read().split()[1]) * 4096
    return JSONResponse({"tasks": len(asyncio.all_tasks()), "memory": resident})


app = Starlette(routes=[Route("/events", stream), Route("/tasks", tasks)])
