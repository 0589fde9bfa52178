//! Workers that cannot be forked: the others go on, and it is tried again.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod support;

use std::{
    fs,
    time::{Duration, Instant},
};

use serow_apps::Interface;
use support::{Running, content, settings};

const RUBY: &str = r"
module Refused
  def fork
    File.exist?('refused') ? raise(Errno::EAGAIN) : super
  end
end
Serow::TemplateProcess.prepend(Refused)
run ->(env) { env['PATH_INFO'] == '/die' ? exit!(1) : [200, {}, [Process.pid.to_s]] }
";

const PYTHON: &str = r"
import errno, os
fork = os.fork

def refused():
    if os.path.exists('refused'):
        raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))
    return fork()

os.fork = refused

def app(environ, start_response):
    if environ['PATH_INFO'] == '/die':
        os._exit(1)
    start_response('200 OK', [])
    return [str(os.getpid()).encode()]
";

#[test]
fn what_cannot_be_forked_is_forked_later() {
    for (interface, file, code) in [(Interface::Rack, "config.ru", RUBY), (Interface::Wsgi, "application.py", PYTHON)] {
        let (mut settings, folder) = settings(interface, file, code);
        settings.preload = true;
        let running = Running::new((settings, folder));
        let refused = running.folder.path().join("refused");
        let counts = || running.application.counts();
        fs::write(&refused, "").unwrap();
        // A POST, which nobody repeats.
        assert!(running.post("/die", b"x").starts_with("HTTP/1.1 502 "), "{interface:?}");
        for _ in 0..20 {
            assert_ne!(content(&running.get("/")), "", "{interface:?}");
            assert_eq!(counts().workers, 1, "{interface:?}");
        }
        fs::remove_file(&refused).unwrap();
        let began = Instant::now();
        while counts().workers < 2 {
            assert!(began.elapsed() < Duration::from_secs(10), "{interface:?}: it was not forked later");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}
