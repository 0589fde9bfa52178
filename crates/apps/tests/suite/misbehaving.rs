//! Workers that send surplus messages: those answer no other request, and every request gets a response.

use std::{
    fs,
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::{Duration, Instant},
};

use crate::support::{Running, content, settings};
use serow_apps::Interface;
use serow_requirements::requires;

/// Writes to Serow's sockets itself, past the bridge; the path selects the message.
const MISBEHAVING: &str = r"
import os, socket, threading, time
def ticket_of(exchange, difference):
    number = (int(exchange.ticket[2:], 16) + difference) % 2**32
    return exchange.ticket[:2] + b'%08x' % number
def head(kind, ticket):
    return kind + ticket + b'\x00200\x00x-poison\x001\x00\x00'
def app(environ, start_response):
    exchange = start_response.__self__
    reply, own, path = exchange.reply, exchange.ticket, environ['PATH_INFO'][1:]
    others = [ticket_of(exchange, difference) for difference in range(-20, 21) if difference]
    if path == 'twice':
        reply.send(head(b'R', own) + b'first')
    elif path == 'for-others':
        for other in others:
            reply.send(head(b'R', other) + b'POISON')
            reply.send(head(b'H', other) + b'POISON')
            reply.send(b'B' + other + b'POISON')
            reply.send(b'E' + other)
            reply.send(b'X' + other + b'POISON')
            reply.send(b'D' + other)
    elif path == 'interim-for-others':
        for other in others:
            reply.send(b'I' + other + b'\x00103\x00x-poison\x001\x00\x00')
    elif path == 'announced':
        for _ in range(5):
            reply.send(b'S' + own)
    elif path == 'descriptors':
        with open('/etc/hostname', 'rb') as file:
            for ticket in [own, *others]:
                socket.send_fds(reply, [head(b'F', ticket) + b'0'], [file.fileno()] * 3)
                socket.send_fds(reply, [b'S' + ticket], [file.fileno()])
                socket.send_fds(reply, [b'U' + ticket], [file.fileno()])
    elif path == 'late':
        def later():
            for _ in range(20):
                time.sleep(0.01)
                for packet in (head(b'R', own) + b'POISON', head(b'H', own), b'B' + own + b'POISON', b'E' + own, b'D' + own):
                    reply.send(packet)
            open('late', 'a').write('.')
        threading.Thread(target=later).start()
    elif path == 'free-first':
        reply.send(b'D' + own)
    elif path == 'whole-behind-head':
        reply.send(head(b'H', own) + b'first')
        reply.send(head(b'R', own) + b'POISON')
    elif path == 'head-behind-head':
        reply.send(head(b'H', own) + b'first')
        reply.send(head(b'H', own) + b'POISON')
        reply.send(b'E' + own)
    elif path == 'end-first':
        reply.send(b'E' + own)
    elif path == 'piece-first':
        reply.send(b'B' + own + b'POISON')
        reply.send(b'E' + own)
    elif path == 'takeover-behind-head':
        reply.send(head(b'H', own) + b'first')
        ours, theirs = socket.socketpair()
        ours.send(b'HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nPOISON')
        reply.send(b'S' + own)
        socket.send_fds(reply, [b'U' + own], [theirs.fileno()])
        reply.send(b'D' + own)
    elif path == 'nonsense':
        for packet in (b'R', b'?' + own, b'R' + own, b'R' + own + b'\x00abc', b'\xff' * 100, b'Rr!zzzzzzzz', b'W' + own + b'9' * 40):
            reply.send(packet)
    elif path == 'bodies-of-others':
        for other in others:
            reply.send(b'G' + other)
    elif path == 'words-of-a-beginning':
        for word in (b'ready', b'ready', b'\x00', b'forked\x001\x001', b'r!00000000', b'draining\x00'):
            exchange.worker.requests.send(word)
    start_response('200 OK', [])
    return [environ['QUERY_STRING'].encode()]
";

const PATHS: [&str; 15] = [
    "twice",
    "for-others",
    "interim-for-others",
    "announced",
    "descriptors",
    "late",
    "free-first",
    "whole-behind-head",
    "head-behind-head",
    "end-first",
    "piece-first",
    "takeover-behind-head",
    "nonsense",
    "bodies-of-others",
    "words-of-a-beginning",
];

#[test]
fn surplus_replies_answer_no_other_request() {
    requires!("program:/usr/bin/python3");
    let running = Running::new(settings(Interface::Wsgi, "app.py", MISBEHAVING));
    for path in PATHS {
        let is_over = AtomicBool::new(false);
        let late = running.folder.path().join("late");
        let is_sent =
            || is_over.load(Ordering::Relaxed) && (path != "late" || fs::read(&late).is_ok_and(|sent| sent == b"..."));
        thread::scope(|scope| {
            for client in 0..4 {
                let (running, is_sent) = (&running, &is_sent);
                scope.spawn(move || {
                    let (mut number, mut behind) = (0, 0);
                    while behind < 10 {
                        number += 1;
                        behind += u32::from(is_sent());
                        assert!(number < 100_000, "{path}: its messages are not sent");
                        let answer = running.get(&format!("/good?{client}-{number}"));
                        assert_eq!(content(&answer), format!("{client}-{number}"), "{path}: {answer}");
                        assert!(!answer.contains("oison"), "{path}: {answer}");
                    }
                });
            }
            // Its own response may be anything, and cut off.
            let began = Instant::now();
            let answers: Vec<_> = (0..3).map(|_| running.get(&format!("/{path}?own"))).collect();
            let took = began.elapsed();
            is_over.store(true, Ordering::Relaxed);
            assert!(took < Duration::from_secs(10), "{path}: somebody waits for ever: {answers:?}");
        });
    }
}

/// A callable that outlives its request is of no use for another one.
#[test]
fn a_hijack_after_its_request_takes_no_other_requests_connection() {
    requires!("ruby:rack");
    for threads in [1, 4] {
        let (mut settings, folder) = settings(
            Interface::Rack,
            "config.ru",
            r##"
KEPT = []
run ->(env) do
  case env['PATH_INFO']
  when '/keep'
    KEPT.push(env['rack.hijack'], env['rack.early_hints'])
  when '/late'
    hijack, hints = KEPT
    outcomes = [[hijack, []], [hints, [{ 'x-poison' => '1' }]]].map do |late, arguments|
      Thread.new do
        socket = late.call(*arguments)
        socket.write("HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nPOISON") if socket.respond_to?(:write)
        'called'
      rescue StandardError => e
        e.class.name
      end.value
    end
    next [200, {}, [outcomes.join(' ')]]
  end
  [200, {}, ['kept']]
end
"##,
        );
        settings.run.processes = std::num::NonZero::<usize>::MIN;
        settings.concurrency = std::num::NonZero::new(threads).unwrap();
        let running = Running::new((settings, folder));
        assert_eq!(content(&running.get("/keep")), "kept");
        for _ in 0..8 {
            let answer = running.get("/late");
            assert!(!answer.contains("oison") && !answer.contains("OISON"), "{threads}: {answer}");
            assert!(answer.starts_with("HTTP/1.1 200 "), "{threads}: {answer}");
        }
    }
}
