//! Python's WSGI applications, by Debian's own Python.

use std::{
    io::{Read, Write},
    net::TcpStream,
    num::NonZero,
    path::Path,
    time::Duration,
};

use crate::support::{Running, body, settings, wait_until};
use serow_apps::{Application, ApplicationSettings, Interface};
use serow_requirements::requires;
use tempfile::TempDir;

fn run(code: &str) -> Running {
    Running::new(settings(Interface::Wsgi, "main.py", code))
}

/// One worker, so that it knows the previous requests.
fn run_one(code: &str) -> Running {
    let (mut settings, folder) = settings(Interface::Wsgi, "main.py", code);
    settings.run.processes = NonZero::<usize>::MIN;
    Running::new((settings, folder))
}

/// Answers with its environment, one line for each of the names in the query.
const ECHO: &str = r#"
from urllib.parse import parse_qs
def app(environ, start_response):
    start_response('200 OK', [('Content-Type', 'text/plain')])
    return [' '.join(ascii(environ.get(name)) for name in environ['HTTP_X_NAMES'].split(',')).encode()]
"#;

#[test]
fn environments_follow_pep_3333() {
    requires!("program:/usr/bin/python3");
    let running = run(ECHO);
    let cases = [
        ("GET", "/", "", "REQUEST_METHOD,SCRIPT_NAME,PATH_INFO,QUERY_STRING", "'GET' '' '/' ''"),
        ("GET", "/?", "", "QUERY_STRING,REQUEST_URI", "'' '/?'"),
        ("GET", "/a%20b%2Fc%25?d=%20&e", "", "PATH_INFO,QUERY_STRING", "'/a b/c%' 'd=%20&e'"),
        ("GET", "/%C3%BC%FF%00", "", "PATH_INFO,REQUEST_URI", r"'/\xc3\xbc\xff\x00' '/%C3%BC%FF%00'"),
        (
            "GET",
            "http://other:81/x?y",
            "",
            "PATH_INFO,QUERY_STRING,REQUEST_URI,HTTP_HOST",
            "'/x' 'y' '/x?y' 'other:81'",
        ),
        ("GET", "/", "A-Field: 1\r\nA-Field: 2\r\n", "HTTP_A_FIELD", "'1, 2'"),
        ("GET", "/", "Cookie: a=1\r\nCookie: b=2\r\n", "HTTP_COOKIE", "'a=1; b=2'"),
        ("GET", "/", "X_User: evil\r\nProxy: evil\r\n", "HTTP_X_USER,HTTP_PROXY", "None None"),
        ("GET", "/", "X-User: well\r\nX_User: evil\r\n", "HTTP_X_USER", "'well'"),
        ("GET", "/", "A: gr\u{fc}n\r\n", "HTTP_A", r"'gr\xc3\xbcn'"),
        ("GET", "/", "Accept:\r\n", "HTTP_ACCEPT", "''"),
        ("GET", "/", "", "CONTENT_LENGTH,CONTENT_TYPE,HTTP_CONTENT_LENGTH", "None None None"),
        ("POST", "/", "Content-Length: 0\r\nContent-Type: a/b\r\n", "CONTENT_LENGTH,CONTENT_TYPE", "'0' 'a/b'"),
        ("OPTIONS", "/", "", "SERVER_PROTOCOL,wsgi.url_scheme,SERVER_SOFTWARE", "'HTTP/1.1' 'http' 'serow'"),
        ("GET", "/", "", "wsgi.version,wsgi.multithread,wsgi.multiprocess,wsgi.run_once", "(1, 0) False True False"),
        ("GET", "/", "", "REMOTE_ADDR,wsgi.input_terminated", "'127.0.0.1' True"),
    ];
    for (method, target, fields, names, expected) in cases {
        let host = target.strip_prefix("http://").map_or("localhost", |rest| rest.split('/').next().unwrap());
        let request = format!(
            "{method} {target} HTTP/1.1\r\nHost: {host}\r\nX-Names: {names}\r\n{fields}Connection: close\r\n\r\n"
        );
        assert_eq!(body(&running.exchange(&request)), expected, "{request}");
    }
    for (host, expected) in [
        ("example.com", "'example.com' '80'".to_owned()),
        ("example.com:81", "'example.com' '81'".to_owned()),
        ("[::1]:82", "'[::1]' '82'".to_owned()),
    ] {
        let request =
            format!("GET / HTTP/1.0\r\nHost: {host}\r\nX-Names: SERVER_NAME,SERVER_PORT,SERVER_PROTOCOL\r\n\r\n");
        assert_eq!(body(&running.exchange(request)), format!("{expected} 'HTTP/1.0'"));
    }
}

