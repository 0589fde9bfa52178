//! Workers of Ruby's applications that are forked from a warm worker.

use std::{collections::BTreeSet, env, fs, process::Command};

use crate::support::{Running, content, eventually, settings};
use serow_apps::Interface;
use serow_requirements::requires;

/// With its first request a worker fills a cache, some 30 MB of it. Answers with the process's number.
const CACHING: &str = r#"
cache = nil
run ->(env) do
  cache ||= Array.new(150_000) { |number| "what is kept under the number #{number}, whatever that may be: " + number.to_s * 10 }
  [200, {}, [Process.pid.to_s, ' ', (cache.object_id % 7 >= 0).to_s]]
end
"#;

fn run(code: &str, refork_after: &[u64]) -> Running {
    let (mut settings, folder) = settings(Interface::Rack, "config.ru", code);
    settings.preload = true;
    settings.refork_after = refork_after.to_vec();
    Running::new((settings, folder))
}

fn pid(running: &Running) -> u32 {
    content(&running.get("/")).split(' ').next().unwrap().parse().unwrap()
}

/// Sends requests until all workers but these have answered, and none of these; returns the others.
fn others(running: &Running, before: &BTreeSet<u32>) -> BTreeSet<u32> {
    eventually(|| {
        let now: BTreeSet<u32> = (0..4).map(|_| pid(running)).collect();
        if now.len() == 2 && now.is_disjoint(before) { Ok(now) } else { Err(format!("{before:?} {now:?}")) }
    })
}

/// The memory of these processes together in KiB, with shared pages counted once.
fn memory(processes: &BTreeSet<u32>) -> u64 {
    let proportional = |process: &u32| -> u64 {
        let text = fs::read_to_string(format!("/proc/{process}/smaps_rollup")).unwrap();
        let line = text.lines().find_map(|line| line.strip_prefix("Pss:")).unwrap();
        line.trim().trim_end_matches(" kB").parse().unwrap()
    };
    processes.iter().map(proportional).sum()
}

#[test]
fn reforked_workers_share_warm_memory() {
    requires!("ruby:rack");
    let running = run(CACHING, &[10, 1_000_000]);
    let first: BTreeSet<u32> = (0..6).map(|_| pid(&running)).collect();
    assert_eq!(first.len(), 2);
    let before = memory(&first);
    let later = others(&running, &first);
    let after = memory(&later);
    assert!(after * 3 < before * 2, "{before} kB before, {after} kB after");
    eventually(|| {
        let report = running.application.report();
        if (report.replaced, report.deaths) == (2, 0) { Ok(()) } else { Err(format!("{report:?}")) }
    });
    // Once, as the second number has it.
    (0..30).for_each(|_| assert!(later.contains(&pid(&running))));
}

#[test]
fn generations_follow_one_another_and_a_worker_that_dies_is_forked_from_the_last() {
    requires!("ruby:rack");
    let running = run("run ->(env) { [200, {}, [Process.pid.to_s]] }\n", &[5]);
    let mut seen: BTreeSet<u32> = (0..4).map(|_| pid(&running)).collect();
    for _ in 0..3 {
        let next = others(&running, &seen);
        seen.extend(next);
    }
    assert_eq!(running.application.report().deaths, 0);
    let killed = pid(&running);
    rustix::process::kill_process(
        rustix::process::Pid::from_raw(killed as i32).unwrap(),
        rustix::process::Signal::KILL,
    )
    .unwrap();
    others(&running, &BTreeSet::from([killed]));
}

#[test]
fn ended_template_processes_are_reaped_as_pid_1() {
    requires!("ruby:rack");
    // A process of its own, since it adopts all orphans: here also those of other tests.
    let mut command = Command::new(env::current_exe().unwrap());
    command.args(["--exact", "--ignored", "--nocapture", "rack_refork::template_processes_of_a_subreaper"]);
    let output = command.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && text.contains("test result: ok. 1 passed"),
        "{text}{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

#[test]
#[ignore = "the test above runs it, in a process of its own"]
fn template_processes_of_a_subreaper() {
    // As PID 1 of a container is.
    rustix::process::set_child_subreaper(Some(rustix::process::getpid())).unwrap();
    let running = run("run ->(env) { [200, {}, [\"#{Process.pid} #{Process.ppid}\"]] }\n", &[5, 1_000_000]);
    let first: BTreeSet<u32> = (0..4).map(|_| pid(&running)).collect();
    others(&running, &first);
    let answer = content(&running.get("/"));
    let template = format!("/proc/{}", answer.split(' ').nth(1).unwrap());
    assert!(fs::exists(&template).unwrap());
    drop(running);
    assert!(!fs::exists(&template).unwrap(), "{}", fs::read_to_string(format!("{template}/stat")).unwrap_or_default());
}

#[test]
fn fork_hooks_run_around_reforks() {
    requires!("ruby:rack");
    let (mut settings, folder) =
        settings(Interface::Rack, "config.ru", "run ->(env) { [200, {}, [Process.pid.to_s]] }\n");
    fs::create_dir(folder.path().join("config")).unwrap();
    let hooks = "note = ->(what) { File.write('forks', \"#{what} #{Process.pid}\\n\", mode: 'a') }\n\
                 before_fork { note.('before') }\nafter_fork { note.('after') }\n";
    fs::write(folder.path().join("config/serow.rb"), hooks).unwrap();
    (settings.preload, settings.refork_after) = (true, vec![5, 1_000_000]);
    let running = Running::new((settings, folder));
    let first: BTreeSet<u32> = (0..4).map(|_| pid(&running)).collect();
    let later = others(&running, &first);
    let notes = eventually(|| {
        let notes = fs::read_to_string(running.folder.path().join("forks")).unwrap();
        let of_first = |what: &str| {
            let is_of_first = |line: &&str| first.iter().any(|pid| **line == format!("{what} {pid}"));
            notes.lines().filter(is_of_first).count()
        };
        // The one that has forked has opened twice.
        if (of_first("before"), of_first("after")) == (1, 3) { Ok(notes) } else { Err(notes) }
    });
    assert!(later.iter().all(|pid| notes.contains(&format!("after {pid}\n"))), "{notes}");
}
