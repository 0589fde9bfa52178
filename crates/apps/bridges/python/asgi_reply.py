# The part for ASGI 3: what is said to Serow's threads.

import asyncio
from collections import deque

STATUSES = {status: b'%d' % status for status in range(200, 1000)}


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
    # A name of nothing would be the end. Values may be empty.
    if packet.find(b'\0\0', len(begin)) < len(packet) - len(body) - 2 and any(not name for name, _ in headers):
        raise ValueError('a header field has no name')
    if len(packet) - len(body) > PIECE:
        raise ValueError('a header is longer than 64 KiB')
    return packet


def wrong_part(parts):
    """What is no bytes, though it must be."""
    for part in parts[1:-2]:
        if not isinstance(part, (bytes, bytearray, memoryview)):
            return f'{part!r} is no name or value of a header field, which are bytes'
    return f'the body is a {type(parts[-1]).__name__}, where bytes must be'


def has_length(headers):
    return any(name.lower() == b'content-length' for name, _ in headers)
