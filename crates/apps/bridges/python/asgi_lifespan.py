# The part for ASGI 3: startup and shutdown of the application.

import asyncio
from collections import deque


class Lifespan:
    """Startup and shutdown of the application, for applications that support lifespan."""

    def __init__(self, application):
        self.application = application
        self.state = {}
        self.orders = deque(['lifespan.startup'])
        self.ordered = asyncio.Event()
        self.answered = asyncio.Event()
        self.failure = None
        self.has_received = False

    async def start(self):
        self.task = asyncio.get_running_loop().create_task(self.run())
        self.ordered.set()
        await self.answered.wait()
        if self.failure is not None:
            raise Unusable(self.failure or 'the application says that its startup has failed')

    async def run(self):
        scope = {'type': 'lifespan', 'asgi': {'version': '3.0', 'spec_version': '2.0'}, 'state': self.state}
        try:
            await self.application(scope, self.receive, self.send)
        except BaseException as error:
            # Applications without lifespan raise at once, which is not an error.
            if self.answered.is_set() or self.has_received:
                print(describe(error), file=sys.stderr)
            if isinstance(error, (SystemExit, KeyboardInterrupt)):
                self.failure = describe(error)
        finally:
            self.answered.set()

    async def receive(self):
        while not self.orders:
            self.ordered.clear()
            await self.ordered.wait()
        self.has_received = True
        return {'type': self.orders.popleft()}

    async def send(self, message):
        kind = message['type']
        if kind in ('lifespan.startup.failed', 'lifespan.shutdown.failed'):
            self.failure = message.get('message', '')
        elif kind not in ('lifespan.startup.complete', 'lifespan.shutdown.complete'):
            raise RuntimeError(f"'{kind}' is not a valid reply to a lifespan message")
        self.answered.set()

    async def end(self):
        if self.task.done():
            return
        self.answered.clear()
        self.orders.append('lifespan.shutdown')
        self.ordered.set()
        await self.answered.wait()
        if self.failure:
            print(self.failure, file=sys.stderr)
