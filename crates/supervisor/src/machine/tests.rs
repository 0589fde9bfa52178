//! Courses of events at made-up times, and what the machine does about each.

use super::*;
use crate::scenario;

/// A scenario: settings, then lines `MILLISECONDS EVENT` with, indented below, what is done. Spawned workers have the
/// process ids 101, 102 and so on.
fn check(settings: MachineSettings, rules: Rules, scenario: &str) {
    let mut machine = Machine::new(settings, rules);
    let mut pids = 101..;
    scenario::check(scenario, |now, event| {
        match event {
            // A file changed.
            "auto off" => machine.set_rules(Rules { auto_restart: None, ..rules }),
            event => machine.handle(now, read(event)),
        }
        let mut done = Vec::new();
        while let Some(action) = machine.poll_action() {
            done.push(written(&action));
            if let Action::Spawn(generation) = action {
                machine.handle(now, Event::Spawned { generation, pid: pids.next().unwrap() });
            }
        }
        (done, machine.deadline())
    });
}

fn read(text: &str) -> Event {
    let words: Vec<_> = text.split(' ').collect();
    match words[..] {
        ["tick"] => Event::Tick,
        ["HUP"] => Event::Hangup,
        ["TERM"] => Event::Stop("TERM"),
        ["INT"] => Event::Stop("INT"),
        ["ready", pid] => Event::Notified(pid.parse().unwrap()),
        ["healthy", pid] => Event::Healthy(pid.parse().unwrap()),
        ["exit", pid, status] => Event::Exited(pid.parse().unwrap(), status.parse().unwrap()),
        _ => panic!("{text}"),
    }
}

fn written(action: &Action) -> String {
    match action {
        Action::Spawn(generation) => format!("spawn {generation}"),
        Action::Kill(signal, pids) => format!("kill {signal} {pids:?}"),
        Action::Log(line) => format!("log {line}"),
        Action::WriteStatus(workers) => format!("status {workers:?}"),
        Action::WriteFailure(generation, status) => format!("failure {generation}:{status}"),
        Action::Ready => "all up".to_owned(),
        Action::Exit => "end".to_owned(),
    }
}

fn settings() -> MachineSettings {
    MachineSettings {
        workers: 1,
        interval: Duration::from_secs(1),
        readiness: Readiness::Interval,
        signal_on_hup: "USR1".to_owned(),
        signal_on_term: "TERM".to_owned(),
    }
}

fn rules(auto: Option<u64>, delay: u64) -> Rules {
    Rules { auto_restart: auto.map(Duration::from_secs), kill_old_delay: Duration::from_secs(delay) }
}

#[test]
fn a_worker_is_replaced_and_ended() {
    let scenario = "
        0 tick
            spawn 1
            log starting new worker 101
            until 1000
        999 tick
            until 1000
        1000 tick
            status [(1, 101)]
            all up
            until something happens
        5000 HUP
            log received HUP, spawning a new worker
            spawn 2
            log starting new worker 102
            until 6000
        6000 tick
            status [(1, 101), (2, 102)]
            all up
            log new worker is now running, sending USR1 to old workers:101
            log killing old workers
            kill USR1 [101]
            until something happens
        6500 exit 101 0
            log old worker 101 died, status:0
            status [(2, 102)]
            until something happens
        7000 TERM
            log received TERM, sending TERM to all workers:102
            kill TERM [102]
            until something happens
        7001 HUP
            until something happens
        7999 TERM
            until something happens
        8000 INT
            log received INT again, sending KILL to all workers:102
            kill KILL [102]
            until something happens
        8100 exit 102 9
            log worker 102 died, status:9
            status []
            log exiting
            end
            until something happens
        ";
    check(settings(), rules(None, 0), scenario);
}

