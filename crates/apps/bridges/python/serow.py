# Serow's bridge for Python; the parts for WSGI or ASGI follow, which have the class Worker. It is read from standard
# input, which is the channel to Serow; src/messages.rs describes the protocol.
#
# Until TemplateProcess puts the application's folder first, modules are not searched for there: a file such as token.py
# would take the place of Python's own. So the parts import all that they need at their beginning, also what Python's
# modules import only when they need it.

import ast
import concurrent.futures.thread
import gc
import importlib
import io
import logging
import os
import signal
import socket
import sys
import traceback
import types

PACKET = 512 * 1024  # longer than any packet
PIECE = 64 * 1024  # of a body: two fit into the socket's buffer
DESCRIPTORS = 253  # the most that a message can carry (SCM_MAX_FD)
TICKET = 10  # bytes
FIRST_THREAD = 33  # in tickets
NAMES = ('application', 'app')  # of an application in its module
OURS = ('serow.py', '<frozen importlib._bootstrap>', '<frozen importlib._bootstrap_external>', importlib.__file__)


class Unusable(Exception):
    """The module is not an application; the text is the complete message."""


class TemplateProcess:
    """The process that loads the application and forks workers."""

    def __init__(self):
        self.control = socket.socket(fileno=os.dup(0))
        parts = self.control.recv(PACKET).decode().split('\0')
        self.settings = dict(zip(parts[::2], parts[1::2]))
        self.application = None
        self.pids = set()
        with open(os.devnull, 'rb') as nothing:
            os.dup2(nothing.fileno(), 0)
        sys.stdout = sys.__stdout__ = unbuffered(sys.stdout)
        sys.path[:] = [os.getcwd(), *sys.path]

    def run(self):
        """Forks workers on command. In a worker this returns its entry point, in the template process None."""
        rename(f"{self.settings['name']}: template")
        if self.settings['preload']:
            try:
                self.application = load(self.settings['application'])
            except BaseException as error:
                return self.send('failed', describe(error))
            gc.collect()
            gc.freeze()  # objects that exist now stay shared
        signal.signal(signal.SIGCHLD, lambda *_: self.reap())
        self.send('ready')
        while True:
            order, sockets = self.receive()
            if not order:
                return None
            command, number, place = order.decode().split('\0')
            if command == 'fork':
                begin = self.fork(number, place, sockets)
                if begin:
                    return begin
            self.reap()

    def receive(self):
        try:
            order, descriptors, _, _ = socket.recv_fds(self.control, PACKET, DESCRIPTORS, socket.MSG_CMSG_CLOEXEC)
        except ConnectionResetError:
            return b'', []
        return order, descriptors

    def fork(self, number, place, descriptors):
        try:
            pid = os.fork()
        except OSError as error:
            self.send('unforked', number, str(error))
        else:
            if pid == 0:
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                self.control.close()
                rename(f"{self.settings['name']}: worker {place}")
                return lambda: work(self.application, self.settings, descriptors)
            # First the report: a handler of SIGCHLD reports the end of every process in `pids`, at any time from here on.
            self.send('forked', number, str(pid))
            self.pids.add(pid)
        for descriptor in descriptors:
            os.close(descriptor)
        return None

    def reap(self):
        """Only for our own children: the application may wait for its own."""
        for pid in list(self.pids):
            try:
                ended, status = os.waitpid(pid, os.WNOHANG)
            except ChildProcessError:
                self.pids.discard(pid)
                continue
            if ended:
                self.pids.discard(pid)
                code = os.waitstatus_to_exitcode(status)
                self.send('exited', str(pid), f'killed by signal {-code}' if code < 0 else f'exit status {code}')

    def send(self, *parts):
        try:
            self.control.send('\0'.join(parts).encode(errors='backslashreplace'))
        except OSError:
            pass  # Serow is gone, which receive() reports


def unbuffered(stream):
    """Text goes on at the end of each line, and bytes at once, as with python -u: a worker that is killed loses none."""
    raw = io.FileIO(stream.fileno(), 'w', closefd=False)
    raw.name = stream.name
    return io.TextIOWrapper(raw, stream.encoding, stream.errors, line_buffering=True)


