//! Reloads whose settings the serving generation adopts, or not.

use super::*;

/// One serves that adopts.
const SERVING: &str = "
        0 begin
            spawn 1 File
            until 60000
        20 ready 101 adopts
            serving 1 101
            alone 1 101
            until something happens
        ";

/// It is asked for an adoption.
const ADOPTING: &str = "
        100 reload 7
            adopt 1 101
            until 2100
        ";

fn check_all(beginning: &str, endings: &[&str]) {
    endings.iter().for_each(|rest| check(&format!("{beginning}{rest}")));
}

#[test]
fn settings_are_adopted_one_file_after_the_other() {
    check(&format!(
        "{SERVING}{ADOPTING}
        110 reload 8
            until 2100
        111 reload
            until 2100
        120 adopted 101 1
            adopted 1 101
            answer 7: generation 1, the same process
            adopt 2 101
            until 2120
        130 adopted 101 2
            adopted 1 101
            answer 8: generation 1, the same process
            until something happens
        200 reload
            adopt 3 101
            until 2200
        210 refused 101 3 line 3: no
            not adopted: line 3: no
            until something happens
        220 reload 9
            adopt 4 101
            until 2220
        230 refused 101 4 line 3: no
            not adopted: line 3: no
            answer 9: line 3: no
            until something happens
        "
    ));
}

#[test]
fn settings_that_need_a_process_get_one_for_all_requests() {
    check(&format!(
        "{SERVING}{ADOPTING}
        110 reload 8
            until 2100
        120 needs 101 1 workers
            needs process: workers
            spawn 2 File
            until 60120
        130 reload 9
            until 60120
        140 ready 102 adopts
            serving 2 102
            leave 101 Replaced
            until 5140
        145 stopped accepting 101
            alone 2 102
            answer 7: generation 2, new: workers
            answer 8: generation 2, new: workers
            adopt 2 102
            until 2145
        150 adopted 102 2
            adopted 2 102
            answer 9: generation 2, the same process
            until 3605140
        "
    ));
}

#[test]
fn a_process_that_starts_in_place_of_an_adoption_may_fail() {
    check(&format!(
        "{SERVING}{ADOPTING}
        120 needs 101 1 workers
            needs process: workers
            spawn 2 File
            until 60120
        130 failed 102 no
            until something happens
        131 exit 102 status 1
            not started 2: no
            answer 7: no
            until something happens
        "
    ));
}

#[test]
fn a_new_process_starts_without_an_adoption_where_it_is_requested() {
    check(&format!(
        "{SERVING}
        100 reload 7 new
            reloading
            spawn 2 File
            until 60100
        120 ready 102 adopts
            serving 2 102
            leave 101 Replaced
            until 5120
        125 stopped accepting 101
            alone 2 102
            answer 7: generation 2
            until 3605120
        130 reload 8
            adopt 1 102
            until 2130
        131 reload 9
            until 2130
        132 reload 10 new
            until 2130
        133 reload 11
            until 2130
        140 adopted 102 1
            adopted 2 102
            answer 8: generation 2, the same process
            reloading
            spawn 3 File
            until 60140
        150 ready 103
            serving 3 103
            leave 102 Replaced
            until 5150
        155 stopped accepting 102
            alone 3 103
            answer 9: generation 3
            answer 10: generation 3
            answer 11: generation 3
            until 3605120
        160 reload 12
            reloading
            spawn 4 File
            until 60160
        "
    ));
}

#[test]
fn a_new_process_takes_the_place_of_one_that_does_not_answer() {
    check_all(
        &format!("{SERVING}{ADOPTING}"),
        &[
            // It hangs before it has begun.
            "2100 tick
            needs process: the serving process has not answered
            spawn 2 File
            until 62100
        ",
            // It hangs when it has; its answer comes too late.
            "110 begins 101 7
            until 2100
        111 begins 101 1
            until 30100
        30100 tick
            needs process: the serving process has not answered
            spawn 2 File
            until 90100
        30110 adopted 101 1
            until 90100
        30120 ready 102 adopts
            serving 2 102
            leave 101 Replaced
            until 35120
        30121 refused 101 1 no
            until 35120
        30130 stopped accepting 101
            alone 2 102
            answer 7: generation 2, new: the serving process has not answered
            until 3635120
        ",
            // It crashes.
            "110 reload 8
            until 2100
        120 exit 101 signal 11
            crashed 1 101: signal 11
            needs process: the process that served has crashed
            spawn 2 File
            until 60120
        130 ready 102 adopts
            serving 2 102
            alone 2 102
            answer 7: generation 2, new: the process that served has crashed
            answer 8: generation 2, new: the process that served has crashed
            until something happens
        ",
            // It crashes because of the settings, and so does the next one.
            "120 exit 101 signal 11
            crashed 1 101: signal 11
            needs process: the process that served has crashed
            spawn 2 File
            until 60120
        130 exit 102 signal 11
            not started 2: it ended before it was ready: signal 11
            answer 7: it ended before it was ready: signal 11
            until 230
        230 tick
            spawn 3 Accepted
            until 60230
        ",
        ],
    );
}

#[test]
fn answers_to_what_was_not_asked_change_nothing() {
    check(&format!(
        "{SERVING}
        50 adopted 101 0
            until something happens
        50 needs 101 0 forged
            until something happens
        {ADOPTING}
        110 adopted 102 1
            until 2100
        110 adopted 101 2
            until 2100
        110 refused 102 1 forged
            until 2100
        110 needs 101 2 forged
            until 2100
        120 adopted 101 1
            adopted 1 101
            answer 7: generation 1, the same process
            until something happens
        130 adopted 101 1
            until something happens
        "
    ));
}

#[test]
fn a_stop_ends_an_adoption() {
    check(&format!(
        "{SERVING}{ADOPTING}
        110 reload 8
            until 2100
        120 stop
            close
            answer 7: the server is stopping
            answer 8: the server is stopping
            leave 101 Stopped
            until 35120
        125 adopted 101 1
            until 35120
        130 exit 101 status 0
            left 1 101: exit status 0
            exit
            until something happens
        "
    ));
}

#[test]
fn an_adoption_waits_until_no_generation_before_accepts_connections() {
    let reloading = format!(
        "{SERVING}
        100 reload 7 new
            reloading
            spawn 2 File
            until 60100
        110 reload 8
            until 60100
        120 ready 102 adopts
            serving 2 102
            leave 101 Replaced
            until 5120
        "
    );
    check_all(
        &reloading,
        &[
            "5120 tick
            still accepts 1 101
            alone 2 102
            answer 7: generation 2, 1 still accepts
            adopt 1 102
            until 7120
        ",
            "130 exit 102 signal 11
            crashed 2 102: signal 11
            reloading
            spawn 3 File
            until 5120
        ",
            "130 reload 9 new
            reloading
            spawn 3 File
            until 5120
        ",
        ],
    );
}
