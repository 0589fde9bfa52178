

# The part for WSGI (PEP 3333): responses.

import io
import re
import stat

STATUS = re.compile(r'[2-9][0-9][0-9]( .*)?')
NAME = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")  # RFC 9110 §5.6.2
VALUE = re.compile(r'[\t\x20-\x7e\x80-\xff]*')  # RFC 9110 §5.5
STATUSES = set()  # that have been validated
FREE, BUSY = (b'R', b'E'), (b'r', b'e')  # kinds of the last packet: a whole response, and the end of a body
FILES = (io.BufferedReader, io.BufferedRandom, io.FileIO)  # what open() gives
PEEK = socket.MSG_PEEK | socket.MSG_DONTWAIT


class Exchange:
    """One request, and how far its response is."""

    __slots__ = ('worker', 'ticket', 'reply', 'head', 'fields', 'has_begun', 'is_complete')

    def __init__(self, worker, ticket):
        self.worker = worker
        self.ticket = ticket
        self.reply = worker.replies[ticket[1] - FIRST_THREAD]
        self.head = None
        self.has_begun = self.is_complete = False

    def start_response(self, status, fields, exc_info=None):
        if exc_info:
            try:
                if self.has_begun:
                    raise exc_info[1].with_traceback(exc_info[2])
            finally:
                exc_info = None
        elif self.head:
            raise RuntimeError('start_response was called before; pass exc_info to replace the response')
        self.head = packed(status, fields)
        self.fields = fields
        return self.write

    def send_early_hints(self, fields):
        """Sends 103 with fields that a browser can act on before the response (RFC 8297), as gunicorn does."""
        if self.has_begun or self.is_complete:
            raise RuntimeError('early hints have to precede the response')
        fields = list(fields)
        check('200 OK', fields)
        parts = ['', '103', *(part for field in fields for part in field), '', '']
        self.send(b'I', '\0'.join(parts).encode('latin-1'))

    def write(self, block):
        if not isinstance(block, bytes):
            raise TypeError(f'the body has a {type(block).__name__} where bytes must be')
        begin = 0
        if not self.has_begun:
            self.has_begun = True
            self.worker.streams.add(self.ticket[2:])
            self.send(b'H', self.needed_head() + block[:PIECE])
            begin = PIECE
        for begin in range(begin, len(block), PIECE):
            self.send(b'B', block[begin : begin + PIECE])

    def send_list(self, blocks):
        """Sends a body that is there as a whole."""
        body = blocks[0] if len(blocks) == 1 else b''.join(blocks)
        if len(body) <= PIECE and isinstance(body, bytes):
            self.reply.send(b''.join((b'R', self.ticket, self.needed_head(), body)))
            self.is_complete = True
        else:
            if self.announced() is None:
                self.head = b'%bContent-Length\0%d\0\0' % (self.needed_head()[:-1], len(body))
            self.write(body)
            self.end(FREE)

    def send_result(self, result):
        """Sends a body that is produced while it is sent, and closes it. The worker is free afterwards."""
        close = getattr(result, 'close', None)
        try:
            is_file = result.__class__ is FileWrapper and not self.has_begun and result.is_regular()
            if is_file:
                self.send_file(result.file)
            else:
                self.send_blocks(result, FREE if close is None else BUSY)
        finally:
            if close:
                close()
        if close or is_file:
            self.send(b'D', b'')

    def send_file(self, file):
        """Lets Serow send the rest of a file, by its descriptor: the name may be reused or deleted meanwhile."""
        packet = b''.join((b'f', self.ticket, self.needed_head(), b'%d' % file.tell()))
        self.send(b'S', b'')
        socket.send_fds(self.reply, [packet], [file.fileno()])
        self.is_complete = True

    def send_blocks(self, blocks, last):
        length = self.announced()
        is_single = hasattr(blocks, '__len__') and len(blocks) == 1
        for block in blocks:
            if self.is_complete and block:
                raise ValueError('the body is longer than its Content-Length')
            if not self.has_begun and (is_single or len(block) == length) and len(block) <= PIECE:
                self.send(last[0], self.needed_head() + block)
                self.is_complete = True
            elif block:
                self.write(block)
                if not self.is_wanted():
                    break
        self.end(last)

    def end(self, last):
        if self.has_begun:
            self.worker.streams.discard(self.ticket[2:])
            self.send(last[1], b'')
        elif not self.is_complete:
            self.send(last[0], self.needed_head())
        self.is_complete = True

    def fail(self, text):
        print(text, file=sys.stderr)
        if self.is_complete:
            self.send(b'D', b'')
        else:
            self.worker.streams.discard(self.ticket[2:])
            self.is_complete = True
            self.send(b'X', text.encode(errors='backslashreplace')[:PIECE])

    def send(self, kind, content):
        self.reply.send(b''.join((kind, self.ticket, content)))

    def needed_head(self):
        if not self.head:
            raise RuntimeError('the application gave a body without having called start_response')
        return self.head

    def announced(self):
        """The Content-Length, if the application has set it."""
        for name, value in self.fields if self.head else ():
            if name.lower() == 'content-length' and value.isdecimal():
                return int(value)
        return None

    def is_wanted(self):
        """Whether a client still waits for the response. A busy thread sees only the next packet."""
        number = self.ticket[2:]
        try:
            packet = self.worker.requests.recv(TICKET, PEEK)
        except BlockingIOError:
            packet = b''
        return number in self.worker.streams and not (packet[:1] == b'c' and packet[2:] == number)


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

    def is_regular(self):
        """Whether the file can be sent as it is. Other objects than open() returns may decode what they read."""
        file = self.file
        if file.__class__.__module__ == 'tempfile':
            file = getattr(file, 'file', None)
        if file.__class__ not in FILES or getattr(file, 'raw', file).__class__ is not io.FileIO:
            return False
        try:
            file.flush()
            facts = os.fstat(file.fileno())
            # Files in /proc report a size of 0.
            return stat.S_ISREG(facts.st_mode) and file.readable() and file.tell() < facts.st_size
        except (OSError, ValueError):
            return False


def packed(status, fields):
    """A head as Serow reads it."""
    head = None
    try:
        parts = [status[:3]]
        for field in fields:
            parts += field
        text = '\0'.join(parts)
        head = f'\0{text}\0\0'.encode('latin-1')
        is_plain = status in STATUSES and '\n' not in text and '\0\0' not in text and text.count('\0') == 2 * len(fields)
    except (TypeError, UnicodeEncodeError):
        is_plain = False
    if not is_plain:
        check(status, fields)
    return head


def check(status, fields):
    """Validates a head; raises the error that describes the fault."""
    if not isinstance(status, str) or not STATUS.fullmatch(status):
        raise ValueError(f"{status!r} is not a status; use a str like '200 OK'")
    if len(STATUSES) < 256:
        STATUSES.add(status)
    if not isinstance(fields, list):
        raise TypeError(f'the header is a {type(fields).__name__}, where a list must be')
    for field in fields:
        if len(field) != 2 or not all(isinstance(part, str) for part in field):
            raise TypeError(f'{field!r} is not a header field; use a tuple of two str')
        name, value = field
        if not NAME.fullmatch(name):
            raise ValueError(f'{name!r} is not a valid header field name')
        if not VALUE.fullmatch(value):
            raise ValueError(f'{value!r} is not a valid value of the header field {name}: it contains forbidden characters')