def work(application, settings, descriptors):
    """A worker's life."""
    requests, output, *replies = descriptors
    os.dup2(output, 1)
    os.dup2(output, 2)
    os.close(output)
    requests = socket.socket(fileno=requests)
    replies = [socket.socket(fileno=reply) for reply in replies]
    try:
        application = load(settings['application']) if application is None else application
        worker = Worker(application, settings, requests, replies)
    except BaseException as error:
        requests.send(b'failed\0' + describe(error).encode(errors='backslashreplace')[:PIECE])
        os._exit(1)
    gc.collect()
    gc.freeze()  # objects that exist now stay, so the collector can skip them
    try:
        requests.send(b'ready')
        worker.serve()
    except BrokenPipeError:
        pass  # Serow does not need this worker any more
    for channel in (requests, *replies):
        channel.close()


def load(name):
    """Loads the application: `module`, `module:name`, `module:factory()`, or a file (.py, .wsgi) instead of the module."""
    place, _, wanted = name.partition(':')
    module = run_file(place) if is_for_mod_wsgi(place) else importlib.import_module(name_of_module(place))
    wanted = wanted or next((candidate for candidate in NAMES if hasattr(module, candidate)), None)
    if not wanted:
        raise Unusable(f"{place} has neither 'application' nor 'app': say {place}:NAME")
    wanted, is_factory, arguments = wanted.partition('(')
    found = module
    for part in wanted.split('.'):
        if not hasattr(found, part):
            raise Unusable(f"{place} has no '{wanted}'")
        found = getattr(found, part)
    if is_factory:
        found = call(found, name, arguments)
    if not callable(found):
        raise Unusable(f'{name} is a {type(found).__name__}, which cannot be called')
    return found


def is_for_mod_wsgi(place):
    """Whether this is a file as for mod_wsgi; otherwise a name that ends like one is that of a module in a package."""
    return place.endswith('.wsgi') and os.path.isfile(place)


def run_file(path):
    """Runs a file that cannot be imported by its name, as mod_wsgi does: in a module with a name of its own. Its code is
    not cached: that of a file with this name and .py would have the same place."""
    module = types.ModuleType('_serow_wsgi')
    module.__file__ = os.path.abspath(path)
    sys.modules[module.__name__] = module
    with open(path, 'rb') as file:
        exec(compile(file.read(), module.__file__, 'exec'), module.__dict__)
    return module


def name_of_module(place):
    return module_of_file(place) if place.endswith('.py') else place


def module_of_file(path):
    """The name by which a file is imported, when the folder that its packages lie in is searched first."""
    folder, file = os.path.split(os.path.abspath(path))
    if not os.path.isfile(path):
        raise Unusable(f'{path} is not a file in {os.getcwd()}')
    names = [file[: -len('.py')]]
    while os.path.exists(os.path.join(folder, '__init__.py')):
        folder, name = os.path.split(folder)
        names.insert(0, name)
    if folder != sys.path[0]:
        sys.path.insert(0, folder)
    return '.'.join(names)


def call(factory, name, arguments):
    """Calls the factory; its arguments can only be literals."""
    try:
        call = ast.parse('f(' + arguments, mode='eval').body
        values = [ast.literal_eval(argument) for argument in call.args]
        named = {argument.arg: ast.literal_eval(argument.value) for argument in call.keywords}
    except (AttributeError, SyntaxError, ValueError):
        raise Unusable(f'{name} cannot be read: a factory is called with literals, as in app:make("a", debug=True)') from None
    return factory(*values, **named)


def describe(error):
    """The traceback of an exception as Python prints it, without the frames of this file."""
    if isinstance(error, Unusable):
        return str(error)
    frames = error.__traceback__
    while frames and frames.tb_frame.f_code.co_filename in OURS:
        frames = frames.tb_next
    return ''.join(traceback.format_exception(type(error), error, frames)).rstrip()


def rename(title):
    """Writes a title over the arguments of this process, which is what ps shows; proc(5) says where they are."""
    try:
        with open('/proc/self/stat', 'rb') as stat:
            begin, end = map(int, stat.read().rpartition(b')')[2].split()[45:47])
        title = f'serow {title}'.encode()[: end - begin - 1]
        with open('/proc/self/mem', 'r+b', buffering=0) as memory:
            memory.seek(begin)
            memory.write(title.ljust(end - begin, b'\0'))
        with open('/proc/self/comm', 'wb') as comm:
            comm.write(title[:15])
    except (OSError, ValueError):
        pass  # the title is only for people
