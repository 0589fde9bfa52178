//! Workers of Ruby's applications that are forked anew from one that is warm.
#![allow(clippy::unwrap_used, reason = "a test fails by it")]

mod support;

use std::{
    collections::BTreeSet,
    fs,
    time::{Duration, Instant},
};

use serow_apps::Interface;
use support::{Running, content, settings};

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

/// Asks until all workers but these answer, and none of these; which do.
fn others(running: &Running, before: &BTreeSet<u32>) -> BTreeSet<u32> {
    let deadline = Instant::now() + Duration::from_secs(20);
    loop {
        let now: BTreeSet<u32> = (0..4).map(|_| pid(running)).collect();
        if now.len() == 2 && now.is_disjoint(before) {
            return now;
        }
        assert!(Instant::now() < deadline, "{before:?} {now:?} {:?}", running.application.report());
    }
}

/// KiB of memory that these processes have together, what they share counted once.
fn memory(processes: &BTreeSet<u32>) -> u64 {
    let proportional = |process: &u32| -> u64 {
        let text = fs::read_to_string(format!("/proc/{process}/smaps_rollup")).unwrap();
        let line = text.lines().find_map(|line| line.strip_prefix("Pss:")).unwrap();
        line.trim().trim_end_matches(" kB").parse().unwrap()
    };
    processes.iter().map(proportional).sum()
}

#[test]
fn what_one_worker_has_warmed_up_is_shared_by_all() {
    let running = run(CACHING, &[10, 1_000_000]);
    let first: BTreeSet<u32> = (0..6).map(|_| pid(&running)).collect();
    assert_eq!(first.len(), 2);
    let before = memory(&first);
    let later = others(&running, &first);
    let after = memory(&later);
    assert!(after * 3 < before * 2, "{before} kB before, {after} kB after");
    let report = running.application.report();
    assert_eq!((report.replaced, report.deaths), (2, 0));
    // Once, as the second number has it.
    (0..30).for_each(|_| assert!(later.contains(&pid(&running))));
}

#[test]
fn generations_follow_one_another_and_a_worker_that_dies_is_forked_from_the_last() {
    let running = run("run ->(env) { [200, {}, [Process.pid.to_s]] }\n", &[5]);
    let mut seen: BTreeSet<u32> = (0..4).map(|_| pid(&running)).collect();
    for _ in 0..3 {
        let next = others(&running, &seen);
        seen.extend(next);
    }
    let report = running.application.report();
    assert_eq!((report.census.workers, report.deaths), (2, 0));
    let killed = pid(&running);
    rustix::process::kill_process(
        rustix::process::Pid::from_raw(killed as i32).unwrap(),
        rustix::process::Signal::KILL,
    )
    .unwrap();
    others(&running, &BTreeSet::from([killed]));
}

#[test]
fn what_is_open_is_closed_before_and_opened_again_behind() {
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
    let notes = fs::read_to_string(running.folder.path().join("forks")).unwrap();
    let of_first =
        |what: &str| notes.lines().filter(|line| first.iter().any(|pid| **line == format!("{what} {pid}"))).count();
    // The one that has forked has opened twice.
    assert_eq!((of_first("before"), of_first("after")), (1, 3), "{notes}");
    assert!(later.iter().all(|pid| notes.contains(&format!("after {pid}\n"))), "{notes}");
}
