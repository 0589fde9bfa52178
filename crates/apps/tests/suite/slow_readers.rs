//! Clients that read long responses slowly, or not at all.

use std::{io::Read, num::NonZero, time::Duration};

use crate::support::{Running, content, eventually, settings};
use serow_apps::Interface;
use serow_gateway::SpoolSpace;
use serow_requirements::requires;

/// Answers `/` with a dot, and all else with 8 MB: `/array` in one piece, `/each` in pieces of 100 kB.
const APPLICATIONS: [(Interface, &str, &str); 4] = [
    (
        Interface::Rack,
        "config.ru",
        "run(lambda do |env|
           case env['PATH_INFO']
           when '/array' then [200, {}, ['x' * 8_000_000]]
           when '/each' then [200, {}, Enumerator.new { |pieces| 80.times { pieces << 'x' * 100_000 } }]
           else [200, {}, ['.']]
           end
         end)",
    ),
    (
        Interface::Psgi,
        "app.psgi",
        "sub {
            my ($env) = @_;
            return [200, [], ['x' x 8_000_000]] if $env->{PATH_INFO} eq '/array';
            return [200, [], ['.']] if $env->{PATH_INFO} ne '/each';
            return sub {
                my $writer = shift->([200, []]);
                $writer->write('x' x 100_000) for 1 .. 80;
                $writer->close;
            };
         }",
    ),
    (
        Interface::PhpWorker,
        "app.php",
        "<?php return fn (array $server) => match ($server['PATH_INFO']) {
            '/array' => [200, [], str_repeat('x', 8_000_000)],
            '/each' => [200, [], (function () { for ($i = 0; $i < 80; $i++) { yield str_repeat('x', 100_000); } })()],
            default => '.',
        };",
    ),
    (
        Interface::Wsgi,
        "app.py",
        "def app(environ, start_response):
    start_response('200 OK', [])
    match environ['PATH_INFO']:
        case '/array': return [b'x' * 8_000_000]
        case '/each': return (b'x' * 100_000 for _ in range(80))
        case _: return [b'.']
",
    ),
];

#[test]
fn readers_that_do_not_read_occupy_no_worker_and_lose_nothing() {
    requires!("ruby:rack", "program:perl", "program:/usr/bin/python3", "program:php");
    for (interface, file, code) in APPLICATIONS {
        let (mut settings, folder) = settings(interface, file, code);
        settings.run.processes = NonZero::<usize>::MIN;
        settings.run.timeout = Duration::from_secs(2);
        settings.run.buffer.spool = SpoolSpace::new(1 << 30);
        let spool = settings.run.buffer.spool.clone();
        let running = Running::new((settings, folder));
        let begin =
            |target: &str| running.begin(&format!("GET {target} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"));
        let readers: Vec<_> = ["/array", "/each"].iter().flat_map(|target| (0..4).map(|_| begin(target))).collect();
        // The only worker answers others while all of them wait.
        for _ in 0..20 {
            assert_eq!(content(&running.get("/")), ".", "{interface:?}");
        }
        for mut reader in readers {
            let mut response = Vec::new();
            reader.read_to_end(&mut response).unwrap();
            assert_eq!(response.iter().filter(|byte| **byte == b'x').count(), 8_000_000, "{interface:?}");
        }
        assert_eq!(running.application.report().deaths, 0, "{interface:?}");
        eventually(|| if spool.used() == 0 { Ok(()) } else { Err(format!("{} bytes are left", spool.used())) });
    }
}
