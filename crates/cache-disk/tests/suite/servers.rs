//! Several processes and servers in one folder.

use crate::{Process, eventually, folder, key};

#[test]
fn another_server_keeps_its_responses_in_memory_until_the_first_ends() {
    let (_guard, folder) = folder();
    let first = Process::of_server(&folder, 1 << 30, 1);
    assert!(first.insert("/a", "", "of the first"));
    let other = Process::of_server(&folder, 1 << 30, 2);
    assert_eq!(other.find("/a"), None);
    assert!(other.insert("/b", "", "of the other"));
    assert_eq!(other.find("/b"), Some(("of the other".to_owned(), true)));
    assert_eq!(first.find("/b"), None);
    let Process { store, disk, mut thread } = first;
    thread.take();
    drop((store, disk));
    eventually("the folder becomes free", || other.find("/a").is_some());
    assert!(other.insert("/c", "", "kept"));
    other.end();
    assert_eq!(Process::of_server(&folder, 1 << 30, 3).find("/c"), Some(("kept".to_owned(), true)));
}

#[test]
fn the_newest_process_of_a_server_writes() {
    let (_guard, folder) = folder();
    let old = Process::start(&folder);
    assert!(old.insert("/a", "", "old"));
    eventually("it is written", || old.disk.counts().written == 1);
    let new = Process::start(&folder);
    assert_eq!(new.find("/a"), Some(("old".to_owned(), true)));
    new.store.invalidate(&key("/a"));
    // A request that has reached the old process before, and is answered after the invalidation in the new one.
    assert!(old.insert("/a", "", "outdated"));
    old.end();
    assert_eq!(new.find("/a"), None);
    new.end();
    assert_eq!(Process::start(&folder).find("/a"), None);
}
