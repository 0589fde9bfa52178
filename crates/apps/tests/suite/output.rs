//! Output of applications in the log: line by line, even of killed workers.

use std::{num::NonZero, sync::Mutex};

use crate::support::{Running, eventually, settings};
use serow_apps::Interface;
use serow_processes::Output;
use serow_requirements::requires;

/// Writes a line to each of its outputs, and with `/kill` is killed then.
const APPLICATIONS: [(Interface, &str, &str, &[&str]); 5] = [
    (
        Interface::Rack,
        "config.ru",
        r##"
$stderr.puts 'loading'
run ->(env) do
  path = env['PATH_INFO']
  $stdout.puts "out #{path}"
  print "print #{path}\n"
  $stderr.puts "err #{path}"
  warn "warn #{path}"
  env['rack.errors'].puts "errors #{path}"
  STDOUT.write "constant #{path}\n"
  Process.kill(:KILL, $$) if path == '/kill'
  [200, {}, ['.']]
end
"##,
        &["out", "print", "err", "warn", "errors", "constant"],
    ),
    (
        Interface::Psgi,
        "app.psgi",
        r##"
print STDERR "loading\n";
sub {
    my ($env) = @_;
    my $path = $env->{PATH_INFO};
    print "out $path\n";
    print STDERR "err $path\n";
    warn "warn $path\n";
    $env->{'psgi.errors'}->print("errors $path\n");
    if ($path eq '/kill') { kill 9, $$; sleep 5 }
    return [200, [], ['.']];
};
"##,
        &["out", "err", "warn", "errors"],
    ),
    (
        Interface::Wsgi,
        "app.py",
        r"
import logging, os, sys
print('loading', file=sys.stderr)
def app(environ, start_response):
    path = environ['PATH_INFO']
    print('out', path)
    print('err', path, file=sys.stderr)
    environ['wsgi.errors'].write(f'errors {path}\n')
    logging.warning('logging %s', path)
    sys.stdout.buffer.write(f'bytes {path}\n'.encode())
    if path == '/kill':
        os.kill(os.getpid(), 9)
    start_response('200 OK', [])
    return [b'.']
",
        &["out", "err", "errors", "WARNING:root:logging", "bytes"],
    ),
    (
        Interface::PhpWorker,
        "app.php",
        r##"<?php
fwrite(STDERR, "loading\n");
return function (array $server): string {
    $path = $server['PATH_INFO'];
    echo "out $path\n";
    fwrite(STDERR, "err $path\n");
    error_log("errors $path");
    if ($path === '/kill') {
        posix_kill(getmypid(), SIGKILL);
    }
    return '.';
};
"##,
        &["out", "err", "errors"],
    ),
    (
        Interface::Asgi,
        "app.py",
        r"
import logging, os, sys
print('loading', file=sys.stderr)
async def app(scope, receive, send):
    assert scope['type'] == 'http'
    path = scope['path']
    print('out', path)
    print('err', path, file=sys.stderr)
    logging.warning('logging %s', path)
    sys.stdout.buffer.write(f'bytes {path}\n'.encode())
    if path == '/kill':
        os.kill(os.getpid(), 9)
    await send({'type': 'http.response.start', 'status': 200})
    await send({'type': 'http.response.body', 'body': b'.'})
",
        &["out", "err", "WARNING:root:logging", "bytes"],
    ),
];

static LINES: Mutex<Vec<String>> = Mutex::new(Vec::new());

fn wait_for_line(expected: &str) {
    eventually(|| {
        let lines = LINES.lock().unwrap();
        if lines.iter().any(|line| line == expected) { Ok(()) } else { Err(format!("{expected}: {lines:?}")) }
    });
}

/// Each application loaded in each worker or once for all, and in development.
#[test]
fn output_is_logged_at_once_even_of_killed_workers() {
    requires!("ruby:rack", "program:perl", "program:/usr/bin/python3", "program:php");
    for (interface, file, code, streams) in APPLICATIONS {
        for (preload, development) in [(false, false), (true, false), (false, true), (true, true)] {
            let (mut settings, folder) = settings(interface, file, code);
            settings.run.name = format!("{}{}{}", interface.name(), u8::from(preload), u8::from(development));
            settings.run.processes = NonZero::<usize>::MIN;
            settings.run.output = Output {
                take: |name, _, line| {
                    LINES.lock().unwrap().push(format!("{name}: {line}"));
                },
            };
            (settings.preload, settings.development) = (preload, development);
            let name = settings.run.name.clone();
            let running = Running::new((settings, folder));
            // The worker goes on behind this, so nothing of it is there only since it has ended.
            running.post("/live", b"");
            for stream in streams {
                wait_for_line(&format!("{name}: {stream} /live"));
            }
            running.post("/kill", b"");
            for stream in streams {
                wait_for_line(&format!("{name}: {stream} /kill"));
            }
        }
    }
}
