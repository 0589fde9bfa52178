//! The notes for the access log: which workers have had a request, and for how long.

use std::{
    fs,
    io::Read,
    num::NonZero,
    sync::{Arc, Mutex},
    thread,
};

use crate::support::{Answering, Running, content, request, settings, wait_until};
use serow_apps::{ApplicationHandler, Interface};
use serow_gateway::{Attempt, Attempts};
use serow_message::{Handler, Request, Response};
use serow_requirements::requires;

/// `/wait` sends a dot at once, and another one when there is a file `go`; `/exit` ends the worker. All else gets the
/// number of the process.
const APPLICATIONS: [(Interface, &str, &str); 4] = [
    (
        Interface::Rack,
        "config.ru",
        "wait = ->(to) { to << '.'; sleep 0.01 until File.exist?('go'); to << '.' }
run(lambda do |env|
  exit!(1) if env['PATH_INFO'] == '/exit'
  [200, {}, env['PATH_INFO'] == '/wait' ? Enumerator.new(&wait) : [Process.pid.to_s]]
end)",
    ),
    (
        Interface::Psgi,
        "app.psgi",
        "use POSIX;
sub {
    my ($env) = @_;
    POSIX::_exit(1) if $env->{PATH_INFO} eq '/exit';
    return [200, [], [$$]] if $env->{PATH_INFO} ne '/wait';
    return sub {
        my $writer = shift->([200, []]);
        $writer->write('.');
        select undef, undef, undef, 0.01 until -e 'go';
        $writer->write('.');
        $writer->close;
    };
}",
    ),
    (
        Interface::PhpWorker,
        "app.php",
        "<?php
function wait() {
    yield [200, []];
    yield '.';
    while (!file_exists('go')) {
        usleep(10_000);
        clearstatcache();
    }
    yield '.';
}
return function (array $server) {
    if ($server['PATH_INFO'] === '/exit') {
        posix_kill(getmypid(), SIGKILL);
    }
    return $server['PATH_INFO'] === '/wait' ? wait() : (string) getmypid();
};",
    ),
    (
        Interface::Wsgi,
        "app.py",
        "import os, time
def wait():
    yield b'.'
    while not os.path.exists('go'):
        time.sleep(0.01)
    yield b'.'
def app(environ, start_response):
    if environ['PATH_INFO'] == '/exit':
        os._exit(1)
    start_response('200 OK', [])
    return wait() if environ['PATH_INFO'] == '/wait' else [b'%d' % os.getpid()]
",
    ),
];

/// An application, and the notes about each request in the order of the responses.
#[derive(Clone)]
struct Noted {
    handler: ApplicationHandler,
    notes: Arc<Mutex<Vec<Attempts>>>,
}

impl Handler for Noted {
    fn call(&self, request: Request) -> impl Future<Output = Response> + 'static {
        let (response, notes) = (self.handler.call(request), Arc::clone(&self.notes));
        async move {
            let response = response.await;
            notes.lock().unwrap().push(response.extensions.get::<Attempts>().unwrap().clone());
            response
        }
    }
}

impl Noted {
    fn list(&self, place: usize) -> Vec<Attempt> {
        self.notes.lock().unwrap()[place].list()
    }
}

fn run((interface, file, code): (Interface, &str, &str), processes: usize) -> (Running, Noted, Answering) {
    let (mut settings, folder) = settings(interface, file, code);
    settings.run.processes = NonZero::new(processes).unwrap();
    settings.run.note_attempts = true;
    let running = Running::new((settings, folder));
    let noted = Noted { handler: running.application.handler(), notes: Arc::default() };
    let answering = Answering::new(noted.clone());
    (running, noted, answering)
}

#[test]
fn a_request_behind_another_has_waited_and_a_running_one_is_reported() {
    requires!("ruby:rack", "program:perl", "program:/usr/bin/python3", "program:php");
    for application in APPLICATIONS {
        let (running, noted, answering) = run(application, 1);
        let name = application.1;
        let mut first = answering.begin(&request("/wait?secret=1"));
        thread::scope(|scope| {
            let second = scope.spawn(|| content(&answering.get("/")));
            wait_until("the second request is there", || running.application.report().requests == 2);
            let report = running.application.report();
            assert_eq!(report.running.len(), 1, "{name}");
            let [one] = &report.running[..] else { panic!("{:?}", report.running) };
            assert_eq!((one.worker, one.method.as_str(), one.path.as_str()), (1, "GET", "/wait"), "{name}");
            fs::write(running.folder.path().join("go"), "").unwrap();
            let pid = second.join().unwrap();
            assert_eq!(one.pid.map(|pid| pid.to_string()), Some(pid.clone()), "{name}");
            first.read_to_end(&mut Vec::new()).unwrap();
            for place in 0..2 {
                let [attempt] = &noted.list(place)[..] else { panic!("{name}: {:?}", noted.list(place)) };
                assert_eq!(attempt.server(), format!("test[{pid}]"), "{name}");
                assert_eq!(attempt.status.unwrap().as_u16(), 200, "{name}");
                assert!(attempt.header_time.unwrap() <= attempt.response_time.unwrap(), "{name}: {attempt:?}");
                assert_eq!(attempt.queue_time.unwrap().is_zero(), place == 0, "{name}: {attempt:?}");
            }
        });
        wait_until("both are finished", || running.application.report().running.is_empty());
        let report = running.application.report();
        let count = |classes: &[(_, u64)]| classes.iter().map(|(_, count)| count).sum::<u64>();
        assert_eq!((count(&report.queue_times), count(&report.work_times)), (2, 2), "{name}");
    }
}

#[test]
fn each_worker_that_crashed_with_a_request_is_noted() {
    requires!("ruby:rack", "program:perl", "program:/usr/bin/python3", "program:php");
    for application in APPLICATIONS {
        let (_running, noted, answering) = run(application, 3);
        let response = answering.get("/exit");
        assert!(response.starts_with("HTTP/1.1 502 "), "{response}");
        let attempts = noted.list(0);
        assert_eq!(attempts.len(), 2, "{}: {attempts:?}", application.1);
        assert_ne!(attempts[0].server(), attempts[1].server());
        for attempt in attempts {
            assert_eq!((attempt.status.unwrap().as_u16(), attempt.header_time), (502, None), "{attempt:?}");
            assert!(attempt.response_time.is_some() && attempt.queue_time.is_some(), "{attempt:?}");
        }
    }
}
