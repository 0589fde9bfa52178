//! Files that applications name as bodies: regular ones are sent, and nothing else stops a worker or the server.

use std::{fs, num::NonZero, process::Command};

use crate::support::{Running, content, settings};
use serow_apps::{ApplicationSettings, Interface};
use serow_requirements::requires;
use tempfile::TempDir;

/// The application names the file of the path as its body, where its interface has a way to do that.
const APPLICATIONS: [(Interface, &str, &str); 3] = [
    (
        Interface::Rack,
        "config.ru",
        r##"
Named = Struct.new(:to_path) do
  def each
    yield 'not sent as a file'
  end
end
run ->(env) { [200, {}, Named.new(env['QUERY_STRING'])] }
"##,
    ),
    (
        Interface::Psgi,
        "app.psgi",
        r##"
package Body;
sub new { my ($class, $path) = @_; return bless { path => $path, pieces => ['not sent as a file'] }, $class }
sub path { $_[0]{path} }
sub getline { shift @{ $_[0]{pieces} } }
sub close { }
package main;
sub { [200, [], Body->new($_[0]{QUERY_STRING})] };
"##,
    ),
    (
        Interface::Asgi,
        "app.py",
        r"
async def app(scope, receive, send):
    assert scope['type'] == 'http'
    await send({'type': 'http.response.start', 'status': 200})
    await send({'type': 'http.response.pathsend', 'path': scope['query_string'].decode()})
",
    ),
];

fn alone((interface, file, code): (Interface, &str, &str)) -> (ApplicationSettings, TempDir) {
    let (mut settings, folder) = settings(interface, file, code);
    settings.run.processes = NonZero::<usize>::MIN;
    (settings, folder)
}

#[test]
fn pipes_and_folders_are_not_sent_as_files_and_regular_files_are() {
    requires!("ruby:rack", "program:perl", "program:/usr/bin/python3");
    for application in APPLICATIONS {
        let (settings, folder) = alone(application);
        let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
        let (file, empty, pipe) = (path("file"), path("empty"), path("pipe"));
        fs::write(&file, "content of a file").unwrap();
        fs::write(&empty, "").unwrap();
        assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let folder_path = folder.path().to_str().unwrap().to_owned();
        let running = Running::new((settings, folder));
        let is_asgi = application.0 == Interface::Asgi;
        // No process writes to the pipe: opening it without care would block forever.
        for odd in [&pipe, &folder_path, &"/dev/tty".to_owned(), &path_of_nothing()] {
            let answer = running.get(&format!("/?{odd}"));
            let is_right =
                if is_asgi { answer.starts_with("HTTP/1.1 500 ") } else { content(&answer) == "not sent as a file" };
            assert!(is_right, "{:?} {odd}: {answer}", application.0);
        }
        assert_eq!(content(&running.get(&format!("/?{file}"))), "content of a file", "{:?}", application.0);
        let empty = running.get(&format!("/?{empty}"));
        assert!(empty.starts_with("HTTP/1.1 200 "), "{:?}: {empty}", application.0);
    }
}

/// Files that the kernel makes up say that they are empty, and are not.
#[test]
fn files_of_proc_are_read_by_the_worker_itself() {
    requires!("ruby:rack", "program:perl", "program:/usr/bin/python3");
    for application in APPLICATIONS {
        let running = Running::new(alone(application));
        let answer = content(&running.get("/?/proc/self/status"));
        let is_right = if application.0 == Interface::Asgi {
            answer.contains("Name:") && answer.contains("PPid:")
        } else {
            answer == "not sent as a file"
        };
        assert!(is_right, "{:?}: {answer}", application.0);
        assert!(!answer.contains(&format!("Pid:\t{}\n", std::process::id())), "{:?}: the server's own", application.0);
    }
}

fn path_of_nothing() -> String {
    "/nonexistent/file".to_owned()
}
