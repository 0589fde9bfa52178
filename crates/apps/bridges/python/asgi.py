# The part for ASGI 3.

import asyncio
import inspect
import marshal
from collections import deque

WINDOW = 256 * 1024  # bytes of a body that may be under way; Serow says when there is room for more
STATUSES = {status: b'%d' % status for status in range(200, 1000)}
REASON = 123  # bytes that fit into the frame that closes a WebSocket (RFC 6455 §5.5)
WEIGHT = 64  # bytes that a message takes besides its own
DISCONNECTED = {'type': 'http.disconnect'}


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
        """Answers until Serow sends nothing more; what goes on behind responses then is still awaited."""
        packet = bytearray(PACKET)
        self.leaving = self.loop.create_future()
        self.loop.add_reader(self.requests, self.receiver(packet, memoryview(packet)))
        await self.leaving
        tasks = [exchange.task for exchange in self.exchanges.values()]
        await asyncio.gather(*tasks, return_exceptions=True)
        await self.lifespan.end()
        for reply in self.replies:
            await reply.flushed()

    def receiver(self, packet, view):
        """What takes packets, as many as there are."""
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
                    return self.leaving.set_result(None)
                if kind == 114:  # r
                    begin(bytes(view[:TICKET]), loads(behind_ticket), None)
                elif kind == 98 or kind == 102:  # b, f
                    end = TICKET + 8 + int(packet[TICKET : TICKET + 8])
                    rest = bytes(view[end:length])
                    begin(bytes(view[:TICKET]), loads(view[TICKET + 8 : end]), rest if kind == 98 else Uploaded(rest))
                elif kind == 115:  # s
                    begin(bytes(view[:TICKET]), loads(behind_ticket), Streamed())
                elif kind == 117:  # u
                    begin(bytes(view[:TICKET]), loads(behind_ticket), None, WebSocket)
                else:
                    exchange = self.exchanges.get(bytes(view[2:TICKET]))
                    if exchange:
                        exchange.hear(kind, bytes(view[TICKET:length]))

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
            exchange.fail(error)
            if isinstance(error, (SystemExit, KeyboardInterrupt)):
                raise
        finally:
            del self.exchanges[exchange.ticket[2:]]


class Lifespan:
    """The application's beginning and end, where it wants to know of them."""

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
            # Those that do not know of it fail at once, which is no failure.
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
            raise RuntimeError(f"'{kind}' is no answer to lifespan's messages")
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


class Reply:
    """The way to one of Serow's threads. Nobody waits for it: each body waits for room of its own."""

    def __init__(self, socket, loop):
        self.socket = socket
        self.loop = loop
        self.waiting = deque()

    def send(self, packet):
        if not self.waiting:
            try:
                return self.socket.send(packet)
            except BlockingIOError:
                self.loop.add_writer(self.socket, self.flush)
            except OSError:
                return  # Serow is gone, and the requests' socket tells
        self.waiting.append(packet)

    def flush(self):
        try:
            while self.waiting:
                self.socket.send(self.waiting[0])
                self.waiting.popleft()
        except BlockingIOError:
            return
        except OSError:
            self.waiting.clear()
        self.loop.remove_writer(self.socket)

    async def flushed(self):
        while self.waiting:
            await asyncio.sleep(0.01)


class Gone(OSError):
    """The client has gone, or nobody waits for it any more."""


