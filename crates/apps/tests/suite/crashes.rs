//! Requests that crash workers, as bugs in extensions, `exit` and the kernel's OOM killer do.

use std::{fs, num::NonZero, thread, time::Duration};

use crate::support::{Answering, Running, content, settings, wait_until};
use serow_apps::{Application, ApplicationSettings, Interface};
use serow_requirements::requires;
use tempfile::TempDir;

/// Writes down each call, and how many other workers take requests then. `/poison` ends the worker; `/wait` takes a
/// moment.
const CODE: &str = r##"
run ->(env) do
  path = env['PATH_INFO']
  File.write('calls', "#{path}\n", mode: 'a')
  exit!(9) if path.start_with?('/poison')
  sleep 0.2 if path == '/wait'
  [200, {}, [path]]
end
"##;

fn workers(count: usize) -> (ApplicationSettings, TempDir) {
    let (mut settings, folder) = settings(Interface::Rack, "config.ru", CODE);
    settings.run.processes = NonZero::new(count).unwrap();
    (settings, folder)
}

fn calls(running: &Running, path: &str) -> usize {
    let calls = fs::read_to_string(running.folder.path().join("calls")).unwrap_or_default();
    calls.lines().filter(|line| *line == path).count()
}

#[test]
fn a_get_that_crashes_workers_takes_two_the_first_time_and_one_from_then_on() {
    requires!("ruby:rack");
    let running = Running::new(workers(4));
    for expected in [2, 3, 4] {
        assert!(running.get("/poison").starts_with("HTTP/1.1 502 "));
        assert_eq!(calls(&running, "/poison"), expected);
    }
    // Another one is another one.
    assert!(running.get("/poison/other").starts_with("HTTP/1.1 502 "));
    assert_eq!(calls(&running, "/poison/other"), 2);
    assert!(running.post("/poison", b"").starts_with("HTTP/1.1 502 "));
    assert_eq!(calls(&running, "/poison"), 5);
    assert_eq!(content(&running.get("/well")), "/well");
}

#[test]
fn the_only_worker_is_crashed_once() {
    requires!("ruby:rack");
    let running = Running::new(workers(1));
    assert!(running.get("/poison").starts_with("HTTP/1.1 502 "));
    assert_eq!(calls(&running, "/poison"), 1);
    assert_eq!(content(&running.get("/well")), "/well");
}

/// With two workers, of which one needs seconds to start again.
#[test]
fn crashing_requests_do_not_reach_the_last_worker() {
    requires!("ruby:rack");
    let (mut settings, folder) = workers(2);
    let slow_start = "sleep 2 if File.exist?('started-2') && !File.write('started-3', '')\n\
        File.exist?('started-1') ? (File.write('started-2', ''); sleep 2 if File.exist?('crashed')) : File.write('started-1', '')\n";
    fs::write(
        folder.path().join("config.ru"),
        format!("{slow_start}{}", CODE.replace("exit!(9)", "(File.write('crashed', ''); exit!(9))")),
    )
    .unwrap();
    settings.run.queue.timeout = Duration::from_secs(20);
    let running = Running::new((settings, folder));
    thread::scope(|scope| {
        let poison = scope.spawn(|| running.get("/poison"));
        wait_until("the request has reached a worker", || calls(&running, "/poison") > 0);
        // One worker is left, for as long as the other one starts.
        for _ in 0..50 {
            assert_eq!(content(&running.get("/well")), "/well");
        }
        assert_eq!(calls(&running, "/poison"), 1, "while there is one worker only");
        assert!(poison.join().unwrap().starts_with("HTTP/1.1 502 "));
        assert_eq!(calls(&running, "/poison"), 2);
    });
}

/// A request whose worker was killed is not to blame if it succeeds elsewhere.
#[test]
fn requests_whose_worker_was_killed_are_answered_by_another_again_and_again() {
    requires!("ruby:rack");
    let (settings, folder) = workers(3);
    let victim = "run ->(env) do\n  first = \"#{env['QUERY_STRING']}.seen\"\n  \
        (File.write(first, ''); Process.kill(:KILL, $$); sleep 5) unless File.exist?(first)\n  [200, {}, ['well']]\nend\n";
    fs::write(folder.path().join("config.ru"), victim).unwrap();
    let running = Running::new((settings, folder));
    for _ in 0..5 {
        assert_eq!(content(&running.get("/?same")), "well");
        fs::remove_file(running.folder.path().join("same.seen")).unwrap();
    }
}

#[test]
fn a_held_request_is_given_up_when_it_has_waited_for_too_long() {
    requires!("ruby:rack");
    let (mut settings, folder) = workers(2);
    // Nothing starts again.
    let code = format!("exit!(1) if File.exist?('calls')\n{CODE}");
    fs::write(folder.path().join("config.ru"), code).unwrap();
    settings.run.queue.timeout = Duration::from_secs(1);
    let application = Application::new(settings, 1);
    let _workers = application.run().unwrap();
    let answering = Answering::new(application.handler());
    let answer = answering.get("/poison");
    assert!(answer.starts_with("HTTP/1.1 503 "), "{answer}");
    assert_eq!(content(&answering.get("/well")), "/well");
    drop(answering);
    drop(folder);
}