#[test]
fn a_start_that_fails_is_repeated_at_the_interval() {
    let scenario = "
        0 tick
            spawn 1
            log starting new worker 101
            until 1000
        10 exit 101 256
            log new worker 101 seems to have failed to start, exit status:256
            failure 1:256
            until 1000
        1000 tick
            spawn 2
            log starting new worker 102
            until 2000
        2000 tick
            status [(2, 102)]
            all up
            until something happens
        3000 HUP
            log received HUP, spawning a new worker
            spawn 3
            log starting new worker 103
            until 4000
        3001 exit 103 256
            log new worker 103 seems to have failed to start, exit status:256
            failure 3:256
            until 4000
        3500 HUP
            until 4000
        3600 exit 102 9
            log old worker 102 died, status:9
            status []
            until 4000
        4000 tick
            spawn 4
            log starting new worker 104
            until 5000
        5000 tick
            status [(4, 104)]
            all up
            log received HUP, spawning a new worker
            spawn 5
            log starting new worker 105
            until 6000
        5500 INT
            log received INT, sending TERM to all workers:104,105
            kill TERM [104, 105]
            until something happens
        ";
    check(settings(), rules(None, 0), scenario);
}

#[test]
fn a_worker_that_dies_is_started_again_at_most_each_interval() {
    let scenario = "
        0 tick
            spawn 1
            log starting new worker 101
            until 1000
        100 ready 101
            status [(1, 101)]
            all up
            until something happens
        200 exit 101 11
            log worker 101 died unexpectedly with status:11, restarting
            until 1000
        1000 tick
            spawn 2
            log starting new worker 102
            until 2000
        2000 tick
            status [(2, 102)]
            all up
            until something happens
        9000 exit 102 11
            log worker 102 died unexpectedly with status:11, restarting
            spawn 3
            log starting new worker 103
            until 10000
        9100 exit 55 0
            until 10000
        9200 TERM
            log received TERM, sending TERM to all workers:103
            kill TERM [103]
            until something happens
        ";
    check(settings(), rules(None, 0), scenario);
}

#[test]
fn old_workers_go_on_for_a_while_and_until_others_are_up() {
    let scenario = "
        0 tick
            spawn 1
            log starting new worker 101
            until 1000
        1000 tick
            status [(1, 101)]
            all up
            until something happens
        2000 HUP
            log received HUP, spawning a new worker
            spawn 2
            log starting new worker 102
            until 3000
        2100 ready 102
            status [(1, 101), (2, 102)]
            all up
            log new worker is now running, sending USR1 to old workers:101
            log sleeping 3 secs before killing old workers
            until 5100
        4000 exit 102 139
            log worker 102 died unexpectedly with status:139, restarting
            spawn 3
            log starting new worker 103
            until 5000
        4001 HUP
            until 5000
        5000 tick
            status [(1, 101), (3, 103)]
            all up
            log new worker is now running, sending USR1 to old workers:101
            log sleeping 3 secs before killing old workers
            until 8000
        8000 tick
            log killing old workers
            kill USR1 [101]
            log received HUP, spawning a new worker
            spawn 4
            log starting new worker 104
            until 9000
        9000 tick
            status [(1, 101), (3, 103), (4, 104)]
            all up
            log new worker is now running, sending USR1 to old workers:101,103
            log sleeping 3 secs before killing old workers
            until 12000
        10000 TERM
            log received TERM, sending TERM to all workers:101,103,104
            kill TERM [101, 103, 104]
            until something happens
        ";
    check(settings(), rules(None, 3), scenario);
}

#[test]
fn generations_are_replaced_by_time() {
    let scenario = "
        0 tick
            spawn 1
            log starting new worker 101
            until 1000
        1000 tick
            status [(1, 101)]
            all up
            until 7000
        6999 tick
            until 7000
        7000 tick
            log autorestart triggered (interval=6)
            spawn 2
            log starting new worker 102
            until 8000
        8000 tick
            status [(1, 101), (2, 102)]
            all up
            log new worker is now running, sending USR1 to old workers:101
            log killing old workers
            kill USR1 [101]
            until 20000
        14000 tick
            until 20000
        20000 tick
            log autorestart triggered (forced, interval=6)
            spawn 3
            log starting new worker 103
            until 21000
        20500 exit 101 0
            log old worker 101 died, status:0
            status [(2, 102)]
            until 21000
        21000 tick
            status [(2, 102), (3, 103)]
            all up
            log new worker is now running, sending USR1 to old workers:102
            log killing old workers
            kill USR1 [102]
            until 33000
        22000 exit 102 0
            log old worker 102 died, status:0
            status [(3, 103)]
            until 27000
        23000 auto off
            until something happens
        30000 tick
            until something happens
        ";
    check(settings(), rules(Some(6), 0), scenario);
}

