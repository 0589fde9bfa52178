//! Bodies of requests that are too long for memory, on their way to a worker.

use std::{fs, io::Write, net::TcpStream, num::NonZero, os::unix::fs::symlink, path::Path, thread};

use crate::support::{Running, content, settings, wait_until};
use serow_apps::{ApplicationSettings, Interface};
use serow_requirements::requires;
use tempfile::TempDir;

/// Answers with the length of the body, its sum, and the names in the folder that bodies are kept in. A worker that
/// gets `/die` for the first time reads a part of the body and ends; one that gets `/slow` takes its time.
const APPLICATIONS: [(Interface, &str, &str); 4] = [
    (
        Interface::Rack,
        "config.ru",
        r##"
run ->(env) do
  sleep 1 if env['PATH_INFO'] == '/slow'
  if env['PATH_INFO'] == '/die' && !File.exist?('died')
    File.write('died', '')
    env['rack.input'].read(100_000)
    exit!(1)
  end
  body = env['rack.input'].read
  names = Dir.children('spool')
  [200, {}, ["#{body.bytesize} #{body.sum(32)} #{names.sort.join(' ')}"]]
end
"##,
    ),
    (
        Interface::Psgi,
        "app.psgi",
        r##"
sub {
    my ($env) = @_;
    sleep 1 if $env->{PATH_INFO} eq '/slow';
    if ($env->{PATH_INFO} eq '/die' && !-e 'died') {
        open my $died, '>', 'died';
        close $died;
        $env->{'psgi.input'}->read(my $part, 100_000);
        kill 9, $$;
        sleep 1;
    }
    my $body = do { local $/; $env->{'psgi.input'}->getline } // '';
    opendir my $folder, 'spool';
    my @names = sort grep { !/\A\.\.?\z/ } readdir $folder;
    return [200, [], [length($body) . ' ' . unpack('%32C*', $body) . " @names"]];
};
"##,
    ),
    (
        Interface::Wsgi,
        "app.py",
        r##"
import os, time
def app(environ, start_response):
    if environ['PATH_INFO'] == '/slow':
        time.sleep(1)
    if environ['PATH_INFO'] == '/die' and not os.path.exists('died'):
        open('died', 'w').close()
        environ['wsgi.input'].read(100_000)
        os._exit(1)
    body = environ['wsgi.input'].read()
    start_response('200 OK', [])
    return [f"{len(body)} {sum(body)} {' '.join(sorted(os.listdir('spool')))}".encode()]
"##,
    ),
    (
        Interface::PhpWorker,
        "app.php",
        r##"<?php
return function (array $server, Serow\Body $body): string {
    if ($server['PATH_INFO'] === '/slow') {
        sleep(1);
    }
    if ($server['PATH_INFO'] === '/die' && !file_exists('died')) {
        touch('died');
        fread($body->stream(), 100_000);
        posix_kill(getmypid(), SIGKILL);
    }
    $sum = 0;
    foreach (count_chars($body, 1) as $byte => $count) {
        $sum += $byte * $count;
    }
    return strlen($body) . " $sum " . implode(' ', array_diff(scandir('spool'), ['.', '..']));
};
"##,
    ),
];

/// The application keeps bodies in the folder `spool` of its own one.
fn spooling((interface, file, code): (Interface, &str, &str)) -> (ApplicationSettings, TempDir) {
    let (mut settings, folder) = settings(interface, file, code);
    settings.run.buffer.folder = folder.path().join("spool");
    settings.run.processes = NonZero::new(3).unwrap();
    fs::create_dir(&settings.run.buffer.folder).unwrap();
    (settings, folder)
}

fn answer_to(body: &[u8], names: &str) -> String {
    format!("{} {} {names}", body.len(), body.iter().map(|byte| u64::from(*byte)).sum::<u64>())
}

fn names_in(folder: &Path) -> usize {
    fs::read_dir(folder).unwrap().count()
}

