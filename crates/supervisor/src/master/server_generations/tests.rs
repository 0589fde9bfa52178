//! Courses of events, and what follows from each.

mod adoption;
mod random_events;

use super::*;
use crate::{
    master::{control::WantedProcess, event::NotAdopted},
    scenario,
};

/// Lines `MILLISECONDS EVENT`, with what is done indented below. Processes have the ids 101, 102 and so on.
fn check(scenario: &str) {
    let mut generations = ServerGenerations::begin(Duration::ZERO);
    let mut pids = 101..;
    scenario::check(scenario, |now, event| {
        if event != "begin" {
            generations.handle(now, read(event));
        }
        let mut done = Vec::new();
        while let Some(action) = generations.poll_action() {
            done.push(written(&action));
            if matches!(action, Action::Spawn(..)) {
                generations.handle(now, Event::Spawned(pids.next().unwrap()));
            }
        }
        (done, generations.deadline())
    });
}

fn read(text: &str) -> Event {
    let pid = |text: &str| text.parse().unwrap();
    let timeouts = StopTimeouts { replaced: Duration::from_secs(3600), stopped: Duration::from_secs(30) };
    let words: Vec<_> = text.splitn(3, ' ').collect();
    match words[..] {
        ["tick"] => Event::Tick,
        ["reload"] => Event::Reload { asking: None, process: WantedProcess::IfNeeded },
        ["reload", id] => Event::Reload { asking: Some(id.parse().unwrap()), process: WantedProcess::IfNeeded },
        ["reload", id, "new"] => Event::Reload { asking: Some(id.parse().unwrap()), process: WantedProcess::New },
        ["begins", id, number] => Event::BeginsToAdopt(pid(id), number.parse().unwrap()),
        ["adopted", id, number] => Event::Adopted(pid(id), number.parse().unwrap()),
        ["needs" | "refused", id, rest] => {
            let (number, reason) = rest.split_once(' ').unwrap();
            let obstacle = if words[0] == "needs" { NotAdopted::NeedsProcess } else { NotAdopted::Refused };
            Event::NotAdopted(pid(id), number.parse().unwrap(), obstacle(reason.to_owned()))
        }
        ["stop"] => Event::Stop,
        ["ready", id] => Event::Ready { pid: pid(id), timeouts, adopts: false },
        ["ready", id, "adopts"] => Event::Ready { pid: pid(id), timeouts, adopts: true },
        ["stopped", "accepting", id] => Event::StoppedAccepting(pid(id)),
        ["failed", id, reason] => Event::Failed(pid(id), reason.to_owned()),
        ["exit", id, how] => Event::Exited(pid(id), ending(how)),
        _ => panic!("{text}"),
    }
}

fn ending(text: &str) -> Ending {
    match text.split_once(' ') {
        Some(("status", "0")) => Ending::Done,
        Some(("status", code)) => Ending::Status(code.parse().unwrap()),
        Some(("signal", signal)) => Ending::Signal(signal.parse().unwrap()),
        _ => panic!("{text}"),
    }
}

fn written(action: &Action) -> String {
    match action {
        Action::Spawn(number, source) => format!("spawn {number} {source:?}"),
        Action::Serving(number, pid) => format!("serving {number} {pid}"),
        Action::Leave(pid, way) => format!("leave {pid} {way:?}"),
        Action::Kill(pid) => format!("kill {pid}"),
        Action::Left(number, pid, how) => format!("left {number} {pid}: {how}"),
        Action::Crashed(number, pid, how) => format!("crashed {number} {pid}: {how}"),
        Action::NotStarted(number, failure) => format!("not started {number}: {failure}"),
        Action::Alone(number, pid) => format!("alone {number} {pid}"),
        Action::StillAccepts(number, pid) => format!("still accepts {number} {pid}"),
        Action::Answer(id, Ok(Reloaded { number, process, still_accepts })) => {
            let process = match process {
                ProcessOfReload::Same => ", the same process".to_owned(),
                ProcessOfReload::New { reason } => {
                    reason.as_ref().map_or_else(String::new, |why| format!(", new: {why}"))
                }
            };
            let before = still_accepts.map_or_else(String::new, |before| format!(", {before} still accepts"));
            format!("answer {id}: generation {number}{process}{before}")
        }
        Action::Answer(id, Err(failure)) => format!("answer {id}: {failure}"),
        Action::Adopt(number, pid) => format!("adopt {number} {pid}"),
        Action::Adopted(number, pid) => format!("adopted {number} {pid}"),
        Action::NeedsProcess(reason) => format!("needs process: {reason}"),
        Action::NotAdopted(reason) => format!("not adopted: {reason}"),
        Action::Reloading => "reloading".to_owned(),
        Action::Close => "close".to_owned(),
        Action::Exit => "exit".to_owned(),
    }
}

