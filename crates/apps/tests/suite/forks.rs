//! Workers that cannot be forked or that crash at once: the others go on, and it is tried again.

use std::fs;

use crate::support::{Running, content, settings, wait_until};
use serow_apps::Interface;
use serow_requirements::requires;

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

/// While the file `crash` is there, workers crash at once; and their fork is reported after the template process has
/// handled the SIGCHLD of their end.
const LATE_RUBY: &str = r"
module Crashing
  def fork
    $crashing = File.exist?('crash') # before the fork: both processes act on the same answer
    super do
      crash if $crashing
      yield
    end
  end

  def crash
    File.write('crashed', Process.pid.to_s)
    exit!(1)
  end
end
module Late
  def send(message, flags)
    wait_for_end(message[/\d+\z/]) if message.start_with?('forked') && $crashing
    super
  end

  def wait_for_end(pid)
    sleep(0.001) until File.read(%(/proc/#{pid}/stat)).include?(') Z ')
    sleep(0.01) # Ruby runs the handler of a signal at its next wait
  rescue Errno::ENOENT, Errno::ESRCH
    nil # the handler has reaped it
  end
end
Serow::TemplateProcess.prepend(Crashing)
Socket.prepend(Late)
run ->(env) { env['PATH_INFO'] == '/die' ? exit!(1) : [200, {}, [Process.pid.to_s]] }
";

const LATE_PYTHON: &str = r"
import os, socket, time
fork, send = os.fork, socket.socket.send

crashes = False

def crashing():
    global crashes
    crashes = os.path.exists('crash')  # before the fork: both processes act on the same answer
    pid = fork()
    if pid == 0 and crashes:
        with open('crashed', 'w') as file:
            file.write(str(os.getpid()))
        os._exit(1)
    return pid

def wait_for_end(pid):
    try:
        while ') Z ' not in open(f'/proc/{pid}/stat').read():
            time.sleep(0.001)
        time.sleep(0.01)  # Python runs the handler of a signal between two instructions
    except (FileNotFoundError, ProcessLookupError):
        pass  # the handler has reaped it

def late(self, data, *flags):
    if data.startswith(b'forked') and crashes:
        wait_for_end(data.split(bytes(1))[2].decode())
    return send(self, data, *flags)

os.fork, socket.socket.send = crashing, late

def app(environ, start_response):
    if environ['PATH_INFO'] == '/die':
        os._exit(1)
    start_response('200 OK', [])
    return [str(os.getpid()).encode()]
";

/// The template process reports forks before ends, whatever interrupts it: Serow would wait for ever for the end of a worker
/// whose fork is reported after it.
#[test]
fn workers_whose_end_is_noticed_before_their_fork_is_reported_are_replaced() {
    requires!("ruby:rack", "program:/usr/bin/python3");
    for (interface, file, code) in
        [(Interface::Rack, "config.ru", LATE_RUBY), (Interface::Wsgi, "application.py", LATE_PYTHON)]
    {
        let (mut settings, folder) = settings(interface, file, code);
        settings.preload = true;
        let running = Running::new((settings, folder));
        let path = |name: &str| running.folder.path().join(name);
        // Both have been forked: none of them crashes.
        wait_until(&format!("{interface:?}: two workers"), || running.application.counts().workers == 2);
        fs::write(path("crash"), "").unwrap();
        assert!(running.post("/die", b"x").starts_with("HTTP/1.1 502 "), "{interface:?}");
        wait_until(&format!("{interface:?}: a worker that crashes at once"), || path("crashed").exists());
        assert_ne!(content(&running.get("/")), "", "{interface:?}: the other worker answers");
        fs::remove_file(path("crash")).unwrap();
        wait_until(&format!("{interface:?}: another worker in its place"), || {
            running.application.counts().workers == 2
        });
    }
}

#[test]
fn failed_forks_are_repeated() {
    requires!("ruby:rack", "program:/usr/bin/python3");
    for (interface, file, code) in [(Interface::Rack, "config.ru", RUBY), (Interface::Wsgi, "application.py", PYTHON)] {
        let (mut settings, folder) = settings(interface, file, code);
        settings.preload = true;
        let running = Running::new((settings, folder));
        let refused = running.folder.path().join("refused");
        let counts = || running.application.counts();
        fs::write(&refused, "").unwrap();
        // A POST, which is not retried.
        assert!(running.post("/die", b"x").starts_with("HTTP/1.1 502 "), "{interface:?}");
        for _ in 0..20 {
            assert_ne!(content(&running.get("/")), "", "{interface:?}");
            assert_eq!(counts().workers, 1, "{interface:?}");
        }
        fs::remove_file(&refused).unwrap();
        wait_until(&format!("{interface:?}: a fork later"), || counts().workers == 2);
    }
}
