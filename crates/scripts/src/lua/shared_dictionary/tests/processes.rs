//! Several processes with one dictionary: they lose nothing, and survive each other's end.

use std::{
    env,
    io::{BufRead, BufReader, stdin},
    os::fd::AsFd,
    process::{Child, Command, Stdio},
    time::Instant,
};

use super::*;

/// The dictionary in this file.
fn of_file(file: OwnedFd) -> Dictionary {
    Dictionary::new(Table::new(SharedMemory::of_file(file).unwrap()).unwrap())
}

/// Another process, which ends when this is dropped.
struct Other(Child);

impl Drop for Other {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Another process, which does this with the dictionary.
fn start(task: &str, file: &OwnedFd) -> Other {
    let name = "lua::shared_dictionary::tests::processes::in_another_process";
    let mut command = Command::new(env::current_exe().unwrap());
    command.args([name, "--exact", "--ignored", "--nocapture", "--test-threads=1"]).env(TASK, task);
    // Only descriptors of the other process are copied and closed: locks belong to processes.
    Other(command.stdin(Stdio::from(file.try_clone().unwrap())).stdout(Stdio::piped()).spawn().unwrap())
}

/// Waits until the process says that it has begun.
fn wait_for_begin(other: &mut Other) {
    let output = BufReader::new(other.0.stdout.as_mut().unwrap());
    assert!(output.lines().any(|line| line.unwrap().ends_with("begun")));
}

#[test]
#[ignore = "a process for the tests below"]
fn in_another_process() {
    let Ok(task) = env::var(TASK) else { return };
    let dictionary = of_file(stdin().as_fd().try_clone_to_owned().unwrap());
    if task == "hold" {
        assert!(dictionary.inner.lock().unwrap().table.memory().try_lock().unwrap());
    }
    println!("begun");
    match &*task {
        "add" => add(&dictionary),
        "change" => change(&dictionary),
        "hold" => loop {
            thread::park();
        },
        _ => unreachable!(),
    }
}

/// Adds to a number in two threads, beside values that come and go.
fn add(dictionary: &Dictionary) {
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                for round in 0..ADDITIONS {
                    dictionary.add(b"sum", 1.0, None, 0.0).unwrap();
                    let name = [(round % 50) as u8];
                    dictionary.set(&name, &text(&"x".repeat(round as usize % 1000)), None, 0.0).unwrap();
                }
            });
        }
    });
}

/// Changes the table for ever, mostly by compaction.
fn change(dictionary: &Dictionary) {
    for round in 1_usize.. {
        dictionary.add(b"round", 1.0, None, 0.0).unwrap();
        let length = if round.is_multiple_of(100) { 1 << 20 } else { round % 100_000 };
        dictionary.set(&[(round % 7) as u8], &text(&"y".repeat(length)), None, 0.0).unwrap();
    }
}

#[test]
fn additions_of_several_processes_are_not_lost() {
    let file = SharedMemory::file(MEMORY_BYTES).unwrap();
    let children: Vec<_> = (0..2).map(|_| start("add", &file)).collect();
    let dictionary = of_file(file.try_clone().unwrap());
    add(&dictionary);
    for mut child in children {
        assert!(child.0.wait().unwrap().success());
    }
    assert_eq!(dictionary.get(b"sum", 0.0), Ok(Some(Entry::Number(f64::from(ADDITIONS * 6)))));
}

#[test]
fn a_killed_process_leaves_a_table_that_is_whole_or_cleared() {
    let file = SharedMemory::file(MEMORY_BYTES).unwrap();
    let dictionary = of_file(file.try_clone().unwrap());
    let mut clears = 0;
    for round in 0..30_u32 {
        dictionary.set(b"kept", &text("kept"), None, 0.0).unwrap();
        let mut child = start("change", &file);
        wait_for_begin(&mut child);
        // It changes something else at each moment.
        while dictionary.get(b"round", 0.0).unwrap().is_none() {
            thread::yield_now();
        }
        thread::sleep(Duration::from_micros(u64::from(round) * 317));
        drop(child);
        let kept = dictionary.get(b"kept", 0.0).unwrap();
        let sum = dictionary.add(b"round", 1.0, None, 0.0).unwrap();
        match kept {
            Some(kept) => assert!(kept == text("kept") && sum > 1.0, "{kept:?} {sum}"),
            None => {
                assert_eq!(sum, 1.0);
                clears += 1;
            }
        }
        for name in 0..7 {
            if let Some(Entry::Text(value)) = dictionary.get(&[name], 0.0).unwrap() {
                assert!(value.iter().all(|byte| *byte == b'y'), "{name}");
            }
        }
    }
    println!("{clears} of 30 kills cleared the table");
}

#[test]
fn a_process_that_holds_the_lock_does_not_stop_others_for_long() {
    let file = SharedMemory::file(MEMORY_BYTES).unwrap();
    let dictionary = of_file(file.try_clone().unwrap());
    dictionary.set(b"a", &text("1"), None, 0.0).unwrap();
    let mut child = start("hold", &file);
    wait_for_begin(&mut child);
    let began = Instant::now();
    let error = dictionary.get(b"a", 0.0).unwrap_err();
    assert!(began.elapsed() >= MAX_WAIT);
    assert!(error.contains("another process of the server has held it for 1 s"), "{error}");
    let again = Instant::now();
    assert_eq!(dictionary.add(b"b", 1.0, None, 0.0).unwrap_err(), error);
    assert!(again.elapsed() < MAX_WAIT, "the second operation does not wait");
    drop(child);
    assert_eq!(dictionary.get(b"a", 0.0), Ok(Some(text("1"))));
}

/// The variable with the task of another process.
const TASK: &str = "SEROW_DICTIONARY_TASK";

/// Those of each thread.
const ADDITIONS: u32 = 5_000;