#[test]
fn a_worker_that_has_to_answer_is_not_up_before() {
    let scenario = "
        0 tick
            spawn 1
            log starting new worker 101
            until 30000
        1000 ready 101
            until 30000
        5000 healthy 101
            status [(1, 101)]
            all up
            until something happens
        6000 HUP
            log received HUP, spawning a new worker
            spawn 2
            log starting new worker 102
            until 36000
        36000 tick
            log new worker 102 is not healthy after 30 secs, sending KILL
            kill KILL [102]
            until something happens
        36001 healthy 102
            until something happens
        36002 exit 102 9
            log new worker 102 seems to have failed to start, exit status:9
            failure 2:9
            until 36002
        36002 tick
            spawn 3
            log starting new worker 103
            until 66002
        36100 healthy 103
            status [(1, 101), (3, 103)]
            all up
            log new worker is now running, sending USR1 to old workers:101
            log killing old workers
            kill USR1 [101]
            until something happens
        ";
    let readiness = Readiness::Health(Duration::from_secs(30));
    check(MachineSettings { readiness, ..settings() }, rules(None, 0), scenario);
}

#[test]
fn several_workers_are_replaced_together_and_started_again_alone() {
    let scenario = "
        0 tick
            spawn 1
            spawn 1
            log starting new worker 101
            log starting new worker 102
            until 1000
        500 exit 102 256
            log new worker 102 seems to have failed to start, exit status:256
            failure 1:256
            until 1000
        1000 tick
            spawn 2
            log starting new worker 103
            until 2000
        2000 tick
            status [(1, 101), (2, 103)]
            all up
            until something happens
        3000 exit 101 0
            log worker 101 died unexpectedly with status:0, restarting
            spawn 3
            log starting new worker 104
            until 4000
        3100 exit 103 0
            log worker 103 died unexpectedly with status:0, restarting
            spawn 4
            log starting new worker 105
            until 4000
        4100 tick
            status [(3, 104), (4, 105)]
            all up
            until something happens
        5000 HUP
            log received HUP, spawning a new worker
            spawn 5
            spawn 5
            log starting new worker 106
            log starting new worker 107
            until 6000
        6000 tick
            status [(3, 104), (4, 105), (5, 106), (5, 107)]
            all up
            log new worker is now running, sending USR1 to old workers:104,105
            log killing old workers
            kill USR1 [104, 105]
            until something happens
        ";
    check(MachineSettings { workers: 2, ..settings() }, rules(None, 0), scenario);
}

#[test]
fn a_worker_that_cannot_be_spawned_is_tried_again() {
    let mut machine = Machine::new(settings(), rules(None, 0));
    machine.handle(Duration::ZERO, Event::Tick);
    assert_eq!(machine.poll_action(), Some(Action::Spawn(1)));
    machine.handle(Duration::ZERO, Event::NotSpawned("no memory".to_owned()));
    assert_eq!(machine.poll_action(), Some(Action::Log("cannot start a new worker: no memory".to_owned())));
    assert_eq!(machine.deadline(), Some(Duration::from_secs(1)));
    machine.handle(Duration::from_millis(500), Event::Stop("TERM"));
    let nobody = "received TERM, sending TERM to all workers:none".to_owned();
    let actions: Vec<_> = std::iter::from_fn(|| machine.poll_action()).collect();
    assert_eq!(actions, [Action::Log(nobody), Action::Log("exiting".to_owned()), Action::Exit]);
}

#[test]
fn without_an_interval_failures_are_still_spaced() {
    let scenario = "
        0 tick
            spawn 1
            log starting new worker 101
            until 0
        1 exit 101 0
            log new worker 101 seems to have failed to start, exit status:0
            failure 1:0
            until 100
        ";
    check(MachineSettings { interval: Duration::ZERO, ..settings() }, rules(None, 0), scenario);
}

#[test]
fn the_status_is_sorted_as_text() {
    let mut machine = Machine::new(settings(), rules(None, 0));
    machine.old = [(2, 7), (9, 8)].map(|(generation, pid)| worker(generation, pid)).into();
    machine.current = vec![worker(10, 11)];
    machine.write_status();
    assert_eq!(machine.poll_action(), Some(Action::WriteStatus(vec![(10, 11), (2, 7), (9, 8)])));
}

fn worker(generation: u64, pid: u32) -> Worker {
    Worker { generation, pid, since: Duration::ZERO, told_to_end: false }
}