class Http:
    """One request on its way to becoming a response."""

    __slots__ = ('ticket', 'reply', 'body', 'task', 'head', 'phase', 'room', 'is_gone', 'news')

    NEW, STARTED, STREAMING, TRAILING, ENDED = range(5)

    def __init__(self, ticket, reply, body):
        self.ticket = ticket
        self.reply = reply
        self.body = body or b''
        self.phase = 0
        self.room = WINDOW
        self.is_gone = False
        self.news = None

    async def receive(self):
        body = self.body
        if body.__class__ is bytes:
            self.body = None
            return {'type': 'http.request', 'body': body, 'more_body': False}
        if body:
            piece = body.read() if body.__class__ is Uploaded else await body.next(self)
            if piece is not None:
                if body.is_over():
                    self.body = None
                return {'type': 'http.request', 'body': piece, 'more_body': self.body is not None}
        while not self.is_gone and self.phase != Http.ENDED:
            await self.wait()
        return DISCONNECTED.copy()

    async def send(self, message):
        kind = message['type']
        if self.is_gone:
            raise Gone('the client has gone')
        phase = self.phase
        if kind == 'http.response.body' and phase == 1:  # STARTED
            body = message.get('body', b'')
            if message.get('more_body') or len(body) > PIECE or self.head.get('trailers'):
                self.phase = Http.STREAMING
                await self.begin_body(body, bool(message.get('more_body')))
                if not message.get('more_body'):
                    self.end_body()
            else:
                packet = self.packed(b'R', body)
                self.phase = Http.ENDED
                self.reply.send(packet)
                self.wake()
        elif kind == 'http.response.start' and phase == 0:  # NEW
            self.head = message
            self.phase = 1
        elif kind == 'http.response.body' and phase == 2:  # STREAMING
            await self.send_pieces(message.get('body', b''), 0)
            if not message.get('more_body'):
                self.end_body()
        else:
            self.send_other(kind, message)

    def send_other(self, kind, message):
        if kind == 'http.response.pathsend' and self.phase == Http.STARTED:
            packet = self.packed(b'F', os.path.abspath(os.fsencode(message['path'])))
            self.phase = Http.ENDED
            self.reply.send(packet)
            self.wake()
        elif kind == 'http.response.trailers' and self.phase == Http.TRAILING:
            if not message.get('more_trailers'):
                packet = packed(b'L' + self.ticket, message.get('headers', ()), b'')
                self.phase = Http.ENDED
                self.reply.send(packet)
                self.wake()
        elif kind == 'http.response.early_hint' and self.phase == Http.NEW:
            links = [(b'link', link) for link in message['links']]
            self.reply.send(packed(b'I' + self.ticket + b'\x00103', links, b''))
        else:
            raise RuntimeError(f"'{kind}' was sent where it has no place")

    def packed(self, kind, body):
        return packed(begin_of(kind, self.ticket, self.head), self.head.get('headers', ()), body)

    async def begin_body(self, body, is_first_of_many):
        headers = list(self.head.get('headers', ()))
        if not is_first_of_many and not self.head.get('trailers') and not has_length(headers):
            headers.append((b'content-length', b'%d' % len(body)))
        self.reply.send(packed(begin_of(b'H', self.ticket, self.head), headers, body[:PIECE]))
        self.room -= len(body[:PIECE])
        if len(body) > PIECE:
            await self.send_pieces(body, PIECE)

    async def send_pieces(self, body, begin):
        kind = b'B' + self.ticket
        view = memoryview(body)
        while begin < len(view):
            while self.room <= 0:
                await self.wait()
                if self.is_gone:
                    raise Gone('the client has gone')
            piece = view[begin : begin + PIECE]
            self.room -= len(piece)
            begin += PIECE
            self.reply.send(b''.join((kind, piece)))

    def end_body(self):
        if self.head.get('trailers'):
            self.phase = Http.TRAILING
        else:
            self.phase = Http.ENDED
            self.reply.send(b'E' + self.ticket)
            self.wake()

    def hear(self, kind, content):
        if kind == 119:  # w
            self.room += int(content)
        elif kind == 112:  # p
            if self.body:
                self.body.pieces.append(content)
        elif kind == 101:  # e
            if self.body:
                self.body.is_complete = True
        elif kind == 99:  # c
            self.is_gone = True
        elif kind == 107:  # k
            self.is_gone = True
            self.abandon()
            self.task.cancel()
        self.wake()

    def returned(self):
        if self.phase == Http.ENDED:
            return
        if self.is_gone:
            return self.abandon()
        how = 'without a response' if self.phase == Http.NEW else 'before its response was complete'
        self.fail(RuntimeError(f'the application returned {how}'))

    def fail(self, error):
        was_told = self.is_gone and (isinstance(error, asyncio.CancelledError) or is_about(error, Gone))
        text = describe(error)
        if not was_told:
            print(text, file=sys.stderr)
        if self.phase == Http.ENDED:
            return
        if self.is_gone:
            return self.abandon()
        self.phase = Http.ENDED
        self.reply.send(b'X' + self.ticket + text.encode(errors='backslashreplace')[:PIECE])
        self.wake()

    def abandon(self):
        if self.phase != Http.ENDED:
            self.phase = Http.ENDED
            self.reply.send(b'D' + self.ticket)

    async def wait(self):
        """Waits until something happens."""
        if self.news is None:
            self.news = asyncio.Event()
        self.news.clear()
        await self.news.wait()

    def wake(self):
        if self.news:
            self.news.set()


