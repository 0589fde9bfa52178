//! Bodies of Rack applications: their methods, how they are closed, and how they fail.

use std::num::NonZero;

use crate::support::{Running, content, eventually, settings};
use serow_apps::Interface;
use serow_requirements::requires;

/// One worker, so that the next request waits for the end of the one before.
fn run(code: &str) -> Running {
    let (mut settings, folder) = settings(Interface::Rack, "config.ru", code);
    settings.run.processes = NonZero::<usize>::MIN;
    Running::new((settings, folder))
}

#[test]
fn a_method_of_a_body_that_gives_nothing_is_passed_over() {
    requires!("ruby:rack");
    let running = run(BODIES);
    let good = [
        "ary-nil",
        "ary-false",
        "ary-text",
        "ary-hash",
        "ary",
        "path-nil",
        "path-number",
        "path-nul",
        "path-missing",
        "path-folder",
        "both",
        "all",
        "proxy",
        "proxies",
        "proxy-array",
        "array",
        "array-of-one",
        "extended",
        "enumerator",
    ];
    // Rack 3: `to_ary` closes the body.
    let closed_by_itself = ["ary"];
    for name in good {
        let answer = running.get(&format!("/?{name}"));
        assert!(answer.starts_with("HTTP/1.1 200 ") && content(&answer) == "ab", "{name}: {answer}");
        let is_closed = content(&running.get("/"));
        assert!(is_closed == "true" || closed_by_itself.contains(&name), "{name} is not closed");
    }
    for name in ["nil", "text", "number", "object", "failing"] {
        let answer = running.get(&format!("/?{name}"));
        assert!(answer.starts_with("HTTP/1.1 500 "), "{name}: {answer}");
        assert_eq!(content(&running.get("/")), (name == "failing").to_string(), "{name}");
    }
}

