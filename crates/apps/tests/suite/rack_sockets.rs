//! Rack applications that write responses to a socket themselves, and clients that go.

use std::{
    io::{Read, Write},
    net::TcpStream,
    num::NonZero,
    time::Duration,
};

use crate::support::{Running, content, settings, wait_until};
use serow_apps::Interface;
use serow_requirements::requires;

/// One worker, which is busy where it should not be.
fn run(code: &str) -> Running {
    let (mut settings, folder) =
        settings(Interface::Rack, "config.ru", &format!("require 'rack/lint'\nuse Rack::Lint\n{code}"));
    settings.run.processes = NonZero::<usize>::MIN;
    Running::new((settings, folder))
}

#[test]
fn responses_written_to_a_socket() {
    requires!("ruby:rack");
    let running = run(r#"
class Stream
  def call(stream) = Thread.new { stream.write('wri'); sleep 0.2; stream << 'tten'; stream.close }
end
run ->(env) do
  case env['PATH_INFO']
  when '/partial'
    later = ->(io) { Thread.new { io.write('par'); sleep 0.2; io.write('tial'); io.close } }
    [200, { 'content-type' => 'text/plain', 'rack.hijack' => later }, []]
  when '/announced'
    [200, { 'content-length' => '4', 'rack.hijack' => ->(io) { io.write('four, not more'); io.close } }, []]
  when '/full'
    io = env['rack.hijack'].call
    Thread.new { sleep 0.2; io.write("HTTP/1.1 201 Made\r\nx-by: hand\r\nContent-Length: 4\r\nconnection: close\r\n\r\nfull"); io.close }
    [200, {}, []]
  when '/chunks'
    env['rack.hijack'].call
    env['rack.hijack_io'].write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n")
    [200, {}, []]
  when '/closed'
    env['rack.hijack'].call.close
    [200, {}, []]
  when '/async'
    io = env['rack.hijack'].call
    Thread.new { sleep 0.1; io.write("HTTP/1.0 200 OK\r\n\r\nuntil the end"); io.close }
    throw :async
  when '/nonsense'
    env['rack.hijack'].call.tap { |one| one.write("hello\r\n\r\n"); one.close }
    [200, {}, []]
  else [200, {}, ['.']]
  end
end
"#);
    assert_eq!(content(&running.get("/partial")), "partial");
    assert_eq!(content(&running.get("/announced")), "four");
    let full = running.get("/full");
    assert!(full.starts_with("HTTP/1.1 201 ") && full.contains("x-by: hand\r\n") && content(&full) == "full", "{full}");
    for (path, expected) in [("/chunks", "abc"), ("/async", "until the end"), ("/", ".")] {
        assert_eq!(content(&running.get(path)), expected);
    }
    for path in ["/closed", "/nonsense"] {
        let answer = running.get(path);
        assert!(answer.starts_with("HTTP/1.1 502 "), "{answer}");
    }
    // The worker is free while the response is being written.
    let mut slow = TcpStream::connect(running.address()).unwrap();
    slow.write_all(b"GET /full HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n").unwrap();
    assert_eq!(content(&running.get("/")), ".");
    let mut answer = String::new();
    slow.read_to_string(&mut answer).unwrap();
    assert_eq!(content(&answer), "full");
}

#[test]
fn streams_of_rack_3() {
    requires!("ruby:rack");
    let (settings, folder) = settings(
        Interface::Rack,
        "config.ru",
        r#"
class Stream
  def call(stream) = Thread.new { stream.write('wri'); sleep 0.2; stream << "tten #{stream.read}"; stream.close }
end
run ->(env) { [200, { 'content-type' => 'text/plain' }, Stream.new] }
"#,
    );
    let running = Running::new((settings, folder));
    assert_eq!(content(&running.get("/")), "written ");
}

#[test]
fn hijacked_sockets_switch_protocols() {
    requires!("ruby:rack");
    // Without the judge: it lets only some methods of sockets through.
    let running = Running::new(settings(
        Interface::Rack,
        "config.ru",
        r#"
ECHO = ->(io) { Thread.new { while (line = io.gets) do io.write(line.upcase) end; io.close } }
run ->(env) do
  case env['PATH_INFO']
  when '/partial' then [101, { 'connection' => 'upgrade', 'upgrade' => 'echo', 'rack.hijack' => ECHO }, []]
  when '/full'
    io = env['rack.hijack'].call
    io.write("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
    ECHO.call(io)
    [101, {}, []]
  else [200, {}, ['.']]
  end
end
"#,
    ));
    for path in ["/partial", "/full"] {
        let mut connection = TcpStream::connect(running.address()).unwrap();
        connection.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
        let ask = format!("GET {path} HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: echo\r\n\r\nfirst\n");
        connection.write_all(ask.as_bytes()).unwrap();
        let head = read_until(&mut connection, "\r\n\r\n");
        assert!(head.starts_with("HTTP/1.1 101 ") && head.to_lowercase().contains("upgrade: echo\r\n"), "{head}");
        assert_eq!(read_until(&mut connection, "\n"), "FIRST\n");
        connection.write_all(b"second\n").unwrap();
        assert_eq!(read_until(&mut connection, "\n"), "SECOND\n");
        assert_eq!(content(&running.get("/")), ".");
        assert!(running.get(path).starts_with("HTTP/1.1 502 "), "nobody asked for it");
    }
}

/// As Action Cable has it: a thread of its own speaks with all clients, and the only worker goes on with requests.
#[test]
fn hijacked_websockets_exchange_messages() {
    requires!("ruby:rack");
    let (mut settings, folder) = settings(Interface::Rack, "config.ru", CABLE);
    settings.run.processes = NonZero::<usize>::MIN;
    let running = Running::new((settings, folder));
    let mut clients: Vec<_> = (0..3).map(|_| open_websocket(&running)).collect();
    assert_eq!(content(&running.get("/")), "3");
    // A text of six bytes, masked with zeros, comes to all.
    clients[1].write_all(b"\x81\x86\0\0\0\0hello!").unwrap();
    for client in &mut clients {
        let mut frame = [0; 8];
        client.read_exact(&mut frame).unwrap();
        assert_eq!(&frame, b"\x81\x06HELLO!");
    }
    drop(clients);
    wait_until("no client is left", || content(&running.get("/")) == "0");
}

fn open_websocket(running: &Running) -> TcpStream {
    let mut client = TcpStream::connect(running.address()).unwrap();
    client.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    let ask = "GET /cable HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\
               Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";
    client.write_all(ask.as_bytes()).unwrap();
    let head = read_until(&mut client, "\r\n\r\n").to_lowercase();
    assert!(head.starts_with("http/1.1 101 ") && head.contains("s3pplmbitxaq9kygzzhzrbk+xoo="), "{head}");
    client
}

const CABLE: &str = r##"
require 'digest'
$clients = []
Thread.new do
  loop do
    ready, = IO.select($clients, nil, nil, 0.05)
    ready&.each do |client|
      head = client.read(2)
      next $clients.delete(client).close unless head && head.getbyte(0) == 0x81

      client.read(4)
      text = client.read(head.getbyte(1) & 127).upcase
      $clients.each { |one| one.write([0x81, text.bytesize].pack('CC'), text) }
    end
  end
end
run ->(env) do
  return [200, {}, [$clients.size.to_s]] unless env['PATH_INFO'] == '/cable'

  accept = Digest::SHA1.base64digest("#{env['HTTP_SEC_WEBSOCKET_KEY']}258EAFA5-E914-47DA-95CA-C5AB0DC85B11")
  io = env['rack.hijack'].call
  io.write("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: #{accept}\r\n\r\n")
  $clients << io
  [-1, {}, []]
end
"##;

#[test]
fn a_body_ends_when_its_client_is_gone() {
    requires!("ruby:rack");
    for concurrency in [1, 2] {
        let running = endless(concurrency);
        let clients: Vec<_> = (0..concurrency).map(|_| begin(&running)).collect();
        drop(clients);
        let threaded = concurrency > 1;
        assert_eq!(content(&running.get("/")), format!("{threaded} {threaded}"));
        wait_until("the body is closed", || running.folder.path().join("closed").exists());
    }
}

/// The worker is so quick that several waiting requests are in its socket already.
#[test]
fn bodies_end_when_their_client_disconnects() {
    requires!("ruby:rack");
    let running = endless(1);
    let mut warm = TcpStream::connect(running.address()).unwrap();
    for _ in 0..100 {
        ask(&mut warm, "/");
        read_until(&mut warm, "\r\n\r\nfalse false");
    }
    let connect = || TcpStream::connect(running.address()).unwrap();
    let mut endless = connect();
    let mut others: Vec<_> = (0..6).map(|_| connect()).collect();
    ask(&mut endless, "/endless");
    others.iter_mut().for_each(|other| ask(other, "/"));
    read_until(&mut endless, "\r\n\r\n");
    drop(endless);
    for mut other in others {
        other.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
        read_until(&mut other, "\r\n\r\nfalse false");
    }
}

/// A worker that answers so many at a time, and one of its paths without an end.
fn endless(concurrency: usize) -> Running {
    let (mut settings, folder) = settings(
        Interface::Rack,
        "config.ru",
        r#"
class Endless
  def each = loop { yield 'x' * 100; sleep 0.01 }
  def close = File.write('closed', '')
end
run ->(env) { [200, {}, env['PATH_INFO'] == '/endless' ? Endless.new : ["%s %s" % [Thread.list.size > 1, env["rack.multithread"]]]] }
"#,
    );
    settings.run.processes = NonZero::<usize>::MIN;
    settings.concurrency = NonZero::new(concurrency).unwrap();
    Running::new((settings, folder))
}

fn ask(connection: &mut TcpStream, path: &str) {
    connection.write_all(format!("GET {path} HTTP/1.1\r\nHost: a\r\n\r\n").as_bytes()).unwrap();
}

/// A client that has the beginning of a response that never ends.
fn begin(running: &Running) -> TcpStream {
    let mut connection = TcpStream::connect(running.address()).unwrap();
    connection.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    ask(&mut connection, "/endless");
    read_until(&mut connection, "\r\n\r\n");
    connection
}

fn read_until(connection: &mut TcpStream, end: &str) -> String {
    let mut text = String::new();
    let mut byte = [0];
    while !text.ends_with(end) {
        connection.read_exact(&mut byte).unwrap();
        text.push(char::from(byte[0]));
    }
    text
}