#[test]
fn bodies_of_requests() {
    requires!("program:/usr/bin/python3");
    let code = r#"
def app(environ, start_response):
    start_response('200 OK', [])
    body, length = environ['wsgi.input'], environ.get('CONTENT_LENGTH')
    first = body.readline()
    return [f'{length} {len(first)} '.encode() + first + b''.join(body) + body.read(1)]
"#;
    let (mut settings, folder) = settings(Interface::Wsgi, "main.py", code);
    let uploads = folder.path().join("uploads");
    std::fs::create_dir(&uploads).unwrap();
    settings.run.buffer.folder.clone_from(&uploads);
    let running = Running::new((settings, folder));
    let long: String = (0..30_000).map(|number| format!("{number:010}")).collect();
    for (content, expected) in [("", "0 0 "), ("a\0b\nc\0", "6 4 "), (&long, "300000 300000 ")] {
        assert_eq!(body(&running.post("/", content.as_bytes())), format!("{expected}{content}"));
    }
    let chunks = "2\r\na\n\r\n1\r\nb\r\n0\r\n\r\n";
    let head = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n";
    assert_eq!(body(&running.exchange(format!("{head}{chunks}"))), "3 2 a\nb");
    assert_eq!(std::fs::read_dir(uploads).unwrap().count(), 0);
}

/// Each path is another kind of response; `/said` returns the lines of standard error, or notes.
const ANSWERS: &str = r#"
import io, sys, tempfile
said = []
class Recorder:
    def write(self, text): said.append(text)
    def writelines(self, lines): said.extend(lines)
    def flush(self): pass
sys.stderr = Recorder()

class Closing:
    def __init__(self, blocks): self.blocks = blocks
    def __iter__(self): return iter(self.blocks)
    def close(self): said.append('closed')

def failing():
    yield b'a' * 5
    raise ValueError('in the middle')

def app(environ, start_response):
    path = environ['PATH_INFO'][1:]
    def start(*fields, status='200 OK'): return start_response(status, [('Content-Type', 'text/plain'), *fields])
    if path == 'said':
        start()
        text = ''.join(said)
        said.clear()
        return [text.encode()]
    if path == 'lazy':
        def lazy():
            start()
            yield b''
            yield b'lazy'
        return lazy()
    if path == 'replaced':
        start()
        try:
            raise ValueError('no')
        except ValueError:
            start_response('418 Teapot', [('A', 'b')], sys.exc_info())
        return [b'tea']
    if path == 'too_late':
        start()(b'begun')
        try:
            raise ValueError('too late')
        except ValueError:
            start_response('500 No', [], sys.exc_info())
    if path == 'written':
        write = start()
        write(b'one ')
        write(b'two ')
        return [b'three']
    if path == 'twice':
        start()
        start()
    if path == 'nothing':
        return [b'no head']
    if path in ('list', 'none', 'long', 'empty', 'tuple', 'joined'):
        start()
        return {'list': [b'list'], 'none': [], 'long': [b'x' * 10_000_000], 'empty': [b''], 'tuple': (b'a', b'b'),
            'joined': [b'a', b'', b'b' * 70_000]}[path]
    if path == 'stream':
        start()
        return (b'%d,' % number for number in range(100))
    if path == 'closing':
        start()
        return Closing([b'a', b'b'])
    if path == 'announced':
        start(('Content-Length', '4'))
        return Closing([b'four'])
    if path == 'announced_more':
        start(('Content-Length', '4'))
        return Closing([b'four', b'more'])
    if path in ('shorter', 'longer', 'list_shorter', 'list_longer'):
        start(('Content-Length', '10'))
        blocks = [b'short'] if path.endswith('shorter') else [b'long', b'long', b'long']
        return blocks if path.startswith('list') else Closing(blocks)
    if path == 'failing':
        start()
        return failing()
    if path == 'failing_close':
        start()
        class Failing(Closing):
            def close(self): raise ValueError('at the end')
        return Failing([b'well'])
    if path == 'status':
        return start_response(environ['QUERY_STRING'].replace('_', ' '), []) and [b'']
    if path == 'field':
        name, _, value = environ['QUERY_STRING'].partition('=')
        from urllib.parse import unquote
        start((unquote(name), unquote(value)))
        return [b'fine']
    if path == 'many':
        start(*((f'X-{number}', str(number)) for number in range(50)))
        return [b'many']
    if path == 'wrong':
        wrong = {'pair': [('a',)], 'number': [('a', 1)], 'bytes': [('a', b'b')], 'dict': {'a': 'b'}, 'generator': (field for field in [('a', 'b')]), 'none': None,
             'far': [('a', '\u20ac')]}
        start_response('200 OK', wrong[environ['QUERY_STRING']])
        return [b'']
    if path == 'text':
        start()
        return ['text']
    if path == 'texts':
        start()
        return iter(['text'])
    if path == 'no_content':
        start(status='204 No Content')
        return []
    if path == 'not_modified':
        start_response('304 Not Modified', [('Content-Length', '100')])
        return []
    if path == 'head':
        start(('Content-Length', '100'))
        return []
    if path == 'exit':
        sys.exit(3)
    if path == 'said_here':
        environ['wsgi.errors'].write('received')
        start()
        return [b'']
    start_response('404 Not Found', [])
    return [b'']
