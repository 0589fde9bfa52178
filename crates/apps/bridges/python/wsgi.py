

# The part for WSGI (PEP 3333).

import io
import marshal
import threading


class Worker:
    """Answers requests, one after the other, or as many at a time as it has threads."""

    def __init__(self, application, settings, requests, replies):
        self.application = application
        self.requests = requests
        self.replies = replies
        self.threads = int(settings['concurrency'])
        self.answering = {}  # the exchanges of all threads, by their tickets
        self.constants = {
            'SCRIPT_NAME': '',
            'SERVER_SOFTWARE': 'serow',
            'wsgi.version': (1, 0),
            'wsgi.errors': sys.stderr,
            'wsgi.multithread': self.threads > 1,
            'wsgi.multiprocess': int(settings['workers']) > 1,
            'wsgi.run_once': False,
            'wsgi.input_terminated': True,
            'wsgi.file_wrapper': FileWrapper,
        }

    def serve(self):
        others = [threading.Thread(target=self.receive, name=f'serow {number}') for number in range(1, self.threads)]
        for thread in others:
            thread.start()
        self.receive()

    def receive(self):
        packet = bytearray(PACKET)
        view = memoryview(packet)
        behind_ticket = view[TICKET:]
        recv_into, loads, nothing = self.requests.recv_into, marshal.loads, io.BytesIO
        while length := recv_into(packet):
            kind = packet[0]
            if kind == 114:  # r
                self.answer(bytes(packet[:TICKET]), loads(behind_ticket), nothing())
            elif kind == 99:  # c
                self.cancel(packet[2:TICKET])
            else:
                begin = TICKET + 8
                end = begin + int(packet[TICKET:begin])
                rest = bytes(view[end:length])
                with io.BytesIO(rest) if kind == 98 else uploaded(rest) as content:  # b, f
                    self.answer(bytes(packet[:TICKET]), loads(view[begin:end]), content)

    def answer(self, ticket, environ, content):
        environ['wsgi.input'] = content
        environ.update(self.constants)
        exchange = Exchange(ticket, self.replies[ticket[1] - FIRST_THREAD])
        try:
            result = self.application(environ, exchange.start_response)
            if result.__class__ is list and not exchange.has_begun:
                exchange.send_list(result)
            else:
                self.stream(exchange, result)
        except BaseException as error:
            self.fail(exchange, error)

    def stream(self, exchange, result):
        try:
            if result.__class__ is not FileWrapper or not exchange.send_file(result.file):
                for block in result:
                    exchange.write(block)
                exchange.end()
        finally:
            if hasattr(result, 'close'):
                result.close()

    def fail(self, exchange, error):
        text = describe(error)
        print(text, file=sys.stderr)
        exchange.send(b'X', text.encode(errors='backslashreplace')[:PIECE])
        if not isinstance(error, Exception):
            raise error


class Exchange:
    """One request on its way to becoming a response."""

    __slots__ = ('ticket', 'reply', 'head', 'has_begun')

    def __init__(self, ticket, reply):
        self.ticket = ticket
        self.reply = reply
        self.head = None
        self.has_begun = False

    def start_response(self, status, headers, exc_info=None):
        self.head = (status, headers)
        return self.write

    def send_list(self, blocks):
        body = blocks[0] if len(blocks) == 1 else b''.join(blocks)
        if len(body) > PIECE:
            self.write(body)
            return self.end()
        self.reply.send(b''.join((b'R', self.ticket, self.packed(), body)))

    def packed(self):
        status, headers = self.head
        parts = ['', status[:3]]
        for pair in headers:
            parts += pair
        parts += ('', '')
        return '\0'.join(parts).encode('latin-1')

    def write(self, block):
        if not self.has_begun:
            self.has_begun = True
            self.send(b'H', self.packed())
        for begin in range(0, len(block), PIECE):
            self.send(b'B', block[begin : begin + PIECE])

    def end(self):
        if self.has_begun:
            self.send(b'E', b'')
        else:
            self.send(b'R', self.packed())

    def send(self, kind, content):
        self.reply.send(b''.join((kind, self.ticket, content)))

    def send_file(self, file):
        return False


class FileWrapper:
    """A file as a body (PEP 3333, "Optional Platform-Specific File Handling")."""

    def __init__(self, file, size=PIECE):
        self.file = file
        self.size = size
        if hasattr(file, 'close'):
            self.close = file.close

    def __iter__(self):
        while block := self.file.read(self.size):
            yield block


def uploaded(path):
    """The body of a request that Serow wrote to a file, whose name nobody needs any more."""
    content = open(path, 'rb')
    os.unlink(path)
    return content


begin = Mold().run()
if begin:
    begin()
