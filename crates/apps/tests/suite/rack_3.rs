//! Rack 3 and its judge, where they are found: `tests/rack3` has them, and runs the other tests of Rack with them, too.
#![allow(clippy::unwrap_used, clippy::print_stderr, reason = "a test that cannot go on says so")]

use std::process::Command;

use crate::support::{Running, content, settings};
use serow_apps::Interface;
use serow_requirements::requires;

#[test]
fn the_judge_of_rack_3_is_silent() {
    requires!("ruby:rack");
    let release = Command::new("ruby").args(["-r", "rack", "-e", "print Rack.release"]).output().unwrap().stdout;
    if !release.starts_with(b"3.") {
        eprintln!("SKIPPED: this is Rack {}; tests/rack3 runs this with Rack 3", release.escape_ascii());
        return;
    }
    let running = Running::new(settings(Interface::Rack, "config.ru", RACK_3));
    assert!(content(&running.get("/")).starts_with("3."));
    assert_eq!(content(&running.post("/echo?a=b", b"a body")), "a body");
    assert_eq!(content(&running.get("/stream")), "one two");
    assert_eq!(content(&running.get("/socket")), "by hand");
    assert!(running.get("/cookies").contains("set-cookie: a=1\r\nset-cookie: b=2\r\n"));
    assert!(
        running.exchange("OPTIONS * HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n").starts_with("HTTP/1.1 200 ")
    );
}

const RACK_3: &str = r"
require 'rack'
require 'rack/lint'
use Rack::Lint
run ->(env) do
  case env['PATH_INFO']
  when '/echo' then [200, { 'content-type' => 'text/plain' }, [env['rack.input'].read]]
  when '/stream' then [200, {}, ->(stream) { stream.write('one '); stream << 'two'; stream.close }]
  when '/socket'
    later = ->(io) { io.write('by hand'); io.close }
    [200, { 'rack.hijack' => later }, []]
  when '/cookies' then [200, { 'set-cookie' => ['a=1', 'b=2'] }, []]
  else [200, {}, [Rack.release]]
  end
end
";
