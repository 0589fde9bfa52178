# The part for ASGI 3: bodies of requests that do not come with them.

from collections import deque

WINDOW = 256 * 1024  # bytes of a body that may be under way; Serow says when there is room for more


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
