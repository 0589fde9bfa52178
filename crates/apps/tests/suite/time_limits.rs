//! Requests that take long.

use std::{fs, io::Read, num::NonZero, time::Duration};

use crate::support::{Running, content, eventually, request, settings};
use serow_apps::Interface;
use serow_requirements::requires;

/// `/drip` sends a dot ten times, with pauses; `/silent` one, and nothing more; `/hang` does not respond; `/wait` sends
/// a dot at once, and another one when there is a file `go`; `/hijack` is as `/drip`, to a socket. All else gets the number of the
/// process.
const APPLICATIONS: [(Interface, &str, &str); 4] = [
    (
        Interface::Rack,
        "config.ru",
        "drip = ->(to) { 10.times { to << '.'; sleep 0.2 } }
run(lambda do |env|
  case env['PATH_INFO']
  when '/drip' then [200, {}, Enumerator.new(&drip)]
  when '/hijack' then [200, { 'rack.hijack' => ->(socket) { drip.call(socket); socket.close } }, []]
  when '/silent' then [200, {}, Enumerator.new { |to| to << '.'; sleep }]
  when '/hang' then sleep
  when '/wait' then [200, {}, Enumerator.new { |to| to << '.'; sleep 0.01 until File.exist?('go'); to << '.' }]
  else [200, {}, [Process.pid.to_s]]
  end
end)",
    ),
    (
        Interface::Psgi,
        "app.psgi",
        "sub {
    my ($env) = @_;
    my $path = $env->{PATH_INFO};
    sleep if $path eq '/hang';
    return [200, [], [$$]] if $path ne '/drip' && $path ne '/silent';
    return sub {
        my $writer = shift->([200, []]);
        for (1 .. 10) {
            $writer->write('.');
            $path eq '/silent' ? sleep : select undef, undef, undef, 0.2;
        }
        $writer->close;
    };
}",
    ),
    (
        Interface::PhpWorker,
        "app.php",
        "<?php
function drip(bool $is_silent) {
    yield [200, []];
    for ($i = 0; $i < 10; $i++) {
        yield '.';
        $is_silent ? sleep(1000) : usleep(200_000);
    }
}
return function (array $server) {
    $path = $server['PATH_INFO'];
    $path !== '/hang' || sleep(1000);
    return in_array($path, ['/drip', '/silent'], true) ? drip($path === '/silent') : (string) getmypid();
};",
    ),
    (
        Interface::Wsgi,
        "app.py",
        "import os, threading, time
def drip():
    for _ in range(10):
        yield b'.'
        time.sleep(0.2)
def silent():
    yield b'.'
    threading.Event().wait()
def wait():
    yield b'.'
    while not os.path.exists('go'):
        time.sleep(0.01)
    yield b'.'
def app(environ, start_response):
    path = environ['PATH_INFO']
    if path == '/hang':
        threading.Event().wait()
    start_response('200 OK', [])
    bodies = {'/drip': drip, '/silent': silent, '/wait': wait}
    return bodies[path]() if path in bodies else [b'%d' % os.getpid()]
",
    ),
];

fn run((interface, file, code): (Interface, &str, &str), threads: usize, transfer: Duration) -> Running {
    let (mut settings, folder) = settings(interface, file, code);
    settings.run.processes = NonZero::<usize>::MIN;
    settings.run.timeout = Duration::from_secs(1);
    settings.run.queue.timeout = Duration::from_secs(20);
    settings.run.transfer_timeout = Some(transfer);
    settings.concurrency = NonZero::new(threads).unwrap();
    Running::new((settings, folder))
}

#[test]
fn a_response_that_goes_on_has_no_time_limit_and_one_that_stops_is_cut() {
    requires!("ruby:rack", "program:perl", "program:/usr/bin/python3", "program:php");
    for application in APPLICATIONS {
        let response = run(application, 1, Duration::from_secs(60)).get("/drip");
        assert_eq!(
            (response.matches("1\r\n.\r\n").count(), response.ends_with("\r\n0\r\n\r\n")),
            (10, true),
            "{response}"
        );
        let running = run(application, 1, Duration::from_secs(1));
        let first = content(&running.get("/")).to_owned();
        let response = running.get("/silent");
        assert!(response.contains("1\r\n.\r\n") && !response.ends_with("0\r\n\r\n"), "{response}");
        assert_ne!(content(&running.get("/")), first, "{:?}: its worker is replaced", application.0);
    }
}

#[test]
fn a_hijacked_response_has_no_time_limit() {
    requires!("ruby:rack");
    let response = run(APPLICATIONS[0], 1, Duration::from_secs(1)).get("/hijack");
    assert!(response.ends_with(".\r\n0\r\n\r\n"), "{response}");
    assert_eq!(response.matches("1\r\n.\r\n").count(), 10);
}

#[test]
fn the_other_requests_of_a_worker_end_before_one_that_hangs_has_it_killed() {
    requires!("ruby:rack", "program:/usr/bin/python3");
    for application in [APPLICATIONS[0], APPLICATIONS[3]] {
        let running = run(application, 2, Duration::from_secs(60));
        let first = content(&running.get("/")).to_owned();
        let mut waiting = running.begin(&request("/wait"));
        assert!(running.get("/hang").starts_with("HTTP/1.1 504 "), "{:?}", application.0);
        // The worker goes on with its other response. At once: it is killed a second later in any case, and a busy machine may
        // take longer to start another one.
        fs::write(running.folder.path().join("go"), "").unwrap();
        let mut response = String::new();
        waiting.read_to_string(&mut response).unwrap();
        assert!(response.matches("1\r\n.\r\n").count() == 2 && response.ends_with("\r\n0\r\n\r\n"), "{response}");
        assert_ne!(content(&running.get("/")), first, "{:?}: another worker answers", application.0);
        let process = format!("/proc/{first}/cmdline");
        eventually(|| match fs::read(&process) {
            Ok(line) if !line.is_empty() => Err(format!("{first} is still there")),
            _ => Ok(()),
        });
    }
}
