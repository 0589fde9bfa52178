//! Python's applications for asyncio, by Debian's python3.

use std::{
    io::{Read, Write},
    net::TcpStream,
    thread,
    time::Duration,
};

use crate::support::{Running, at_rest, body, settings, wait_until};
use serow_apps::{Application, Interface};
use serow_requirements::requires;

/// An application whose parts are functions that are named by the path.
const BEGIN: &str = r"
import asyncio, os, signal

async def app(scope, receive, send):
    if scope['type'] == 'lifespan':
        raise ValueError('it does not know of it')
    await globals()[scope['path'][1:].partition('/')[0]](scope, receive, send)

async def respond(send, body, status=200, headers=()):
    await send({'type': 'http.response.start', 'status': status, 'headers': headers})
    await send({'type': 'http.response.body', 'body': body})
";

fn run(code: &str) -> Running {
    Running::new(settings(Interface::Asgi, "application.py", &format!("{BEGIN}{code}")))
}

/// With one worker.
fn run_alone(code: &str) -> Running {
    let (mut settings, folder) = settings(Interface::Asgi, "application.py", &format!("{BEGIN}{code}"));
    settings.run.processes = std::num::NonZero::<usize>::MIN;
    Running::new((settings, folder))
}

#[test]
fn a_request_is_a_scope() {
    requires!("program:/usr/bin/python3");
    let running = run(r"
async def shown(scope, receive, send):
    names = ['type', 'asgi', 'http_version', 'method', 'scheme', 'path', 'raw_path', 'query_string', 'root_path', 'headers', 'state']
    parts = [scope[name] for name in names] + [scope['client'][0], type(scope['client'][1]), scope['server'][0]]
    await respond(send, '\n'.join(map(ascii, parts)).encode())
");
    let asgi = "{'version': '3.0', 'spec_version': '2.3'}";
    let cases = [
        (
            "GET /shown/a%20b%2Fc%C3%A4%FF?x=%20&y HTTP/1.1\r\nHost: a.example:81\r\nX-One: 1\r\nx-one: 2\r\nX_One: 3\r\nProxy: evil",
            format!(
                "'http'\n{asgi}\n'1.1'\n'GET'\n'http'\n'/shown/a b/c\\xe4\\ufffd'\nb'/shown/a%20b%2Fc%C3%A4%FF'\nb'x=%20&y'\n''\n\
                 [(b'host', b'a.example:81'), (b'x-one', b'1'), (b'x-one', b'2'), (b'connection', b'close')]"
            ),
        ),
        (
            "OPTIONS http://b.example/shown HTTP/1.1\r\nHost: a.example\r\nCookie: a=1\r\nCookie: b=2",
            format!(
                "'http'\n{asgi}\n'1.1'\n'OPTIONS'\n'http'\n'/shown'\nb'/shown'\nb''\n''\n\
                 [(b'host', b'b.example'), (b'cookie', b'a=1; b=2'), (b'connection', b'close')]"
            ),
        ),
        (
            "GET /shown? HTTP/1.0\r\nX-Latin: \u{e4}",
            format!(
                "'http'\n{asgi}\n'1.0'\n'GET'\n'http'\n'/shown'\nb'/shown'\nb''\n''\n\
                 [(b'x-latin', b'\\xc3\\xa4'), (b'connection', b'close')]"
            ),
        ),
    ];
    for (request, expected) in cases {
        let answer = running.exchange(format!("{request}\r\nConnection: close\r\n\r\n"));
        assert_eq!(body(&answer), format!("{expected}\n{{}}\n'127.0.0.1'\n<class 'int'>\n'127.0.0.1'"), "{answer}");
    }
}

#[test]
fn bodies_arrive_and_the_last_message_is_that_the_client_has_gone() {
    requires!("program:/usr/bin/python3");
    let running = run(r"
async def echo(scope, receive, send):
    whole = b''
    while True:
        message = await receive()
        whole += message['body']
        if not message['more_body']:
            break
    await respond(send, whole)
    assert await receive() == {'type': 'http.disconnect'}
");
    for length in [0, 1, 60_000, 70_000, 300_000] {
        let sent: Vec<u8> = (0..length).map(|place: u32| (place % 251) as u8).collect();
        let request =
            format!("POST /echo HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n");
        let answer = running.exchange_bytes([request.as_bytes(), &sent].concat());
        assert!(answer.ends_with(&sent) && answer.len() < sent.len() + 200, "{length}: {}", answer.len());
    }
}

#[test]
fn responses_of_all_kinds() {
    requires!("program:/usr/bin/python3");
    let running = run(r"
async def empty(scope, receive, send):
    await send({'type': 'http.response.start', 'status': 204})
    await send({'type': 'http.response.body'})

async def large(scope, receive, send):
    await respond(send, b'x' * 1_000_000, 201, [[b'content-length', b'1000000'], [b'x-two', b'1'], [b'x-two', b'2']])

async def stream(scope, receive, send):
    await send({'type': 'http.response.start', 'status': 200, 'headers': []})
    for piece in [b'', b'a', b'b' * 100_000, bytearray(b'c'), memoryview(b'd')]:
        await send({'type': 'http.response.body', 'body': piece, 'more_body': True})
    await send({'type': 'http.response.body'})

async def file(scope, receive, send):
    await send({'type': 'http.response.start', 'status': 200, 'headers': [(b'content-type', b'text/plain')]})
    await send({'type': 'http.response.pathsend', 'path': 'file.txt'})

async def trailers(scope, receive, send):
    await send({'type': 'http.response.early_hint', 'links': [b'</a>; rel=preload', b'</b>; rel=preload']})
    await send({'type': 'http.response.start', 'status': 200, 'headers': [(b'trailer', b'x-last')], 'trailers': True})
    await send({'type': 'http.response.body', 'body': b'.'})
    await send({'type': 'http.response.trailers', 'headers': [(b'x-last', b'1')]})
");
    std::fs::write(running.folder.path().join("file.txt"), "in a file").unwrap();
    assert!(running.get("/empty").starts_with("HTTP/1.1 204 "));
    let large = running.get("/large");
    assert!(large.starts_with("HTTP/1.1 201 ") && large.contains("x-two: 1\r\nx-two: 2\r\n"), "{}", &large[..300]);
    assert_eq!(body(&large).len(), 1_000_000);
    let stream = running.exchange("GET /stream HTTP/1.0\r\n\r\n");
    assert_eq!(body(&stream), format!("a{}cd", "b".repeat(100_000)));
    assert_eq!(body(&running.get("/file")), "in a file");
    let trailers = running.exchange("GET /trailers HTTP/1.1\r\nHost: a\r\nTE: trailers\r\nConnection: close\r\n\r\n");
    assert!(trailers.starts_with("HTTP/1.1 103 ") && trailers.contains("</a>; rel=preload"), "{trailers}");
    assert!(trailers.ends_with("0\r\nx-last: 1\r\n\r\n"), "{trailers}");
    let head = running.exchange("HEAD /large HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    assert!(head.contains("content-length: 1000000") && body(&head).is_empty(), "{head}");
}

#[test]
fn invalid_responses_are_errors_and_the_worker_continues() {
    requires!("program:/usr/bin/python3");
    let running = run_alone(
        r"
async def raised(scope, receive, send):
    raise ValueError('no')

async def nothing(scope, receive, send):
    pass

async def half(scope, receive, send):
    await send({'type': 'http.response.start', 'status': 200})
    await send({'type': 'http.response.body', 'body': b'half', 'more_body': True})
    await asyncio.sleep(0.1)
    raise ValueError('no')

async def unknown(scope, receive, send):
    await send({'type': 'http.response.body', 'body': b'too early'})

async def status(scope, receive, send):
    await respond(send, b'', 'abc')

async def field(scope, receive, send):
    await respond(send, b'', 200, [(b'a', b'b' + bytes([int(scope['query_string'])]) + b'c')])

async def long_field(scope, receive, send):
    await respond(send, b'', 200, [(b'a', b'b' * 300_000)])

ended = asyncio.Event()

async def field_of_a_stream(scope, receive, send):
    await send({'type': 'http.response.start', 'status': 200, 'headers': [(b'a', b'b\rc')]})
    try:
        while True:
            await send({'type': 'http.response.body', 'body': bytes(100_000), 'more_body': True})
    finally:
        ended.set()

async def wait(scope, receive, send):
    await ended.wait()
    await respond(send, b'ended')

async def pid(scope, receive, send):
    await respond(send, b'%d' % os.getpid())
",
    );
    let pid = running.get("/pid");
    for target in ["/raised", "/nothing", "/unknown", "/status", "/field?0", "/long_field", "/no_such_thing"] {
        assert!(running.get(target).starts_with("HTTP/1.1 500 "), "{target}");
    }
    for target in ["/field?10", "/field?13"] {
        let answer = running.get(target);
        assert!(!answer.contains("b\rc") && !answer.contains("b\nc"), "{answer}");
    }
    let refused = running.get("/field_of_a_stream");
    assert!(refused.starts_with("HTTP/1.1 500 "), "{}", &refused[..refused.len().min(300)]);
    assert_eq!(body(&running.get("/wait")), "ended");
    let half = running.exchange("GET /half HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    assert!(half.contains("half") && !half.contains("0\r\n\r\n"), "{half}");
    assert_eq!(body(&running.get("/pid")), body(&pid));
}

#[test]
fn errors_of_the_application_name_the_fault() {
    requires!("program:/usr/bin/python3");
    let running = run_alone(
        r"
WRONG = [
    ({}, b''), ({'status': 99}, b''), ({'status': '200'}, b''), ({'status': 200}, 'text'),
    ({'status': 200, 'headers': [('foo', b'bar')]}, b''), ({'status': 200, 'headers': [(b'foo', True)]}, b''),
]

async def wrong(scope, receive, send):
    start, content = WRONG[int(scope['query_string'])]
    await send({'type': 'http.response.start', **start})
    try:
        await send({'type': 'http.response.body', 'body': content})
    except (TypeError, ValueError) as error:
        globals()['told'] = str(error)
        raise

async def last(scope, receive, send):
    import http
    await respond(send, told.encode(), http.HTTPStatus.CREATED)
",
    );
    let told = [
        "None is not a status; use an int from 200 to 999",
        "99 is not a status; use an int from 200 to 999",
        "'200' is not a status; use an int from 200 to 999",
        "the body is a str, where bytes must be",
        "'foo' is not a name or value of a header field; use bytes",
        "True is not a name or value of a header field; use bytes",
    ];
    for (number, expected) in told.into_iter().enumerate() {
        assert!(running.get(&format!("/wrong?{number}")).starts_with("HTTP/1.1 500 "), "{expected}");
        let last = running.get("/last");
        assert!(last.starts_with("HTTP/1.1 201 ") && body(&last) == expected, "{expected}: {last}");
    }
}

#[test]
fn many_requests_at_once_on_one_worker() {
    requires!("program:/usr/bin/python3");
    let running = run_alone(
        r"
waiting = asyncio.Event()
count = 0

async def together(scope, receive, send):
    global count
    count += 1
    if count == 200:
        waiting.set()
    await waiting.wait()
    await respond(send, b'together')
",
    );
    thread::scope(|scope| {
        let asking: Vec<_> = (0..200).map(|_| scope.spawn(|| running.get("/together"))).collect();
        assert!(asking.into_iter().all(|answer| body(&answer.join().unwrap()) == "together"));
    });
}

#[test]
fn slow_clients_block_neither_others_nor_memory() {
    requires!("program:/usr/bin/python3");
    let running = run_alone(
        r"
sent = 0

async def large(scope, receive, send):
    global sent
    await send({'type': 'http.response.start', 'status': 200, 'headers': []})
    for _ in range(1000):
        await send({'type': 'http.response.body', 'body': bytes(64 * 1024), 'more_body': True})
        sent += 64 * 1024
    await send({'type': 'http.response.body'})

async def quick(scope, receive, send):
    await respond(send, b'%d' % sent)
",
    );
    let mut slow = TcpStream::connect(running.address()).unwrap();
    slow.write_all(b"GET /large HTTP/1.0\r\n\r\n").unwrap();
    let sent = || body(&running.get("/quick")).parse::<usize>().unwrap();
    wait_until("the response begins", || sent() > 0);
    // The kernel's buffers take the first part at once; then the response stalls.
    let sent = at_rest(sent);
    assert!(sent < 32 << 20, "{sent}");
    let mut received = Vec::new();
    slow.read_to_end(&mut received).unwrap();
    assert!(received.len() > 1000 * 64 * 1024);
}

#[test]
fn an_application_hears_that_its_client_has_gone() {
    requires!("program:/usr/bin/python3");
    let running = run_alone(
        r"
seen = asyncio.Queue()

async def waiting(scope, receive, send):
    assert (await receive())['type'] == 'http.request'
    await send({'type': 'http.response.start', 'status': 200})
    waiting = asyncio.create_task(receive())
    while not waiting.done():
        try:
            await send({'type': 'http.response.body', 'body': b'.', 'more_body': True})
        except OSError:
            pass
        await asyncio.sleep(0.01)
    seen.put_nowait(waiting.result()['type'].encode())

async def streaming(scope, receive, send):
    await send({'type': 'http.response.start', 'status': 200})
    try:
        while True:
            await send({'type': 'http.response.body', 'body': b'x' * 100_000, 'more_body': True})
    except OSError:
        seen.put_nowait(b'OSError')

async def next(scope, receive, send):
    await respond(send, await seen.get())
",
    );
    let mut draining = TcpStream::connect(running.address()).unwrap();
    draining.write_all(b"GET /waiting HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
    draining.read_exact(&mut [0; 10]).unwrap();
    drop(draining);
    assert_eq!(body(&running.get("/next")), "http.disconnect");
    let mut draining = TcpStream::connect(running.address()).unwrap();
    draining.write_all(b"GET /streaming HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
    draining.read_exact(&mut [0; 1000]).unwrap();
    drop(draining);
    assert_eq!(body(&running.get("/next")), "OSError");
}

#[test]
fn timed_out_requests_are_cancelled_and_others_continue() {
    requires!("program:/usr/bin/python3");
    let (mut settings, folder) = settings(
        Interface::Asgi,
        "application.py",
        &format!(
            "{BEGIN}{}",
            r"
cancelled = []

async def hang(scope, receive, send):
    try:
        await asyncio.sleep(100)
    except asyncio.CancelledError:
        cancelled.append(b'cancelled')
        raise

async def stream(scope, receive, send):
    await send({'type': 'http.response.start', 'status': 200})
    await send({'type': 'http.response.body', 'body': b'begin', 'more_body': True})
    await asyncio.sleep(1)
    await send({'type': 'http.response.body', 'body': b'end'})

async def list(scope, receive, send):
    await respond(send, b' '.join(cancelled))
"
        ),
    );
    settings.run.processes = std::num::NonZero::<usize>::MIN;
    settings.run.timeout = Duration::from_millis(300);
    let running = Running::new((settings, folder));
    thread::scope(|scope| {
        let stream = scope.spawn(|| running.exchange("GET /stream HTTP/1.0\r\n\r\n"));
        assert!(running.get("/hang").starts_with("HTTP/1.1 504 "));
        wait_until("it is cancelled", || body(&running.get("/list")) == "cancelled");
        assert_eq!(body(&stream.join().unwrap()), "beginend");
    });
}

#[test]
fn exiting_workers_are_replaced_with_the_loaded_code() {
    requires!("program:/usr/bin/python3");
    for preload in [false, true] {
        let code = format!(
            "{BEGIN}{}",
            r"
async def exit(scope, receive, send):
    if os.path.exists('exited'):
        return await respond(send, b'again')
    open('exited', 'w').close()
    raise SystemExit(3)

async def kill(scope, receive, send):
    if os.path.exists('killed'):
        return await respond(send, b'again')
    open('killed', 'w').close()
    os.kill(os.getpid(), signal.SIGKILL)

async def always(scope, receive, send):
    os._exit(1)

async def well(scope, receive, send):
    await respond(send, b'well')
"
        );
        let (mut settings, folder) = settings(Interface::Asgi, "application.py", &code);
        settings.preload = preload;
        let running = Running::new((settings, folder));
        // SystemExit is raised on purpose and not logged.
        assert!(running.get("/exit").starts_with("HTTP/1.1 500 "));
        let answer = running.get("/exit");
        assert_eq!(body(&answer), "again", "{answer}");
        assert_eq!(body(&running.get("/kill")), "again");
        assert!(running.get("/always").starts_with("HTTP/1.1 502 "));
        assert_eq!(body(&running.get("/well")), "well");
    }
}

#[test]
fn lifespan_startup_and_shutdown_run() {
    requires!("program:/usr/bin/python3");
    let code = r"
async def app(scope, receive, send):
    if scope['type'] == 'lifespan':
        assert (await receive())['type'] == 'lifespan.startup'
        scope['state']['greeting'] = b'hello'
        await send({'type': 'lifespan.startup.complete'})
        assert (await receive())['type'] == 'lifespan.shutdown'
        open('ended', 'w').close()
        return await send({'type': 'lifespan.shutdown.complete'})
    scope['state']['greeting'] += b'!'
    await respond(send, scope['state']['greeting'])
";
    let running = run_alone(code);
    for _ in 0..2 {
        assert_eq!(body(&running.get("/")), "hello!");
    }
    let ended = running.folder.path().join("ended");
    running.reload().unwrap();
    wait_until("the old worker shuts down", || ended.exists());
    assert_eq!(body(&running.get("/")), "hello!");
    let failing = "
async def app(scope, receive, send):
    await receive()
    await send({'type': 'lifespan.startup.failed', 'message': 'no database'})
";
    for (code, expected) in [(failing, "no database"), ("no_such_thing", "NameError"), ("app = 1", "cannot be called")]
    {
        let (settings, _folder) = settings(Interface::Asgi, "application.py", code);
        let error = Application::new(settings, 1).run().unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
}

/// Values that contain NUL, the separator on the way to the server, must not add fields.
#[test]
fn names_of_fields_that_are_empty_or_have_a_nul_are_failures() {
    requires!("program:/usr/bin/python3");
    let running = run(r"
NAMES = {b'empty': b'', b'nul': b'x-a\0b\0x-c', b'end': b'x-a\0\0'}
async def app(scope, receive, send):
    assert scope['type'] == 'http'
    headers = [(b'x-first', b''), (NAMES[scope['query_string']], b'injected')]
    await send({'type': 'http.response.start', 'status': 200, 'headers': headers})
    await send({'type': 'http.response.body', 'body': b'x' * (70_000 if scope['path'] == '/long' else 4)})
");
    for path in ["/short", "/long"] {
        for name in ["empty", "nul", "end"] {
            let answer = running.get(&format!("{path}?{name}"));
            assert!(answer.starts_with("HTTP/1.1 500 ") && !answer.contains("injected"), "{path} {name}: {answer}");
        }
    }
}
