//! An application in Python that passes requests on to a server of the test.

use std::{fs, path::Path, thread};

use serow_processes::Workers;
use serow_site::Application;

/// Writes the application into this folder.
pub(super) fn write(folder: &Path) {
    let socket = folder.join("app");
    fs::write(folder.join("relay.py"), RELAY.replace("SOCKET", &format!("{:?}", socket.display().to_string())))
        .unwrap();
}

/// Starts the workers of applications.
pub(super) fn start(applications: Vec<Application>) -> Vec<Workers> {
    // A thread without a runtime: it waits for the workers.
    let start = |application: Application| thread::spawn(move || application.run().unwrap()).join().unwrap();
    applications.into_iter().map(start).collect()
}

/// Sends what it sees of a request to a server, and returns the response of that server.
const RELAY: &str = r"
import socket

server = None

def seen(environ):
    yield 'user', environ.get('REMOTE_USER', '')
    yield 'content-length', str(len(environ['wsgi.input'].read()))
    for name, value in environ.items():
        if name.startswith('HTTP_'):
            yield name[5:].lower().replace('_', '-'), value

def app(environ, start_response):
    global server
    if server is None:
        connection = socket.socket(socket.AF_UNIX)
        connection.connect(SOCKET)
        server = connection.makefile('rwb')
    fields = dict(seen(environ))
    length = int(fields['content-length'])
    head = 'GET ' + environ['REQUEST_URI'] + ' HTTP/1.1\r\n'
    head += ''.join(name + ': ' + value + '\r\n' for name, value in fields.items())
    server.write((head + '\r\n' + 'x' * length).encode('latin-1'))
    server.flush()
    status = server.readline().decode('latin-1').strip().split(' ', 1)[1]
    fields = []
    while line := server.readline().decode('latin-1').strip():
        fields.append(tuple(line.split(': ', 1)))
    body = server.read(int(dict(fields)['Content-Length']))
    start_response(status, fields)
    return [body]
";