class Uploaded:
    """The body of a request that Serow wrote to a file, whose name nobody needs any more."""

    def __init__(self, path):
        self.file = open(path, 'rb')
        os.unlink(path)
        self.left = os.fstat(self.file.fileno()).st_size

    def read(self):
        piece = self.file.read(PIECE)
        self.left = self.left - len(piece) if piece else 0
        if not self.left:
            self.file.close()
        return piece

    def is_over(self):
        return not self.left


class Streamed:
    """The body of a request that comes piece by piece, where somebody reads it."""

    def __init__(self):
        self.pieces = deque()
        self.is_complete = False
        self.taken = WINDOW  # all room is given with the first piece that is wanted

    async def next(self, exchange):
        """The next piece; None when the client has gone."""
        if self.taken >= PIECE:
            exchange.reply.send(b'W%b%d' % (exchange.ticket, self.taken))
            self.taken = 0
        while not self.pieces and not self.is_complete:
            if exchange.is_gone or exchange.phase == Http.ENDED:
                return None
            await exchange.wait()
        piece = self.pieces.popleft() if self.pieces else b''
        self.taken += len(piece)
        return piece

    def is_over(self):
        return self.is_complete and not self.pieces


class WebSocket:
    """A connection that carries messages."""

    __slots__ = ('ticket', 'reply', 'task', 'phase', 'head', 'room', 'taken', 'messages', 'parts', 'end', 'is_gone', 'news')

    ASKED, CONNECTING, REFUSING, OPEN, CLOSED, ENDED = range(6)
    KINDS = {116: 'text', 84: 'text', 121: 'bytes', 89: 'bytes'}  # t, T, y, Y

    def __init__(self, ticket, reply, _body):
        self.ticket = ticket
        self.reply = reply
        self.phase = WebSocket.ASKED
        self.room = WINDOW
        self.taken = 0
        self.messages = deque()
        self.parts = []
        self.end = {'type': 'websocket.disconnect', 'code': 1006, 'reason': ''}
        self.is_gone = False
        self.news = None

    async def receive(self):
        if self.phase == WebSocket.ASKED:
            self.phase = WebSocket.CONNECTING
            return {'type': 'websocket.connect'}
        while not self.messages:
            if self.is_gone or self.phase >= WebSocket.CLOSED:
                return self.end.copy()
            await self.wait()
        message, weight = self.messages.popleft()
        self.taken += weight
        if self.taken >= PIECE:
            self.reply.send(b'W%b%d' % (self.ticket, self.taken))
            self.taken = 0
        return message

    async def send(self, message):
        kind = message['type']
        if self.is_gone:
            raise Gone('the client has gone')
        if kind == 'websocket.send' and self.phase == WebSocket.OPEN:
            text = message.get('text')
            if text is not None:
                await self.send_message(b't', b'T', text.encode())
            else:
                await self.send_message(b'y', b'Y', message['bytes'])
        elif kind == 'websocket.accept' and self.phase <= WebSocket.CONNECTING:
            headers = list(message.get('headers', ()))
            if message.get('subprotocol'):
                headers.append((b'sec-websocket-protocol', message['subprotocol'].encode()))
            self.reply.send(packed(b'H' + self.ticket + b'\x00101', headers, b''))
            self.phase = WebSocket.OPEN
        elif kind == 'websocket.close' and self.phase <= WebSocket.CONNECTING:
            self.phase = WebSocket.ENDED
            self.reply.send(packed(b'R' + self.ticket + b'\x00403', (), b''))
            self.wake()
        elif kind == 'websocket.close' and self.phase == WebSocket.OPEN:
            self.close(message.get('code', 1000), message.get('reason') or '')
        else:
            self.refuse(kind, message)

    async def send_message(self, last, other, content):
        view = memoryview(content)
        while True:
            while self.room <= 0:
                await self.wait()
                if self.is_gone:
                    raise Gone('the client has gone')
            piece, view = view[:PIECE], view[PIECE:]
            self.room -= len(piece) + WEIGHT
            self.reply.send(b''.join((other if view else last, self.ticket, piece)))
            if not view:
                return

    def close(self, code, reason):
        self.phase = WebSocket.CLOSED
        self.end = {'type': 'websocket.disconnect', 'code': code, 'reason': reason}
        self.reply.send(b'C%b%04d%b' % (self.ticket, code, reason.encode()[:REASON]))
        self.wake()

    def refuse(self, kind, message):
        if kind == 'websocket.http.response.start' and self.phase <= WebSocket.CONNECTING:
            self.head = message
            self.phase = WebSocket.REFUSING
        elif kind == 'websocket.http.response.body' and self.phase == WebSocket.REFUSING:
            body = message.get('body', b'')
            if self.head:
                begin = begin_of(b'H', self.ticket, self.head)
                self.reply.send(packed(begin, self.head.get('headers', ()), b''))
                self.head = None
            for place in range(0, len(body), PIECE):
                self.reply.send(b''.join((b'B', self.ticket, body[place : place + PIECE])))
            if not message.get('more_body'):
                self.phase = WebSocket.ENDED
                self.reply.send(b'E' + self.ticket)
                self.wake()
        else:
            raise RuntimeError(f"'{kind}' was sent where it has no place")

    def hear(self, kind, content):
        name = self.KINDS.get(kind)
        if name:
            self.parts.append(content)
            if kind > 90:  # the last part
                content = b''.join(self.parts)
                self.parts.clear()
                weight = len(content) + WEIGHT
                message = {'type': 'websocket.receive', name: content.decode() if name == 'text' else content}
                self.messages.append((message, weight))
        elif kind == 119:  # w
            self.room += int(content)
        elif kind == 99:  # c
            self.is_gone = True
            if self.phase == WebSocket.OPEN and len(content) >= 4:
                self.end['code'], self.end['reason'] = int(content[:4]), content[4:].decode()
        elif kind == 107:  # k
            self.is_gone = True
            self.abandon()
            self.task.cancel()
        self.wake()

    def abandon(self):
        if self.phase != WebSocket.ENDED:
            self.phase = WebSocket.ENDED
            self.reply.send(b'D' + self.ticket)

    def returned(self):
        if self.phase == WebSocket.ENDED:
            return
        if self.phase == WebSocket.OPEN and not self.is_gone:
            self.close(1000, '')
        elif self.phase <= WebSocket.REFUSING and not self.is_gone:
            return self.fail(RuntimeError('the application returned before it had accepted or refused'))
        self.abandon()

    def fail(self, error):
        was_told = self.is_gone and (isinstance(error, asyncio.CancelledError) or is_about(error, Gone))
        text = describe(error)
        if not was_told:
            print(text, file=sys.stderr)
        if self.phase == WebSocket.ENDED:
            return
        if self.is_gone or self.phase == WebSocket.CLOSED:
            return self.abandon()
        self.phase = WebSocket.ENDED
        self.reply.send(b'X' + self.ticket + text.encode(errors='backslashreplace')[:PIECE])
        self.wake()

    wait, wake = Http.wait, Http.wake