#[test]
fn a_reload_replaces_the_generation() {
    check(
        "
        0 begin
            spawn 1 File
            until 60000
        20 ready 101
            serving 1 101
            alone 1 101
            until something happens
        5000 reload 7
            reloading
            spawn 2 File
            until 65000
        5001 reload 8
            until 65000
        5002 reload
            until 65000
        5020 ready 102
            serving 2 102
            leave 101 Replaced
            reloading
            spawn 3 File
            until 10020
        5022 stopped accepting 101
            alone 2 102
            answer 7: generation 2
            until 65020
        5040 ready 103
            serving 3 103
            leave 102 Replaced
            until 10040
        5042 stopped accepting 102
            alone 3 103
            answer 8: generation 3
            until 3610020
        6000 exit 101 status 0
            left 1 101: exit status 0
            until 3610040
        3610040 tick
            kill 102
            until something happens
        3610041 exit 102 signal 9
            left 2 102: signal 9
            until something happens
        ",
    );
}

/// A reload whose generation serves; the one before has not stopped accepting connections.
const RELOADING: &str = "
        0 begin
            spawn 1 File
            until 60000
        20 ready 101
            serving 1 101
            alone 1 101
            until something happens
        100 reload 7
            reloading
            spawn 2 File
            until 60100
        120 ready 102
            serving 2 102
            leave 101 Replaced
            until 5120
        ";

/// How it may go on.
const RELOADS: [&str; 5] = [
    // The generation before hangs.
    "5120 tick
            still accepts 1 101
            alone 2 102
            answer 7: generation 2, 1 still accepts
            until 3605120
        6000 stopped accepting 101
            until 3605120
        ",
    // It ends first.
    "130 exit 101 signal 9
            left 1 101: signal 9
            alone 2 102
            answer 7: generation 2
            until something happens
        ",
    // Another reload is faster.
    "130 reload 8
            reloading
            spawn 3 File
            until 5120
        140 ready 103
            serving 3 103
            leave 102 Replaced
            until 5120
        150 stopped accepting 102
            until 5120
        150 stopped accepting 103
            until 5120
        160 stopped accepting 101
            alone 3 103
            answer 7: generation 2
            answer 8: generation 3
            until 3605120
        ",
    // The new one crashes meanwhile.
    "130 exit 102 signal 11
            crashed 2 102: signal 11
            spawn 3 Accepted
            until 5120
        140 stopped accepting 101
            answer 7: generation 2
            until 60130
        150 ready 103
            serving 3 103
            alone 3 103
            until 3605120
        ",
    // The server stops.
    "130 stop
            close
            leave 101 Stopped
            leave 102 Stopped
            answer 7: generation 2
            until 35130
        ",
];

#[test]
fn a_reload_is_done_when_no_generation_before_accepts_connections() {
    for rest in RELOADS {
        check(&format!("{RELOADING}{rest}"));
    }
}

#[test]
fn a_generation_that_cannot_start_changes_nothing() {
    check(
        "
        0 begin
            spawn 1 File
            until 60000
        20 ready 101
            serving 1 101
            alone 1 101
            until something happens
        100 reload 7
            reloading
            spawn 2 File
            until 60100
        110 failed 102 line 3: no
            until something happens
        111 exit 102 status 1
            not started 2: line 3: no
            answer 7: line 3: no
            until something happens
        200 reload 8
            reloading
            spawn 3 File
            until 60200
        60200 tick
            kill 103
            until something happens
        60201 exit 103 signal 9
            not started 3: it was not ready after 60 s, and was killed
            answer 8: it was not ready after 60 s, and was killed
            until something happens
        ",
    );
}

#[test]
fn the_first_has_to_start() {
    check(
        "
        0 begin
            spawn 1 File
            until 60000
        10 failed 101 line 3: no
            until something happens
        11 exit 101 status 1
            not started 1: line 3: no
            exit
            until something happens
        ",
    );
}

#[test]
fn a_crash_is_mended_at_once_and_then_more_slowly() {
    check(
        "
        0 begin
            spawn 1 File
            until 60000
        20 ready 101
            serving 1 101
            alone 1 101
            until something happens
        20020 exit 101 signal 9
            crashed 1 101: signal 9
            spawn 2 Accepted
            until 80020
        20030 exit 102 signal 11
            not started 2: it ended before it was ready: signal 11
            until 20130
        20130 tick
            spawn 3 Accepted
            until 80130
        20140 exit 103 signal 11
            not started 3: it ended before it was ready: signal 11
            until 20340
        20340 tick
            spawn 4 Accepted
            until 80340
        20350 ready 104
            serving 4 104
            alone 4 104
            until something happens
        30350 exit 104 signal 11
            crashed 4 104: signal 11
            spawn 5 Accepted
            until 90350
        ",
    );
}

