# The part for ASGI 3: replies to Serow's threads.

import asyncio
from collections import deque

STATUSES = {status: b'%d' % status for status in range(200, 1000)}


class Reply:
    """The channel to one of Serow's threads. Sending never waits: each body has a window of its own."""

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
                return  # Serow is gone, which the socket for requests reports
        self.waiting.append((packet, None))

    def send_file(self, packet, file):
        """Sends a file's descriptor along, which stays open until it has left."""
        if not self.waiting:
            self.loop.add_writer(self.socket, self.flush)
        self.waiting.append((b'S' + packet[1 : 1 + TICKET], None))
        self.waiting.append((packet, os.dup(file.fileno())))
        self.flush()

    def flush(self):
        try:
            while self.waiting:
                packet, descriptor = self.waiting[0]
                if descriptor is None:
                    self.socket.send(packet)
                else:
                    socket.send_fds(self.socket, [packet], [descriptor])
                    os.close(descriptor)
                self.waiting.popleft()
        except BlockingIOError:
            return
        except OSError:
            self.waiting.clear()
        self.loop.remove_writer(self.socket)

    async def flushed(self):
        while self.waiting:
            await asyncio.sleep(0.01)


def begin_of(kind, ticket, head):
    """The start of a response, before its header fields."""
    try:
        return b'%b%b\0%b' % (kind, ticket, STATUSES[head['status']])
    except (KeyError, TypeError):
        raise ValueError(f"{head.get('status')!r} is not a status; use an int from 200 to 999") from None


def packed(begin, headers, body):
    """Header fields as Serow reads them: separated by NUL, so they must not contain any."""
    parts = [begin]
    for pair in headers:
        parts += pair
    parts += (b'', body)
    try:
        packet = b'\0'.join(parts)
    except TypeError:
        raise TypeError(wrong_part(parts)) from None
    end = len(packet) - len(body)
    if packet.count(0, len(begin), end) != len(parts) - 1:
        raise ValueError('a header field has a NUL in its name or value')
    if packet.find(b'\n', len(begin), end) >= 0 or packet.find(b'\r', len(begin), end) >= 0:
        raise ValueError('a header field has a line break in its name or value')
    # An empty name would end the head. Values may be empty.
    if packet.find(b'\0\0', len(begin)) < end - 2 and any(not name for name, _ in headers):
        raise ValueError('a header field has no name')
    if end > PIECE:
        raise ValueError('a header is longer than 64 KiB')
    return packet


def wrong_part(parts):
    """The first name or value that is not bytes, as an error text."""
    for part in parts[1:-2]:
        if not isinstance(part, (bytes, bytearray, memoryview)):
            return f'{part!r} is not a name or value of a header field; use bytes'
    return f'the body is a {type(parts[-1]).__name__}, where bytes must be'


def has_length(headers):
    return any(name.lower() == b'content-length' for name, _ in headers)