/// Files in a folder that this process has open.
fn open_in(folder: &Path) -> usize {
    let links = fs::read_dir("/proc/self/fd").unwrap().filter_map(|entry| fs::read_link(entry.unwrap().path()).ok());
    links.filter(|file| file.starts_with(folder) && file != folder).count()
}

#[test]
fn an_upload_writes_through_no_link_and_has_no_name() {
    requires!("ruby:rack", "program:perl", "program:/usr/bin/python3", "program:php");
    for application in APPLICATIONS {
        let (settings, folder) = spooling(application);
        let spool = settings.run.buffer.folder.clone();
        let victim = folder.path().join("victim");
        fs::write(&victim, "precious").unwrap();
        // Predictable names.
        let planted: Vec<_> = (0..20).map(|number| format!(".serow-upload-{}-{number}", std::process::id())).collect();
        planted.iter().for_each(|name| symlink(&victim, spool.join(name)).unwrap());
        let mut names = planted.clone();
        names.sort();
        let running = Running::new((settings, folder));
        let body: Vec<u8> = (0..300_000_u32).map(|number| (number % 251) as u8).collect();
        for _ in 0..3 {
            assert_eq!(content(&running.post("/", &body)), answer_to(&body, &names.join(" ")), "{:?}", application.0);
        }
        assert_eq!(fs::read(&victim).unwrap(), b"precious", "{:?}", application.0);
    }
}

#[test]
fn another_worker_reads_the_body_from_its_beginning_after_a_crash() {
    requires!("ruby:rack", "program:perl", "program:/usr/bin/python3", "program:php");
    for application in APPLICATIONS {
        let running = Running::new(spooling(application));
        let body: Vec<u8> = (0..300_000_u32).map(|number| (number % 241) as u8).collect();
        let head = "PUT /die HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: 300000\r\n\r\n";
        let answer = running.exchange([head.as_bytes(), &body].concat());
        assert_eq!(content(&answer), answer_to(&body, ""), "{:?}: {answer}", application.0);
    }
}

#[test]
fn an_upload_that_no_worker_takes_leaves_nothing() {
    requires!("ruby:rack", "program:perl", "program:/usr/bin/python3", "program:php");
    for application in APPLICATIONS {
        let (mut settings, folder) = spooling(application);
        settings.run.processes = NonZero::<usize>::MIN;
        let spool = settings.run.buffer.folder.clone();
        let running = Running::new((settings, folder));
        let mut slow = TcpStream::connect(running.address()).unwrap();
        slow.write_all(b"GET /slow HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n").unwrap();
        let mut upload = TcpStream::connect(running.address()).unwrap();
        upload.write_all(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 300000\r\n\r\n").unwrap();
        upload.write_all(&[b'x'; 300_000]).unwrap();
        wait_until("it is kept for the worker", || open_in(&spool) > 0);
        assert_eq!(names_in(&spool), 0, "{:?}: while it waits for the worker", application.0);
        drop(upload);
        assert_eq!(content(&running.get("/")), answer_to(b"", ""), "{:?}", application.0);
        assert_eq!(names_in(&spool), 0, "{:?}: after its client has left", application.0);
        wait_until("its file is closed", || open_in(&spool) == 0);
    }
}

#[test]
fn threads_of_one_worker_get_their_own_bodies() {
    requires!("ruby:rack", "program:perl", "program:/usr/bin/python3", "program:php");
    for application in [APPLICATIONS[0], APPLICATIONS[2]] {
        let (mut settings, folder) = spooling(application);
        settings.run.processes = NonZero::<usize>::MIN;
        settings.concurrency = NonZero::new(8).unwrap();
        let running = Running::new((settings, folder));
        thread::scope(|scope| {
            for client in 0..16_u8 {
                let running = &running;
                scope.spawn(move || {
                    for round in 0..5 {
                        let body = vec![client + 1; 100_000 + 1000 * round + usize::from(client)];
                        assert_eq!(content(&running.post("/", &body)), answer_to(&body, ""), "{:?}", application.0);
                    }
                });
            }
        });
    }
}
