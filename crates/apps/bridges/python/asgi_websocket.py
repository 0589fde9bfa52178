# The part for ASGI 3: WebSockets.

from collections import deque

REASON = 123  # bytes that fit into the frame that closes a WebSocket (RFC 6455 §5.5)
WEIGHT = 64  # overhead of a message in bytes


class WebSocket(Exchange):
    """A connection that carries messages."""

    __slots__ = ('taken', 'messages', 'parts', 'end')

    REQUESTED, CONNECTING, REFUSING, OPEN, CLOSED, ENDED = range(6)
    KINDS = {116: 'text', 84: 'text', 121: 'bytes', 89: 'bytes'}  # t, T, y, Y

    def __init__(self, ticket, reply, _body):
        self.ticket = ticket
        self.reply = reply
        self.phase = WebSocket.REQUESTED
        self.room = WINDOW
        self.taken = 0
        self.messages = deque()
        self.parts = []
        self.end = {'type': 'websocket.disconnect', 'code': 1006, 'reason': ''}
        self.is_gone = False
        self.news = None

    async def receive(self):
        if self.phase == WebSocket.REQUESTED:
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

    def handle_message(self, kind, content):
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

    def returned(self):
        if self.phase == WebSocket.ENDED:
            return
        if self.phase == WebSocket.OPEN and not self.is_gone:
            self.close(1000, '')
        elif self.phase <= WebSocket.REFUSING and not self.is_gone:
            return self.fail(RuntimeError('the application returned before it had accepted or refused'))
        self.abandon()
