//! Rack 3 and its judge, where they can be had: Debian has Rack 2.
#![allow(clippy::unwrap_used, clippy::print_stderr, reason = "a test that cannot go on says so")]

mod support;

use std::process::Command;

use serow_apps::Interface;
use support::{Running, content, settings};

#[test]
fn the_judge_of_rack_3_is_silent() {
    let gems = tempfile::tempdir().unwrap();
    let install = ["install", "--quiet", "--no-document", "--install-dir"];
    let installed = Command::new("gem").args(install).arg(gems.path()).args(["rack", "--version", "~> 3.1"]).output();
    if !installed.as_ref().is_ok_and(|output| output.status.success()) {
        eprintln!("SKIPPED: Rack 3 cannot be installed, so nothing was tested with it: {installed:?}");
        return;
    }
    let (mut settings, folder) = settings(Interface::Rack, "config.ru", RACK_3);
    settings.run.environment.push(("GEM_PATH".into(), gems.path().into()));
    let running = Running::new((settings, folder));
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
