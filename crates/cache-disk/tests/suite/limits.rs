//! Limits on the room that files take.

use std::fs;

use bytes::Bytes;

use crate::{Process, eventually, files, folder, key};

fn used(folder: &std::path::Path) -> u64 {
    files(folder).iter().filter_map(|file| fs::metadata(file).ok()).map(|file| file.len().div_ceil(4096) * 4096).sum()
}

#[test]
fn files_take_no_more_than_the_limit() {
    let (_guard, folder) = folder();
    let limit = 1 << 20;
    let process = Process::of_server(&folder, limit, 1);
    let body = "x".repeat(10_000);
    for number in 0..1000 {
        assert!(process.insert(&format!("/{number}"), "", &body));
        if number % 50 == 0 {
            eventually("what waits is written", || process.disk.counts().written > number);
            assert!(used(&folder) <= limit, "{} after {number}", used(&folder));
        }
    }
    process.end();
    assert!(used(&folder) <= limit && used(&folder) > limit / 2, "{}", used(&folder));
    // A smaller limit applies to existing files, once they have been looked at.
    let process = Process::of_server(&folder, limit / 4, 1);
    eventually("files are removed", || used(&folder) <= limit / 4);
    assert!(process.disk.counts().evicted > 0 && !files(&folder).is_empty());
    eventually("all have been counted", || process.disk.counts().bytes == used(&folder));
}

#[test]
fn recently_used_responses_stay() {
    let (_guard, folder) = folder();
    // Four times as much as memory, whose responses stay before others.
    let process = Process::of_server(&folder, 4 << 20, 1);
    let body = "x".repeat(10_000);
    assert!(process.insert("/hot", "", &body));
    for number in 0..1000 {
        assert!(process.insert(&format!("/{number}"), "", &body));
        assert!(process.find("/hot").is_some());
    }
    process.end();
    assert!(Process::start(&folder).find("/hot").is_some());
}

#[test]
fn arriving_contents_displace_others_at_once() {
    let (_guard, folder) = folder();
    let limit = 4 << 20;
    let process = Process::of_server(&folder, limit, 1);
    let body = "x".repeat(10_000);
    (0..500).for_each(|number| assert!(process.insert(&format!("/{number}"), "", &body)));
    eventually("what waits is written", || process.disk.counts().written == 500);
    let (new, piece) =
        (process.store.new_content(&key("/new"), None).unwrap(), Bytes::from(vec![0; limit as usize / 50]));
    let start = std::time::Instant::now();
    for round in 1..=20 {
        new.write(std::slice::from_ref(&piece)).unwrap();
        eventually("there is room", || used(&folder) <= limit);
        // The thread that writes has slept for no second.
        assert!(start.elapsed().as_millis() < 500 * round, "{round}");
    }
}

#[test]
fn discarded_contents_count_until_they_are_removed() {
    let (_guard, folder) = folder();
    let limit = 4 << 20;
    let process = Process::of_server(&folder, limit, 1);
    let piece = Bytes::from(vec![0; limit as usize / 4]);
    for number in 0..100 {
        let new = process.store.new_content(&key(&format!("/{number}")), None);
        // Without room, until the thread that writes has removed those before.
        new.into_iter().for_each(|new| drop(new.write(std::slice::from_ref(&piece))));
        assert!(used(&folder) <= limit, "{} after {number}", used(&folder));
    }
}