"#;

/// The request; the status, 0 where the response is truncated; the body; the log lines, separated by bars.
const CASES: &[(&str, u16, &str, &str)] = &[
    ("list", 200, "list", ""),
    ("none", 200, "", ""),
    ("empty", 200, "", ""),
    ("tuple", 200, "ab", ""),
    ("lazy", 200, "4\r\nlazy\r\n0\r\n\r\n", ""),
    ("replaced", 418, "tea", ""),
    ("written", 200, "4\r\none \r\n4\r\ntwo \r\n5\r\nthree\r\n0\r\n\r\n", ""),
    ("closing", 200, "1\r\na\r\n1\r\nb\r\n0\r\n\r\n", "closed"),
    ("announced", 200, "four", "closed"),
    ("announced_more", 200, "four", "closed|ValueError: the body is longer than its Content-Length"),
    ("many", 200, "many", ""),
    ("no_content", 204, "", ""),
    ("not_modified", 304, "", ""),
    ("said_here", 200, "", "received"),
    ("status?404_Not_Found", 404, "", ""),
    ("status?299", 299, "", ""),
    ("field?a=%20b%09c", 200, "fine", ""),
    ("field?a=", 200, "fine", ""),
    ("failing_close", 200, "4\r\nwell\r\n0\r\n\r\n", "ValueError: at the end"),
    // The client does not see the application's error; the log does.
    ("shorter", 0, "", "closed"),
    ("longer", 200, "longlonglo", "closed"),
    ("list_shorter", 502, "", ""),
    ("list_longer", 502, "", ""),
    ("too_late", 0, "", "ValueError: too late"),
    ("failing", 0, "", "ValueError: in the middle"),
    ("twice", 500, "", "RuntimeError: start_response was called before"),
    ("nothing", 500, "", "RuntimeError: the application gave a body without having called start_response"),
    ("status?2000_No", 500, "", "ValueError: '2000 No' is not a status"),
    ("status?100_Continue", 500, "", "ValueError: '100 Continue' is not a status"),
    ("status?abc", 500, "", "ValueError: 'abc' is not a status"),
    ("field?a=b%0D%0Ac:d", 500, "", "is not a valid value of the header field a"),
    ("field?a=b%0Ac", 500, "", "is not a valid value of the header field a"),
    ("field?a=b%00c", 500, "", "is not a valid value of the header field a"),
    ("field?=b", 500, "", "'' is not a valid header field name"),
    ("field?a%20b=c", 502, "", ""),
    ("wrong?pair", 500, "", "TypeError: ('a',) is not a header field"),
    ("wrong?number", 500, "", "TypeError: ('a', 1) is not a header field"),
    ("wrong?bytes", 500, "", "TypeError: ('a', b'b') is not a header field"),
    ("wrong?dict", 500, "", "TypeError: the header is a dict"),
    ("wrong?generator", 500, "", "TypeError: the header is a generator"),
    ("wrong?none", 500, "", "TypeError: the header is a NoneType"),
    ("wrong?far", 500, "", "is not a valid value of the header field a"),
    ("text", 500, "", "TypeError: the body has a str where bytes must be"),
    ("texts", 500, "", "TypeError: the body has a str where bytes must be"),
];

