

# The part for WSGI (PEP 3333): a worker. Its responses stand before this, in wsgi_response.py.

import inspect
import io
import marshal
import threading

FIXED = (  # values that every request has besides its header fields
    'REQUEST_METHOD',
    'QUERY_STRING',
    'SERVER_PROTOCOL',
    'SERVER_NAME',
    'REQUEST_URI',
    'wsgi.url_scheme',
    'PATH_INFO',
    'SERVER_PORT',
    'REMOTE_ADDR',
    'REMOTE_PORT',
)
SHAPES = 256  # sets of names that are remembered: clients could send any number of them
MAX_SHAPE = 4096  # characters


class Worker:
    """Answers requests, one after the other, or as many at a time as it has threads."""

    def __init__(self, application, settings, requests, replies):
        if is_for_asyncio(application):
            name = settings['application']
            raise Unusable(f'{name} is an ASGI application: say --interface asgi (in a settings file, interface = "asgi")')
        self.application = application
        self.requests = requests
        self.replies = replies
        self.threads = int(settings['concurrency'])
        self.asking = threading.Lock()
        self.shapes = {}  # by the names of fields: an environment of the same names, and these
        self.streams = set()  # numbers of requests whose response has begun and is still wanted
        self.constants = {
            'SCRIPT_NAME': '',
            'SERVER_SOFTWARE': 'serow',
            'wsgi.version': (1, 0),
            'wsgi.input': None,
            'wsgi.errors': sys.stderr,
            'wsgi.multithread': self.threads > 1,
            'wsgi.multiprocess': int(settings['workers']) > 1,
            'wsgi.run_once': False,
            'wsgi.input_terminated': True,
            'wsgi.file_wrapper': FileWrapper,
            'wsgi.early_hints': None,
        }

    def serve(self):
        others = [threading.Thread(target=self.receive, name=f'serow {number}') for number in range(1, self.threads)]
        for thread in others:
            thread.start()
        self.receive()
        for thread in others:
            thread.join()

    def receive(self):
        packet = bytearray(PACKET)
        view = memoryview(packet)
        ticket, behind_ticket = view[:TICKET], view[TICKET:]
        recv_into, answer, no_content = self.requests.recv_into, self.answer, io.BytesIO
        while length := recv_into(packet):
            kind = packet[0]
            if kind == 114:  # r
                answer(ticket.tobytes(), behind_ticket, no_content())
            elif kind == 99:  # c
                self.streams.discard(view[2:TICKET].tobytes())
            else:
                begin = TICKET + 8
                end = begin + int(packet[TICKET:begin])
                name = ticket.tobytes()
                content = io.BytesIO(view[end:length]) if kind == 98 else self.uploaded(name)  # b, f
                if content is None:
                    self.replies[name[1] - FIRST_THREAD].send(b'E' + name)
                    continue
                with content:
                    answer(name, view[begin:end], content)

    def answer(self, ticket, request, content):
        names, values = marshal.loads(request)
        template, keys = self.shapes.get(names) or self.shape(names)
        # Copying a dict and replacing its values is faster than building one.
        environ = template.copy()
        environ.update(zip(keys, values))
        environ['wsgi.input'] = content
        exchange = Exchange(self, ticket)
        environ['wsgi.early_hints'] = exchange.send_early_hints
        try:
            result = self.application(environ, exchange.start_response)
            if (result.__class__ is list or result.__class__ is tuple) and not exchange.has_begun:
                exchange.send_list(result)
            else:
                exchange.send_result(result)
        except BaseException as error:
            exchange.fail(describe(error))
            # The application may exit, but not by ending one of many threads.
            if not isinstance(error, Exception) and self.threads == 1:
                raise

    def uploaded(self, ticket):
        """The request body that Serow keeps in an unnamed file; None if nobody waits for the response any more."""
        reply = self.replies[ticket[1] - FIRST_THREAD]
        with self.asking:  # threads ask one after the other, so each gets its own
            reply.send(b'G' + ticket)
            _, descriptors, _, _ = socket.recv_fds(reply, PIECE, 1, socket.MSG_CMSG_CLOEXEC)
        if not descriptors:
            return None
        content = open(descriptors[0], 'rb')
        content.seek(0)  # a worker that crashed may have read some of it
        return content

    def shape(self, names):
        keys = FIXED + tuple(names.split(',') if names else ())
        shape = ({**self.constants, **dict.fromkeys(keys)}, keys)
        if len(self.shapes) >= SHAPES:
            # The oldest; another thread may remove it at the same time.
            self.shapes.pop(next(iter(self.shapes.copy()), None), None)
        if len(names) <= MAX_SHAPE:
            self.shapes[names] = shape
        return shape


def is_for_asyncio(application):
    """Whether it returns an awaitable, which WSGI does not support."""
    return inspect.iscoroutinefunction(application) or inspect.iscoroutinefunction(type(application).__call__)


begin = TemplateProcess().run()
if begin:
    begin()
