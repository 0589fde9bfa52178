//! Responses of Rack applications.

use std::{
    collections::HashMap,
    time::{Duration, Instant},
};

use crate::support::{Running, content, eventually, request, settings, wait_until};
use serow_apps::Interface;
use serow_requirements::requires;

fn run(code: &str) -> Running {
    Running::new(settings(Interface::Rack, "config.ru", &format!("require 'rack/lint'\nuse Rack::Lint\n{code}")))
}

#[test]
fn bodies_of_all_kinds() {
    requires!("ruby:rack");
    let running = run(r#"
class Pieces
  def initialize(count, size) = (@count, @size = count, size)
  def each = @count.times { yield 'x' * @size }
  def close = File.write('closed', @count.to_s)
end
run ->(env) do
  type = { 'content-type' => 'text/plain' }
  case env['PATH_INFO']
  when '/empty' then [200, type, []]
  when '/one' then [200, type, ['one']]
  when '/large' then [200, type, ['x' * 10_000_000]]
  when '/stream' then [200, type, Pieces.new(40, 70_000)]
  when '/none' then [204, {}, []]
  when '/same' then [304, {}, []]
  when '/head' then [200, type.merge('content-length' => '12345'), []]
  end
end
"#);
    assert_eq!(content(&running.get("/empty")), "");
    assert_eq!(content(&running.get("/one")), "one");
    let large = running.get("/large");
    assert_eq!(content(&large).len(), 10_000_000);
    assert_eq!(content(&running.get("/stream")).len(), 40 * 70_000);
    // The body is closed behind the response.
    let closed = eventually(|| std::fs::read(running.folder.path().join("closed")).map_err(|error| error.to_string()));
    assert_eq!(closed, b"40");
    assert!(running.get("/none").starts_with("HTTP/1.1 204 "));
    assert!(running.get("/same").starts_with("HTTP/1.1 304 "));
    let head = running.exchange("HEAD /head HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    assert!(head.contains("content-length: 12345\r\n"), "{head}");
}

#[test]
fn fields_of_all_kinds() {
    requires!("ruby:rack");
    let running = Running::new(settings(
        Interface::Rack,
        "config.ru",
        r#"
class Temporary
  def initialize = File.write('temporary', 'of a file')
  def to_path = File.expand_path('temporary')
  def each = raise('it has a path')
  def close = File.unlink('temporary')
end
run ->(env) do
  return [200, {}, Temporary.new] if env['PATH_INFO'] == '/file'

  fields = case env['PATH_INFO']
  when '/several' then { 'set-cookie' => ['a=1', 'b=2'], 'x-old' => Rack.release < '3' ? "c\nd" : %w[c d] }
  when '/lines' then { 'x-a' => Rack.release < '3' ? "b\rx-evil: c" : "b\nx-evil: c" }
  when '/of-server' then { 'rack.secret' => 'x-evil', 'Rack.Secret' => 'x-evil', 'x-a' => '1' }
  when '/mixed' then { 'x-binary' => "\xff".b, 'x-text' => 'ü', 'x-number' => 5, 'x-nothing' => nil }
  when '/nul' then { 'x-a' => "b\0x-evil\0c" }
  when '/nuls' then { 'x-a' => "b\0\0c" }
  when '/return' then { 'x-a' => "b\rx-evil: c" }
  when '/pairs' then [['x-a', '1'], ['x-a', '2']]
  end
  [200, fields, ["\xff\xfe".b, 'ü€', 'ä'.encode('ISO-8859-1')]]
end
"#,
    ));
    assert_eq!(content(&running.get("/file")), "of a file");
    // The body is closed behind the response.
    eventually(|| match running.folder.path().join("temporary").exists() {
        true => Err("the body is not closed".to_owned()),
        false => Ok(()),
    });
    let several = running.get("/several");
    for line in ["set-cookie: a=1\r\n", "set-cookie: b=2\r\n", "x-old: c\r\n", "x-old: d\r\n"] {
        assert!(several.contains(line), "{line} {several}");
    }
    let mixed = running.exchange_bytes(request("/mixed"));
    for line in [&b"x-binary: \xff\r\n"[..], "x-text: ü\r\n".as_bytes(), b"x-number: 5\r\n"] {
        assert!(mixed.windows(line.len()).any(|window| window == line), "{}", mixed.escape_ascii());
    }
    assert!(mixed.ends_with(b"\xff\xfe\xc3\xbc\xe2\x82\xac\xe4"));
    assert!(!mixed.windows(9).any(|window| window == b"x-nothing"));
    for (path, status) in [("/nul", "500"), ("/nuls", "500"), ("/return", "502")] {
        let answer = running.get(path);
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")) && !answer.contains("x-evil"), "{path} {answer}");
    }
    let pairs = running.get("/pairs");
    assert!(pairs.contains("x-a: 1\r\n") && pairs.contains("x-a: 2\r\n"), "{pairs}");
}

#[test]
fn early_hints_precede_and_callbacks_follow_responses() {
    requires!("ruby:rack");
    let running = run(r##"
run ->(env) do
  case env['PATH_INFO']
  when '/hints'
    links = ['</a.css>; rel=preload', '</b.js>; rel=preload']
    env['rack.early_hints'].call('link' => Rack.release < '3' ? links.join("\n") : links)
    [200, { 'x-id' => env['HTTP_X_REQUEST_ID'] }, ['.']]
  when '/after'
    env['rack.after_reply'] << -> { File.write('after', 'reply') }
    env['rack.response_finished'] << ->(_, status, _, error) { File.write('finished', "#{status} #{error.inspect}") }
    [200, {}, ['.']]
  when '/failing'
    env['rack.response_finished'] << ->(_, status, _, error) { File.write('failed', "#{status} #{error.message}") }
    raise 'no'
  when '/look' then [200, {}, ['after', 'finished', 'failed'].map { |name| File.exist?(name) ? File.read(name) : '-' }.join(',').lines]
  end
end
"##);
    let hints = running.exchange("GET /hints HTTP/1.1\r\nHost: a\r\nX-Request-ID: 77\r\nConnection: close\r\n\r\n");
    let (early, response) = hints.split_once("\r\n\r\n").unwrap();
    assert!(early.starts_with("HTTP/1.1 103 "), "{hints}");
    assert!(early.contains("link: </a.css>; rel=preload\r\n") && early.contains("link: </b.js>"), "{hints}");
    assert!(response.starts_with("HTTP/1.1 200 ") && response.contains("x-id: 77\r\n"), "{hints}");
    assert_eq!(content(&running.get("/after")), ".");
    assert!(running.get("/failing").starts_with("HTTP/1.1 500 "));
    // It is done behind the response, by a worker that others need not wait for.
    let done = "reply,200 nil, no";
    let look = || content(&running.get("/look")).to_owned();
    let began = Instant::now();
    while look() != done && began.elapsed() < Duration::from_secs(20) {}
    assert_eq!(look(), done);
}

#[test]
fn garbage_is_collected_between_requests() {
    requires!("ruby:rack");
    let (mut settings, folder) = settings(
        Interface::Rack,
        "config.ru",
        "run ->(env) { [200, {}, [\"#{Process.pid} #{GC.stat(:major_gc_count)}\"]] }",
    );
    settings.out_of_band_gc = Some(2);
    let running = Running::new((settings, folder));
    let mut first_counts: HashMap<String, u64> = HashMap::new();
    // A worker collects when no request waits for it, which on a busy machine may take many requests.
    wait_until("a worker collects twice", || {
        let answer = content(&running.get("/")).to_owned();
        let (pid, count) = answer.split_once(' ').unwrap();
        let count: u64 = count.parse().unwrap();
        count >= *first_counts.entry(pid.to_owned()).or_insert(count) + 2
    });
}

/// Values that contain NUL, the separator on the way to the server, must not add fields.
#[test]
fn names_of_fields_that_are_empty_or_have_a_nul_are_failures() {
    requires!("ruby:rack");
    let running = run(r##"
run ->(env) do
  name = { 'empty' => '', 'nul' => "x-a\0b\0x-c", 'end' => "x-a\0\0" }[env['QUERY_STRING']]
  [200, { 'x-first' => '', name => 'injected' }, env['PATH_INFO'] == '/long' ? ['x' * 70_000] : ['body']]
end
"##
    .replace("use Rack::Lint", "")
    .as_str());
    for path in ["/short", "/long"] {
        for name in ["empty", "nul", "end"] {
            let answer = running.get(&format!("{path}?{name}"));
            assert!(answer.starts_with("HTTP/1.1 500 ") && !answer.contains("injected"), "{path} {name}: {answer}");
        }
    }
}
