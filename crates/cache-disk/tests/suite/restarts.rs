//! Responses that the next process finds.

use crate::{Process, files, folder, key};

#[test]
fn responses_are_found_by_the_next_process() {
    let (_guard, folder) = folder();
    let first = Process::start(&folder);
    for number in 0..500 {
        assert!(first.insert(&format!("/{number}"), "", &format!("content {number}")));
    }
    assert!(first.insert("/7", "", "a newer one"));
    first.end();
    let second = Process::start(&folder);
    assert_eq!(second.find("/7"), Some(("a newer one".to_owned(), true)));
    for number in (0..500).filter(|number| *number != 7) {
        assert_eq!(second.find(&format!("/{number}")), Some((format!("content {number}"), true)));
    }
    assert_eq!(second.find("/500"), None);
    assert!(!second.store.has_in_memory(&key("/500")));
}

#[test]
fn responses_displaced_in_memory_come_back_from_disk() {
    let (_guard, folder) = folder();
    let process = Process::start(&folder);
    let body = "x".repeat(50_000);
    for number in 0..100 {
        assert!(process.insert(&format!("/{number}"), "", &body));
    }
    assert!(process.store.size().0 <= 1 << 20);
    for number in 0..100 {
        assert_eq!(process.find(&format!("/{number}")).unwrap().0.len(), 50_000, "{number}");
    }
}

#[test]
fn invalidated_responses_do_not_come_back() {
    let (_guard, folder) = folder();
    let first = Process::start(&folder);
    for path in ["/a", "/b", "/c"] {
        assert!(first.insert(path, "", "x"));
    }
    // Written or not.
    first.store.invalidate(&key("/a"));
    crate::eventually("the files are written", || first.disk.counts().written >= 2);
    first.store.invalidate(&key("/b"));
    assert_eq!((first.find("/a"), first.find("/b"), first.find("/c").is_some()), (None, None, true));
    first.end();
    let second = Process::start(&folder);
    assert_eq!((second.find("/a"), second.find("/b"), second.find("/c").is_some()), (None, None, true));
    assert_eq!(files(&folder).len(), 1);
}

#[test]
fn responses_are_found_while_they_are_written() {
    let (_guard, folder) = folder();
    let process = Process::start(&folder);
    let body = "x".repeat(200_000);
    for number in 0..200 {
        assert!(process.insert(&format!("/{number}"), "", &body));
        // Displaced in memory by the others, and perhaps not in its file yet.
        let earlier = format!("/{}", number / 2);
        assert_eq!(process.find(&earlier).map(|(body, _)| body.len()), Some(200_000), "{earlier}");
    }
}
