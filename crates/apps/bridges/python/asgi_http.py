# The part for ASGI 3: requests and their responses.

import stat

DISCONNECTED = {'type': 'http.disconnect'}


def regular_file(path):
    """Opens a regular file for reading. Opening must not block on a pipe."""
    file = open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC), 'rb', buffering=0)
    if stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        return file
    file.close()
    raise ValueError(f'{path!r} is not a regular file, which http.response.pathsend takes')


def contents(file):
    """The content of a file of unknown size, as far as it fits into one packet."""
    content = b''
    while piece := file.read(PIECE):
        content += piece
        if len(content) > PIECE:
            raise ValueError(f'the file has no size of its own, and is longer than {PIECE} bytes: read it in the application')
    return content


class Http(Exchange):
    """One request and its response."""

    __slots__ = ('body',)

    NEW, STARTED, STREAMING, TRAILING, ENDED = range(5)
    CLOSED = ENDED  # there is nothing between

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
            piece = await body.next(self)
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
            self.send_path(message['path'])
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

    def send_path(self, path):
        """Sends a file by its descriptor. Files without a size, as in /proc, are read here."""
        with regular_file(path) as file:
            is_sized = os.fstat(file.fileno()).st_size > 0
            packet = self.packed(b'F', b'0') if is_sized else self.packed(b'R', contents(file))
            self.phase = Http.ENDED
            self.reply.send_file(packet, file) if is_sized else self.reply.send(packet)
        self.wake()

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

    def handle_message(self, kind, content):
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
