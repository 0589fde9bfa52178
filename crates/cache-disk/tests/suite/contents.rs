//! Contents in files of their own.

use std::{
    fs,
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use bytes::Bytes;
use serow_cache::{PurgeMode, PurgeTarget};

use crate::{NOW, Process, eventually, files, folder, key};

/// The files of contents.
fn contents(folder: &Path) -> Vec<PathBuf> {
    files(folder).into_iter().filter(|path| path.extension().is_some()).collect()
}

/// The content that a new process finds for a path.
fn found(folder: &Path, path: &str) -> Option<String> {
    Process::start(folder).find(path).map(|(content, _)| content)
}

#[test]
fn the_next_process_finds_them() {
    let (_guard, folder) = folder();
    let first = Process::start(&folder);
    assert!(first.insert_file("/a", "content"));
    assert_eq!(first.find("/a"), Some(("content".to_owned(), true)));
    first.end();
    assert_eq!((found(&folder, "/a").as_deref(), contents(&folder).len()), (Some("content"), 1));
    let second = Process::start(&folder);
    assert!(second.find("/a").is_some());
    eventually("files are counted", || second.disk.counts().bytes == 2 * 4096);
}

#[test]
fn unfinished_contents_leave_no_files() {
    let (_guard, folder) = folder();
    let process = Process::start(&folder);
    for length in [None, Some(7)] {
        let new = process.store.new_content(&key("/a"), length).unwrap();
        new.write(&[Bytes::from("cont")]).unwrap();
    }
    // A content that is finished, but not stored.
    let new = process.store.new_content(&key("/a"), None).unwrap();
    drop((new.finish().unwrap(), new));
    eventually("they are removed", || files(&folder).is_empty());
}

#[test]
fn replaced_and_purged_contents_are_removed() {
    let (_guard, folder) = folder();
    let process = Process::start(&folder);
    assert!(process.insert_file("/a", "old") && process.insert_file("/b", "other"));
    process.end();
    let before = contents(&folder);
    let process = Process::start(&folder);
    assert!(process.insert_file("/a", "new"));
    process.end();
    let after = contents(&folder);
    assert_eq!((found(&folder, "/a").as_deref(), after.len()), (Some("new"), 2));
    assert_eq!(before.iter().filter(|path| after.contains(path)).count(), 1);
    let process = Process::start(&folder);
    assert!(process.insert("/a", "", "small"));
    process.store.purge(PurgeTarget::Uri("http://a/b"), PurgeMode::Remove);
    process.end();
    assert_eq!((found(&folder, "/a").as_deref(), found(&folder, "/b")), (Some("small"), None));
    assert_eq!(contents(&folder), Vec::<PathBuf>::new());
}

#[test]
fn a_soft_purge_keeps_them() {
    let (_guard, folder) = folder();
    let process = Process::start(&folder);
    assert!(process.insert_file("/a", "content"));
    process.store.purge(PurgeTarget::Uri("http://a/a"), PurgeMode::Outdate(NOW));
    assert_eq!(process.find("/a"), Some(("content".to_owned(), false)));
    process.end();
    assert_eq!(Process::start(&folder).find("/a"), Some(("content".to_owned(), false)));
}

#[test]
fn a_file_that_was_changed_is_not_sent() {
    let (_guard, folder) = folder();
    let process = Process::start(&folder);
    assert!(process.insert_file("/a", "content"));
    process.end();
    let [file] = &contents(&folder)[..] else { panic!() };
    let modified = fs::metadata(file).unwrap().modified().unwrap();
    for (what, content) in [("cut", "con"), ("longer", "content+"), ("written to", "Content")] {
        fs::write(file, content).unwrap();
        assert_eq!(found(&folder, "/a"), None, "{what}");
        fs::write(file, "content").unwrap();
        fs::File::options().write(true).open(file).unwrap().set_modified(modified).unwrap();
        assert_eq!(found(&folder, "/a").as_deref(), Some("content"), "after {what}");
    }
    fs::remove_file(file).unwrap();
    assert_eq!(found(&folder, "/a"), None);
}

#[test]
fn a_content_without_a_record_is_removed() {
    let (_guard, folder) = folder();
    let process = Process::start(&folder);
    assert!(process.insert_file("/a", "content"));
    process.end();
    let kept = contents(&folder).remove(0);
    let lost = kept.with_extension("0000000000000000");
    fs::write(&lost, "lost").unwrap();
    let hour_ago = SystemTime::now() - Duration::from_secs(3600);
    for file in [&kept, &lost] {
        fs::File::options().write(true).open(file).unwrap().set_modified(hour_ago).unwrap();
    }
    let process = Process::start(&folder);
    eventually("the lost one is removed", || !lost.exists());
    assert!(kept.exists());
    process.end();
}

#[test]
fn they_take_no_more_than_there_is() {
    let (_guard, folder) = folder();
    let process = Process::of_server(&folder, 1 << 20, 1);
    assert!(process.store.new_content(&key("/a"), Some((1 << 19) + 1)).is_none());
    let new = process.store.new_content(&key("/a"), None).unwrap();
    assert_eq!(new.write(&[vec![b'x'; 1 << 19].into()]).unwrap(), 1 << 19);
    assert!(new.write(&[Bytes::from("x")]).is_err());
    assert!(process.store.new_content(&key("/b"), Some(1)).is_none());
    drop(new);
    eventually("it is removed", || process.store.new_content(&key("/b"), Some(1)).is_some());
    let body = "x".repeat(200_000);
    for number in 0..20 {
        assert!(process.insert_file(&format!("/{number}"), &body));
        let used =
            || files(&folder).iter().filter_map(|file| fs::metadata(file).ok()).map(|file| file.len()).sum::<u64>();
        eventually("there is room", || process.disk.counts().written > number && used() <= 1 << 20);
    }
    process.end();
    assert!(!contents(&folder).is_empty());
}