#[test]
fn a_body_is_closed_behind_its_response() {
    requires!("ruby:rack");
    let running = run(r#"
require 'rack'
Waiting = Struct.new(:inner) do
  def each(&block) = inner.each(&block)
  def close
    sleep 0.01 until File.exist?('go')
    File.unlink('go')
    raise 'after the response'
  end
end
class Path < Waiting
  def to_path = File.expand_path('config.ru')
end
class Whole < Waiting
  def to_ary = inner
end
LATER = ->(io) { io.write('ab'); io.close }
run ->(env) do
  case env['PATH_INFO']
  when '/each' then [200, {}, Waiting.new(%w[a b])]
  when '/nothing' then [200, {}, Waiting.new([])]
  when '/path' then [200, {}, Path.new(%w[a b])]
  when '/whole' then Rack.release < '3' ? [200, {}, Whole.new(%w[a b])] : [200, {}, Waiting.new(%w[a b])]
  when '/large' then [200, { 'content-length' => '100000' }, Waiting.new(['x' * 100_000])]
  when '/hijack' then [200, { 'rack.hijack' => LATER }, Waiting.new([])]
  when '/failing' then [200, { 'x' => "\0" }, Waiting.new([])]
  else [200, {}, ['next']]
  end
end
"#);
    let cases = [("each", 2), ("nothing", 0), ("whole", 2), ("large", 100_000), ("hijack", 2)];
    for (name, length) in cases {
        let answer = running.get(&format!("/{name}"));
        assert!(answer.starts_with("HTTP/1.1 200 "), "{name}: {answer}");
        assert_eq!(content(&answer).len(), length, "{name}");
        assert!(!running.folder.path().join("go").exists());
        std::fs::write(running.folder.path().join("go"), "").unwrap();
        assert_eq!(content(&running.get("/")), "next", "{name}");
    }
    for (path, status) in [("/path", 200), ("/failing", 500)] {
        let answer = running.get(path);
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{path}: {answer}");
        std::fs::write(running.folder.path().join("go"), "").unwrap();
        assert_eq!(content(&running.get("/")), "next", "{path}");
    }
}

/// The query selects a body; without one, the answer is whether the last body has been closed.
const BODIES: &str = r##"
require 'rack'
module Closing
  def close = File.write('closed', 'closed')
end
def body(**methods)
  Object.new.extend(Closing).tap do |body|
    methods.each { |name, value| body.define_singleton_method(name) { |*, &block| value.respond_to?(:call) ? value.call(*[block].compact) : value } }
  end
end
each = ->(block) { %w[a b].each(&block) }
BODIES = {
  'ary-nil' => -> { body(each: each, to_ary: nil) },
  'ary-false' => -> { body(each: each, to_ary: false) },
  'ary-text' => -> { body(each: each, to_ary: 'xy') },
  'ary-hash' => -> { body(each: each, to_ary: { 'x' => 'y' }) },
  'ary' => -> { body(each: ->(_) { raise 'not needed' }, to_ary: %w[a b]) },
  'path-nil' => -> { body(each: each, to_path: nil) },
  'path-number' => -> { body(each: each, to_path: 1) },
  'path-nul' => -> { body(each: each, to_path: "a\0b") },
  'path-missing' => -> { body(each: each, to_path: '/missing') },
  'path-folder' => -> { body(each: each, to_path: '/') },
  'both' => -> { body(each: each, call: ->(_) { raise 'not needed' }) },
  'all' => -> { body(each: each, to_path: nil, to_ary: nil, to_str: nil) },
  'proxy' => -> { Rack::BodyProxy.new(body(each: each, to_ary: nil)) { File.write('closed', 'closed') } },
  'proxies' => -> { 3.times.inject(body(each: each, to_ary: nil)) { |inner| Rack::BodyProxy.new(inner) {} } },
  'proxy-array' => -> { Rack::BodyProxy.new(%w[a b]) { File.write('closed', 'closed') } },
  'array' => -> { Class.new(Array) { include Closing }.new(%w[a b]) },
  'array-of-one' => -> { Class.new(Array) { include Closing }.new(%w[ab]) },
  'extended' => -> { ['ab'].extend(Closing) },
  'enumerator' => -> { %w[a b].each.extend(Closing) },
  'nil' => -> { nil },
  'text' => -> { 'ab' },
  'number' => -> { 7 },
  'object' => -> { Object.new },
  'failing' => -> { body(each: ->(_) { raise 'no' }) }
}
run ->(env) do
  name = env['QUERY_STRING']
  return [200, {}, [File.exist?('closed').to_s.tap { File.write('closed', '') && File.unlink('closed') }]] if name.empty?

  [200, { 'content-type' => 'text/plain' }, BODIES[name].call]
end
"##;

/// The path and whether the client sees a complete response.
const STREAMS: [(&str, bool); 16] = [
    ("/whole", true),
    ("/whole-in-ensure", true),
    ("/whole-then-raise", true),
    ("/rescued", true),
    ("/thread", true),
    ("/half-closed", true),
    ("/shut", true),
    ("/descriptor", true),
    ("/raise", false),
    ("/raise-in-ensure", false),
    ("/raise-at-once", false),
    ("/raise-in-thread", false),
    ("/throw", false),
    ("/exit", false),
    ("/kill", false),
    ("/no-method", false),
];

#[test]
fn a_stream_that_fails_is_cut_off() {
    requires!("ruby:rack");
    let running = run(r#"
STREAMS = {
  '/whole' => ->(io) { io.write('row'); io.close },
  '/whole-in-ensure' => ->(io) { begin io.write('row') ensure io.close end },
  '/whole-then-raise' => ->(io) { io.write('row'); io.close; raise 'too late' },
  '/rescued' => ->(io) { begin raise 'no' rescue io.write('row'); io.close end },
  '/thread' => ->(io) { Thread.new { io.write('row'); io.close } },
  '/half-closed' => ->(io) { io.write('row'); io.close_write },
  '/shut' => ->(io) { io.write('row'); io.shutdown(:WR) },
  '/descriptor' => ->(io) { io.write('row'); io.autoclose = false; IO.for_fd(io.fileno).close },
  '/raise' => ->(io) { io.write('row'); raise 'database' },
  '/raise-in-ensure' => ->(io) { begin io.write('row'); raise 'database' ensure io.close end },
  '/raise-at-once' => ->(io) { raise 'database' },
  '/raise-in-thread' => ->(io) { Thread.new { begin io.write('row'); raise 'database' ensure io.close end } },
  '/throw' => ->(io) { io.write('row'); throw :nothing },
  '/exit' => ->(io) { io.write('row'); exit! },
  '/kill' => ->(io) { io.write('row'); Process.kill(:KILL, Process.pid); sleep },
  '/no-method' => ->(io) { io.write('row'); nil.no_method }
}
run ->(env) do
  stream = STREAMS.fetch(env['PATH_INFO'])
  case env['QUERY_STRING']
  when 'body' then [200, {}, stream]
  when 'partial' then [200, { 'rack.hijack' => stream }, []]
  when 'full'
    io = env['rack.hijack'].call
    io.write("HTTP/1.1 200 OK\r\nx: y\r\n\r\n")
    stream.call(io)
    [200, {}, []]
  end
end
"#);
    for way in ["body", "partial", "full"] {
        for (path, is_complete) in STREAMS {
            // Without a call of ours, whether an exception goes on is not known when the socket is closed.
            if (path, way) == ("/rescued", "full") {
                continue;
            }
            // A worker that has ended is replaced.
            let answer = eventually(|| {
                let answer = running.get(&format!("{path}?{way}"));
                if answer.starts_with("HTTP/1.1 502 ") { Err(answer) } else { Ok(answer) }
            });
            assert!(answer.starts_with("HTTP/1.1 200 ") || !is_complete, "{path} {way}: {answer}");
            assert_eq!(answer.ends_with("\r\n0\r\n\r\n"), is_complete, "{path} {way}: {answer}");
        }
    }
}