/// Whether less came than was announced, or no last chunk.
fn is_cut(response: &str) -> bool {
    match response.contains("chunked") {
        true => !response.ends_with("0\r\n\r\n"),
        false => body(response).len() < "10 bytes..".len(),
    }
}

#[test]
fn responses_arrive_as_returned() {
    requires!("program:/usr/bin/python3");
    let running = run_one(ANSWERS);
    for &(target, status, expected, said) in CASES {
        let response = running.get(&format!("/{target}"));
        match status {
            0 => assert!(is_cut(&response), "{target}: {response}"),
            _ => assert!(response.starts_with(&format!("HTTP/1.1 {status} ")), "{target}: {response}"),
        }
        if status != 0 && status < 500 {
            assert_eq!(body(&response), expected, "{target}: {response}");
        }
        let received = running.get("/said");
        let received = body(&received);
        assert!(said.split('|').all(|part| received.contains(part)), "{target}: {received}");
        assert!(
            said.is_empty() == received.is_empty() && !received.contains("another exception"),
            "{target}: {received}"
        );
    }
}

#[test]
fn long_responses_and_heads_alone() {
    requires!("program:/usr/bin/python3");
    let running = run_one(ANSWERS);
    assert_eq!(running.get("/long").len() - running.get("/list").len(), 10_000_000 - 4 + "10000000".len() - 1);
    let joined = running.get("/joined");
    assert!(body(&joined).starts_with('a') && body(&joined).len() == 70_001, "{}", joined.len());
    let stream = running.get("/stream");
    assert!(stream.contains("\r\n3\r\n99,\r\n0\r\n\r\n"), "{stream}");
    for (path, expected) in [("/head", "content-length: 100\r\n"), ("/list", "content-length: 4\r\n"), ("/stream", "")]
    {
        let response = running.exchange(format!("HEAD {path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"));
        assert!(response.contains(expected) && response.ends_with("\r\n\r\n"), "{response}");
    }
    assert_eq!(body(&running.get("/list")), "list");
}

#[test]
fn wsgiref_validator_reports_no_errors() {
    requires!("program:/usr/bin/python3");
    let running = run_one(
        &format!(
            "{ANSWERS}
import warnings
from wsgiref.validate import validator
warnings.simplefilter('error')
validated = validator(app)
def inner(environ, start_response):
    return (app if environ['PATH_INFO'] in ('/said', '/written') else validated)(environ, start_response)
app, app_ = inner, app
"
        )
        .replace("(app if", "(app_ if"),
    );
    let paths = ["/list", "/none", "/stream", "/closing", "/announced", "/many", "/not_modified", "/long"];
    for path in paths {
        for method in ["GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS"] {
            let request = format!(
                "{method} {path} HTTP/1.1\r\nHost: a:80\r\nA: b\r\nConnection: close\r\nContent-Length: 3\r\n\r\nabc"
            );
            let response = running.exchange(request);
            let status = if path == "/not_modified" { "304" } else { "200" };
            assert!(response.starts_with(&format!("HTTP/1.1 {status} ")), "{path}: {response}");
        }
    }
    assert_eq!(body(&running.get("/said")).replace("closed", ""), "");
}

