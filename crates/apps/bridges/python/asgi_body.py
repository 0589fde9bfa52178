# The part for ASGI 3: bodies of requests that do not come with them.

from collections import deque

WINDOW = 256 * 1024  # bytes of a body that may be in flight; Serow reports when there is room for more


class Streamed:
    """The body of a request that comes piece by piece, where somebody reads it."""

    def __init__(self):
        self.pieces = deque()
        self.is_complete = False
        self.taken = WINDOW  # the whole window opens with the first read

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
