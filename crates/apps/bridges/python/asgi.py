# The part for ASGI 3: workers.

import asyncio
import inspect
import marshal

try:
    import uvloop
except ImportError:
    uvloop = None


class Worker:
    """Answers many requests at once, on one event loop."""

    def __init__(self, application, settings, requests, replies):
        if is_for_wsgi(application):
            name = settings['application']
            raise Unusable(f'{name} is a WSGI application: say --interface wsgi (in a settings file, interface = "wsgi")')
        self.application = application
        self.requests = requests
        self.loop = new_loop()
        self.replies = [Reply(reply, self.loop) for reply in replies]
        self.exchanges = {}  # by the digits of their tickets
        asyncio.set_event_loop(self.loop)
        self.lifespan = Lifespan(application)
        self.loop.run_until_complete(self.lifespan.start())
        self.state = self.lifespan.state

    def serve(self):
        self.requests.setblocking(False)
        for reply in self.replies:
            reply.socket.setblocking(False)
        self.loop.run_until_complete(self.live())
        self.loop.run_until_complete(self.loop.shutdown_asyncgens())
        self.loop.run_until_complete(self.loop.shutdown_default_executor())

    async def live(self):
        """Answers until Serow closes the channel, then waits for work that goes on after responses."""
        packet = bytearray(PACKET)
        self.draining = self.loop.create_future()
        self.loop.add_reader(self.requests, self.receiver(packet, memoryview(packet)))
        await self.draining
        tasks = [exchange.task for exchange in self.exchanges.values()]
        await asyncio.gather(*tasks, return_exceptions=True)
        await self.lifespan.end()
        for reply in self.replies:
            await reply.flushed()

    def receiver(self, packet, view):
        """A callback that reads all packets that have arrived."""
        recv_into, loads, begin = self.requests.recv_into, marshal.loads, self.begin
        behind_ticket = view[TICKET:]

        def receive():
            while True:
                try:
                    length = recv_into(packet)
                except BlockingIOError:
                    return
                kind = packet[0]
                if not length:
                    self.loop.remove_reader(self.requests)
                    return self.draining.set_result(None)
                if kind == 114:  # r
                    begin(bytes(view[:TICKET]), loads(behind_ticket), None)
                elif kind == 98:  # b
                    end = TICKET + 8 + int(packet[TICKET : TICKET + 8])
                    begin(bytes(view[:TICKET]), loads(view[TICKET + 8 : end]), bytes(view[end:length]))
                elif kind == 115:  # s
                    begin(bytes(view[:TICKET]), loads(behind_ticket), Streamed())
                elif kind == 117:  # u
                    begin(bytes(view[:TICKET]), loads(behind_ticket), None, WebSocket)
                else:
                    exchange = self.exchanges.get(bytes(view[2:TICKET]))
                    if exchange:
                        exchange.handle_message(kind, bytes(view[TICKET:length]))

        return receive

    def begin(self, ticket, scope, body, kind=None):
        scope['state'] = self.state.copy()
        exchange = (kind or Http)(ticket, self.replies[ticket[1] - FIRST_THREAD], body)
        self.exchanges[ticket[2:]] = exchange
        exchange.task = self.loop.create_task(self.answer(exchange, scope))

    async def answer(self, exchange, scope):
        try:
            await self.application(scope, exchange.receive, exchange.send)
            exchange.returned()
        except BaseException as error:
            ends = isinstance(error, (SystemExit, KeyboardInterrupt))
            if ends:
                # The loop runs on for a moment while it is closed: a request that began then would not be finished. Unread,
                # it goes to another worker.
                self.loop.remove_reader(self.requests)
            exchange.fail(error)
            if ends:
                raise
        finally:
            del self.exchanges[exchange.ticket[2:]]


def is_for_wsgi(application):
    """Whether it takes two arguments, and cannot be called with the three that ASGI has."""
    try:
        signature = inspect.signature(application, follow_wrapped=False)
    except (TypeError, ValueError):
        return False  # callables that are not written in Python have no signature
    return can_be_called(signature, 2) and not can_be_called(signature, 3)


def can_be_called(signature, count):
    try:
        signature.bind(*[None] * count)
    except TypeError:
        return False
    return True


def new_loop():
    return uvloop.new_event_loop() if uvloop else asyncio.new_event_loop()


begin = TemplateProcess().run()
if begin:
    begin()