#[test]
fn file_wrappers_are_sent_as_files() {
    requires!("program:/usr/bin/python3");
    let running = run_one(
        r#"
import io, os, sys, tempfile
with open('file', 'wb') as file: file.write(bytes(range(256)) * 1000)
with open('small', 'wb') as file: file.write(b'0123456789')
def app(environ, start_response):
    path, wrapper = environ['PATH_INFO'][1:], environ['wsgi.file_wrapper']
    fields = [('Content-Length', '3')] if 'announced' in path else []
    start_response('200 OK', fields)
    if path == 'memory': return wrapper(io.BytesIO(b'memory'), 2)
    if path == 'temporary':
        file = tempfile.NamedTemporaryFile()
        file.write(b'temporary')
        file.seek(0)
        return wrapper(file)
    if path == 'proc': return wrapper(open('/proc/self/comm', 'rb'))
    if path == 'wrapped': return (block for block in wrapper(open('small', 'rb')))
    if path == 'zip':
        import gzip
        with gzip.open('zip', 'wb') as file: file.write(b'zipped')
        return wrapper(gzip.open('zip', 'rb'))
    file = open('file' if path == 'file' else 'small', 'rb')
    if 'read' in path: file.read(4)
    if path == 'gone':
        os.unlink('small')
    return wrapper(file)
"#,
    );
    let cases = [
        ("/memory", "2\r\nme\r\n2\r\nmo\r\n2\r\nry\r\n0\r\n\r\n"),
        ("/temporary", "temporary"),
        ("/zip", "6\r\nzipped\r\n0\r\n\r\n"),
        ("/wrapped", "a\r\n0123456789\r\n0\r\n\r\n"),
        ("/small", "0123456789"),
        ("/read", "456789"),
        ("/announced", "012"),
        ("/announced_read", "456"),
        ("/gone", "0123456789"),
    ];
    for (path, expected) in cases {
        assert_eq!(body(&running.get(path)), expected, "{path}");
    }
    assert!(body(&running.get("/proc")).contains("serow test"));
    let response = running.exchange_bytes("GET /file HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    let bytes: Vec<u8> = (0..1000).flat_map(|_| 0..=255).collect();
    assert!(response.ends_with(&bytes) && response.len() < bytes.len() + 300);
}

#[test]
fn threads_answer_at_the_same_time() {
    requires!("program:/usr/bin/python3");
    let (mut settings, folder) = settings(
        Interface::Wsgi,
        "main.py",
        r#"
import threading
meeting = threading.Barrier(3, timeout=10)
def app(environ, start_response):
    if environ['PATH_INFO'] == '/exit': raise SystemExit(1)
    meeting.wait()
    start_response('200 OK', [])
    return [f"{environ['wsgi.multithread']} {environ['wsgi.multiprocess']} {environ['PATH_INFO']}".encode()]
"#,
    );
    settings.run.processes = NonZero::<usize>::MIN;
    settings.concurrency = NonZero::new(3).unwrap();
    let running = Running::new((settings, folder));
    for round in 0..3 {
        assert!(running.get("/exit").starts_with("HTTP/1.1 500 "));
        std::thread::scope(|scope| {
            for client in 0..3 {
                let running = &running;
                scope.spawn(move || {
                    let path = format!("/{round}/{client}");
                    assert_eq!(body(&running.get(&path)), format!("True False {path}"));
                });
            }
        });
    }
}

#[test]
fn responses_end_when_their_client_disconnects() {
    requires!("program:/usr/bin/python3");
    for concurrency in [1, 2] {
        let (mut settings, folder) = settings(
            Interface::Wsgi,
            "main.py",
            r#"
class Endless:
    ended = False
    def __iter__(self):
        while True:
            yield b'x' * 1000
    def close(self):
        Endless.ended = True
def app(environ, start_response):
    start_response('200 OK', [])
    return Endless() if environ['PATH_INFO'] == '/endless' else [b'%d' % Endless.ended]
"#,
        );
        settings.run.processes = NonZero::<usize>::MIN;
        settings.concurrency = NonZero::new(concurrency).unwrap();
        let running = Running::new((settings, folder));
        let mut connection = TcpStream::connect(running.address()).unwrap();
        connection.write_all(b"GET /endless HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
        connection.read_exact(&mut [0; 10_000]).unwrap();
        drop(connection);
        // One worker: it answers this when it has ended the other.
        let ended = (0..1000).any(|_| body(&running.get("/")) == "1");
        assert!(ended, "with {concurrency} threads");
    }
}

#[test]
fn a_failure_is_a_response_and_a_worker_that_exits_is_replaced() {
    requires!("program:/usr/bin/python3");
    let running = run(r#"
import os, signal, sys
def app(environ, start_response):
    path = environ['PATH_INFO']
    if path == '/exit': sys.exit(3)
    if path == '/kill': os.kill(os.getpid(), signal.SIGKILL)
    if path == '/once' and not os.path.exists('died'):
        open('died', 'w').close()
        os._exit(1)
    start_response('200 OK', [])
    return [path.encode()]
"#);
    assert!(running.get("/exit").starts_with("HTTP/1.1 500 "));
    assert_eq!(body(&running.get("/once")), "/once");
    assert!(running.post("/kill", b"").starts_with("HTTP/1.1 502 "));
    assert_eq!(body(&running.get("/well")), "/well");
}

/// Modules and files that have applications.
fn found(application: &str, preload: bool) -> (ApplicationSettings, TempDir) {
    let main = r#"
import other
class Thing:
    def method(self, environ, start_response):
        start_response('200 OK', [])
        return [self.text.encode()]
    __call__ = method
    def __init__(self, text='default'): self.text = text
def make(text='made', more=''): return Thing(text + more)
application, app, nested, number = Thing('application'), Thing('app'), Thing('nested'), 5
nested.deeper = Thing('deeper')
"#;
    let (mut settings, folder) = settings(Interface::Wsgi, "main.py", main);
    std::fs::create_dir_all(folder.path().join("a/b")).unwrap();
    let sibling = "import sys\ndef app(e, s):\n    s('200 OK', [])\n    return [__name__.encode()]";
    for (file, code) in [
        ("other.py", ""),
        ("useless.py", "app = None"),
        ("a/b/__init__.py", ""),
        ("a/b/c.py", "from . import sibling\napp = sibling.app"),
        ("a/b/sibling.py", sibling),
        // Not the module of the package; nor would its name be one.
        ("a/wsgi.py", "app = None"),
        ("a.wsgi", "import a.b.c\napplication, app = a.b.c.app, None"),
        ("my-site.wsgi", "from main import *\n"),
    ] {
        std::fs::write(folder.path().join(file), code).unwrap();
    }
    settings.program.application = application.to_owned();
    settings.preload = preload;
    settings.run.processes = NonZero::<usize>::MIN;
    (settings, folder)
}

#[test]
fn applications_are_found_by_module_and_name() {
    requires!("program:/usr/bin/python3");
    let cases = [
        ("main", "application"),
        ("main.py", "application"),
        ("main:app", "app"),
        ("main.py:app", "app"),
        ("main:nested.deeper", "deeper"),
        ("main:make()", "made"),
        ("main:make('a', more='b')", "ab"),
        ("main:nested.method", "nested"),
        ("a.b.c", "a.b.sibling"),
        ("a/b/c.py", "b.sibling"),
        ("a.wsgi", "a.b.sibling"),
        ("my-site.wsgi", "application"),
        ("my-site.wsgi:app", "app"),
    ];
    for (place, (application, expected)) in cases.into_iter().enumerate() {
        let running = Running::new(found(application, place % 2 == 0));
        assert_eq!(body(&running.get("/")), expected, "{application}");
    }
    let cases = [
        ("missing", "ModuleNotFoundError: No module named 'missing'"),
        ("missing.py", "missing.py is not a file in /"),
        ("other", "other has neither 'application' nor 'app': say other:NAME"),
        ("main:missing", "main has no 'missing'"),
        ("useless.py", "useless.py is a NoneType, which cannot be called"),
        ("main:number", "main:number is a int, which cannot be called"),
        ("main:make(", "main:make( cannot be read"),
        ("main:make(1 + x)", "main:make(1 + x) cannot be read"),
        ("main:make(1, 2, 3)", "TypeError: make() takes"),
    ];
    for (place, (application, expected)) in cases.into_iter().enumerate() {
        let (settings, _folder) = found(application, place % 2 == 0);
        let error = Application::new(settings, 1).run().unwrap_err().to_string();
        assert!(error.contains(expected) && !error.contains("importlib"), "{application}: {error}");
    }
}

#[test]
fn load_errors_have_a_python_traceback() {
    requires!("program:/usr/bin/python3");
    let cases = [
        ("def app(", "SyntaxError: ", "main.py\", line 1"),
        ("1 / 0", "ZeroDivisionError", "main.py\", line 1, in <module>\n    1 / 0"),
        ("raise SystemExit('enough')", "SystemExit: enough", "line 1"),
    ];
    for (code, expected, place) in cases {
        for preload in [false, true] {
            let (mut settings, _folder) = settings(Interface::Wsgi, "main.py", code);
            settings.preload = preload;
            let error = Application::new(settings, 1).run().unwrap_err().to_string();
            assert!(error.contains(expected) && error.contains(place) && !error.contains("serow.py"), "{error}");
        }
    }
}

#[test]
fn new_code_takes_over_and_broken_code_does_not() {
    requires!("program:/usr/bin/python3");
    for preload in [false, true] {
        let code = |text: &str| format!("def app(e, s):\n    s('200 OK', [])\n    return [b'{text}']\n# {text}");
        let (mut settings, folder) = settings(Interface::Wsgi, "main.py", &code("one"));
        settings.preload = preload;
        let running = Running::new((settings, folder));
        let file = running.folder.path().join("main.py");
        std::fs::write(&file, "raise ValueError('broken')").unwrap();
        assert!(running.reload().unwrap_err().contains("broken"));
        assert_eq!(body(&running.get("/")), "one");
        std::fs::write(&file, code("second")).unwrap();
        running.reload().unwrap();
        assert_eq!(body(&running.get("/")), "second");
    }
}

#[test]
fn old_python_versions_are_refused() {
    requires!("program:/usr/bin/python3");
    let (mut settings, folder) = settings(Interface::Wsgi, "main.py", "");
    std::fs::write(folder.path().join("sitecustomize.py"), "import sys\nsys.version_info = (3, 8)").unwrap();
    settings.run.environment.push(("PYTHONPATH".into(), folder.path().into()));
    let error = Application::new(settings, 1).run().unwrap_err().to_string();
    assert!(error.starts_with("Serow needs Python 3.9 or later, and this is "), "{error}");
}

#[test]
fn a_worker_whose_threads_go_on_is_ended_when_it_has_left() {
    requires!("program:/usr/bin/python3");
    let (mut settings, folder) = settings(
        Interface::Wsgi,
        "main.py",
        r#"
import os, threading, time
threading.Thread(target=time.sleep, args=(600,)).start()
def app(environ, start_response):
    start_response('200 OK', [])
    return [str(os.getpid()).encode()]
"#,
    );
    settings.run.processes = NonZero::<usize>::MIN;
    settings.run.grace = Duration::from_millis(300);
    let running = Running::new((settings, folder));
    let first = body(&running.get("/")).to_owned();
    running.reload().unwrap();
    assert_ne!(body(&running.get("/")), first);
    wait_until("the first worker is gone", || !Path::new("/proc").join(&first).exists());
}

#[test]
fn early_hints_precede_the_response_and_invalid_or_late_ones_raise() {
    requires!("program:/usr/bin/python3");
    let running = run_one(
        "kept = []
def app(environ, start_response):
    send, path = environ['wsgi.early_hints'], environ['PATH_INFO']
    try:
        if path == '/late':
            kept.pop()([('Link', '</evil>')])
        if path == '/begun':
            start_response('200 OK', [])(b'.')
            send([('Link', '</evil>')])
        kept.append(send)
        send([('Link', '</a.css>; rel=preload'), ('link', '</b.js>; rel=preload')])
        if path == '/invalid':
            send([('Link', '</a>\\r\\nX-Evil: 1')])
    except (RuntimeError, ValueError) as error:
        kept.clear()
        if path == '/begun':
            return [str(error).encode()]
        start_response('200 OK', [])
        return [str(error).encode()]
    if path == '/raise':
        raise KeyError
    start_response('200 OK', [('X-Id', '7')])
    return [b'.'] if path == '/' else iter([b'.'])
",
    );
    for path in ["/", "/stream"] {
        let hints = running.get(path);
        let (early, response) = hints.split_once("\r\n\r\n").unwrap();
        assert!(early.starts_with("HTTP/1.1 103 "), "{hints}");
        assert!(early.contains("Link: </a.css>; rel=preload\r\nlink: </b.js>; rel=preload"), "{hints}");
        assert!(response.starts_with("HTTP/1.1 200 ") && response.contains("X-Id: 7\r\n"), "{hints}");
        assert!(running.get("/late").ends_with("early hints have to precede the response"), "{path}");
    }
    running.get("/raise");
    assert!(running.get("/late").ends_with("early hints have to precede the response"));
    assert!(running.get("/begun").contains("early hints have to precede the response"));
    let invalid = running.get("/invalid");
    assert!(invalid.contains("forbidden characters") && !invalid.contains("\r\nX-Evil"), "{invalid}");
}