def begin_of(kind, ticket, head):
    """What stands before the fields of a response."""
    try:
        return b'%b%b\0%b' % (kind, ticket, STATUSES[head['status']])
    except (KeyError, TypeError):
        raise ValueError(f"{head.get('status')!r} is no status, which is an int from 200 to 999") from None


def packed(begin, headers, body):
    """Fields as Serow reads them: with NULs between all, so there must be none within."""
    parts = [begin]
    for pair in headers:
        parts += pair
    parts += (b'', body)
    try:
        packet = b'\0'.join(parts)
    except TypeError:
        raise TypeError(wrong_part(parts)) from None
    if packet.count(0, len(begin), len(packet) - len(body)) != len(parts) - 1:
        raise ValueError('a header field has a NUL in its name or value')
    if len(packet) - len(body) > PIECE:
        raise ValueError('a header is longer than 64 KiB')
    return packet


def wrong_part(parts):
    """What is no bytes, though it must be."""
    for part in parts[1:-2]:
        if not isinstance(part, (bytes, bytearray, memoryview)):
            return f'{part!r} is no name or value of a header field, which are bytes'
    return f'the body is a {type(parts[-1]).__name__}, where bytes must be'


def is_for_wsgi(application):
    """Whether it takes two arguments, and cannot be called with the three that ASGI has."""
    try:
        signature = inspect.signature(application, follow_wrapped=False)
    except (TypeError, ValueError):
        return False  # what is not written in Python says nothing of itself
    return can_be_called(signature, 2) and not can_be_called(signature, 3)


def can_be_called(signature, count):
    try:
        signature.bind(*[None] * count)
    except TypeError:
        return False
    return True


def has_length(headers):
    return any(name.lower() == b'content-length' for name, _ in headers)


def is_about(error, kind):
    """Whether an error is of this kind, or happened because of one that is."""
    while error and not isinstance(error, kind):
        error = error.__cause__ or error.__context__
    return error is not None


def new_loop():
    try:
        import uvloop
    except ImportError:
        return asyncio.new_event_loop()
    return uvloop.new_event_loop()


begin = Mold().run()
if begin:
    begin()
