
# The part for ASGI 3: what HTTP requests and WebSockets have in common.

import asyncio


class Gone(OSError):
    """The client has gone, or nobody waits for it any more."""


class Exchange:
    """One call of the application. A subclass has the phases."""

    __slots__ = ('ticket', 'reply', 'task', 'head', 'phase', 'room', 'is_gone', 'news')

    def fail(self, error):
        was_told = self.is_gone and (isinstance(error, asyncio.CancelledError) or is_about(error, Gone))
        text = describe(error)
        if not was_told:
            print(text, file=sys.stderr)
        if self.phase == self.ENDED:
            return
        if self.is_gone or self.phase == self.CLOSED:
            return self.abandon()
        self.phase = self.ENDED
        self.reply.send(b'X' + self.ticket + text.encode(errors='backslashreplace')[:PIECE])
        self.wake()

    def abandon(self):
        if self.phase != self.ENDED:
            self.phase = self.ENDED
            self.reply.send(b'D' + self.ticket)

    async def wait(self):
        """Waits for the next event."""
        if self.news is None:
            self.news = asyncio.Event()
        self.news.clear()
        await self.news.wait()

    def wake(self):
        if self.news:
            self.news.set()


def is_about(error, kind):
    """Whether an error is of this kind, or happened because of one that is, or is a group that has one (PEP 654)."""
    while error and not isinstance(error, kind):
        if any(is_about(one, kind) for one in getattr(error, 'exceptions', ())):
            return True
        error = error.__cause__ or error.__context__
    return error is not None