#[test]
fn a_crash_while_another_one_starts() {
    check(
        "
        0 begin
            spawn 1 File
            until 60000
        20 ready 101
            serving 1 101
            alone 1 101
            until something happens
        100 reload 7
            reloading
            spawn 2 File
            until 60100
        110 exit 101 signal 11
            crashed 1 101: signal 11
            until 60100
        120 failed 102 no
            until something happens
        121 exit 102 status 1
            not started 2: no
            answer 7: no
            spawn 3 Accepted
            until 60121
        ",
    );
    check(
        "
        0 begin
            spawn 1 File
            until 60000
        20 ready 101
            serving 1 101
            alone 1 101
            until something happens
        100 reload 7
            reloading
            spawn 2 File
            until 60100
        110 exit 101 signal 11
            crashed 1 101: signal 11
            until 60100
        120 ready 102
            serving 2 102
            alone 2 102
            answer 7: generation 2
            until something happens
        ",
    );
}

#[test]
fn the_end() {
    check(
        "
        0 begin
            spawn 1 File
            until 60000
        20 ready 101
            serving 1 101
            alone 1 101
            until something happens
        100 reload
            reloading
            spawn 2 File
            until 60100
        120 ready 102
            serving 2 102
            leave 101 Replaced
            until 5120
        125 stopped accepting 101
            alone 2 102
            until 3605120
        130 reload 9
            reloading
            spawn 3 File
            until 60130
        140 stop
            close
            kill 103
            leave 101 Stopped
            leave 102 Stopped
            until 35140
        150 exit 103 signal 9
            answer 9: the server is stopping
            until 35140
        160 reload 10
            answer 10: the server is stopping
            until 35140
        200 stop
            leave 101 AtOnce
            leave 102 AtOnce
            until 5200
        210 exit 101 status 0
            left 1 101: exit status 0
            until 5200
        5200 tick
            kill 102
            until something happens
        5210 exit 102 signal 9
            left 2 102: signal 9
            exit
            until something happens
        ",
    );
}

#[test]
fn a_reload_that_fails_while_nothing_serves() {
    check(
        "
        0 begin
            spawn 1 File
            until 60000
        20 ready 101
            serving 1 101
            alone 1 101
            until something happens
        100 exit 101 signal 11
            crashed 1 101: signal 11
            spawn 2 Accepted
            until 60100
        110 exit 102 signal 11
            not started 2: it ended before it was ready: signal 11
            until 210
        150 reload 7
            reloading
            spawn 3 File
            until 60150
        160 failed 103 no
            until something happens
        170 exit 103 status 1
            not started 3: no
            answer 7: no
            until 370
        370 tick
            spawn 4 Accepted
            until 60370
        ",
    );
}

#[test]
fn a_process_that_is_being_killed_is_not_ready() {
    check(
        "
        0 begin
            spawn 1 File
            until 60000
        20 ready 101
            serving 1 101
            alone 1 101
            until something happens
        100 reload 7
            reloading
            spawn 2 File
            until 60100
        60100 tick
            kill 102
            until something happens
        60100 ready 102
            until something happens
        60101 exit 102 signal 9
            not started 2: it was not ready after 60 s, and was killed
            answer 7: it was not ready after 60 s, and was killed
            until something happens
        60200 reload 8
            reloading
            spawn 3 File
            until 120200
        60210 stop
            close
            kill 103
            leave 101 Stopped
            until 95210
        60210 ready 103
            until 95210
        60211 exit 103 signal 9
            answer 8: the server is stopping
            until 95210
        ",
    );
}

#[test]
fn a_serving_generation_may_not_request_sockets() {
    let mut generations = ServerGenerations::begin(Duration::ZERO);
    let mut handle = |event| {
        generations.handle(Duration::ZERO, event);
        while generations.poll_action().is_some() {}
        generations.awaits(101)
    };
    assert!(handle(Event::Spawned(101)));
    let timeouts = StopTimeouts { replaced: Duration::ZERO, stopped: Duration::ZERO };
    assert!(!handle(Event::Ready { pid: 101, timeouts, adopts: true }));
    assert!(!handle(Event::Reload { asking: None, process: WantedProcess::IfNeeded }));
}
